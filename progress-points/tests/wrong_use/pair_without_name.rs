fn main() {
    progress_points::begin!();
    progress_points::end!();
}
