fn main() {
    progress_points::progress!(5);
}
