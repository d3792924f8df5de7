fn main() {
    progress_points::begin!("a\0b");
}
