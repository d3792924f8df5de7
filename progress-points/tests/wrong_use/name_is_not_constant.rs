fn main() {
    let name = String::from("block");
    progress_points::progress!(name.as_str());
}
