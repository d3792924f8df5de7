//! The line through times at several sizes, by least squares.

/// A line, and how badly the worst point fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Per element: for cycles, the CPE.
    pub slope: f64,
    /// At no element: the overhead of a call.
    pub intercept: f64,
    /// The largest |measured − line| / measured.
    pub worst: f64,
}

/// The line through at least two points of different size.
pub fn fit(points: &[(f64, f64)]) -> Line {
    let count = points.len() as f64;
    let mean_size = points.iter().map(|(size, _)| size).sum::<f64>() / count;
    let mean_time = points.iter().map(|(_, time)| time).sum::<f64>() / count;
    let (mut squares, mut products) = (0.0, 0.0);
    for (size, time) in points {
        squares += (size - mean_size).powi(2);
        products += (size - mean_size) * (time - mean_time);
    }
    let slope = products / squares;
    let intercept = mean_time - slope * mean_size;
    let residual = |(size, time): &(f64, f64)| ((time - intercept - slope * size) / time).abs();
    Line {
        slope,
        intercept,
        worst: points.iter().map(residual).fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn points_on_a_line_give_the_line() {
        let line = fit(&[(128.0, 306.0), (256.0, 562.0), (4096.0, 8242.0)]);
        assert!((line.slope - 2.0).abs() < 1e-9, "{line:?}");
        assert!((line.intercept - 50.0).abs() < 1e-6, "{line:?}");
        assert!(line.worst < 1e-9, "{line:?}");
    }

    #[test]
    fn the_worst_point_is_told() {
        // Least squares through 0, 3, 3 at 0, 1, 2: slope 1.5, intercept 0.5.
        let line = fit(&[(0.0, 1.0), (1.0, 4.0), (2.0, 4.0)]);
        assert!((line.slope - 1.5).abs() < 1e-9, "{line:?}");
        assert!((line.intercept - 1.5).abs() < 1e-9, "{line:?}");
        assert!((line.worst - 0.5).abs() < 1e-9, "{line:?}");
    }
}
