fn main() {
    progress_points::end!("");
}
