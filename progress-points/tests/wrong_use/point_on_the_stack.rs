fn main() {
    let point = progress_points::Point::throughput(b"block\0");
    point.visit();
}
