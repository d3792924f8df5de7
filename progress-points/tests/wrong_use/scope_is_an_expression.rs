fn main() {
    let scope = progress_points::scope!("request");
    drop(scope);
}
