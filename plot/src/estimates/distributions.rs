//! Student's t and the functions it needs.
//!
//! Accurate to about ten digits where it is used here (degrees of freedom from a half to a
//! million); a statistics crate would bring linear algebra along for these few functions.

use std::f64::consts::PI;

/// ln Γ(x) for x > 0: Stirling's series after shifting x above 8 (Abramowitz & Stegun 6.1.41).
pub(super) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < 8.0 {
        product *= x;
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - product.ln()
}

/// The regularised incomplete beta function I_x(a, b), by its continued fraction (A&S 26.5.8),
/// evaluated with Lentz's method.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep_off_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / keep_off_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / keep_off_zero(1.0 + term * d);
            c = keep_off_zero(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    fraction
}

/// P(|T| ≥ |t|) for Student's t with so many degrees of freedom.
pub(super) fn two_sided(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    if freedom <= 0.0 {
        return 1.0;
    }
    let freedom = freedom.min(1e6);
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// P(T ≤ t).
pub(super) fn cumulative(t: f64, freedom: f64) -> f64 {
    let tail = two_sided(t, freedom) / 2.0;
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The t that |T| stays below with probability 95 %; infinite without degrees of freedom.
pub(super) fn t_95(freedom: f64) -> f64 {
    t_quantile(0.05, freedom)
}

/// The t that |T| reaches with this probability; infinite without degrees of freedom.
pub(super) fn t_quantile(probability: f64, freedom: f64) -> f64 {
    if freedom < 0.3 || freedom.is_nan() {
        return f64::INFINITY;
    }
    let freedom = freedom.min(1e6);
    // The Cornish-Fisher expansion (A&S 26.7.5) at 5 % to begin with, then Newton's steps on ln t,
    // in which the tail is nearly straight.
    let x = 1.959_963_984_540_054_f64;
    let first = (x.powi(3) + x) / (4.0 * freedom);
    let second = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / (96.0 * freedom.powi(2));
    let mut t = if freedom > 2.0 {
        x + first + second
    } else {
        x + first
    };
    let normaliser =
        ln_gamma(freedom.midpoint(1.0)) - ln_gamma(freedom / 2.0) - 0.5 * (freedom * PI).ln();
    for _ in 0..50 {
        let tail = two_sided(t, freedom);
        let density = (normaliser - freedom.midpoint(1.0) * (t * t / freedom).ln_1p()).exp();
        let slope = -2.0 * density * t / tail;
        let step = (tail.ln() - probability.ln()) / slope;
        t *= (-step).clamp(-1.0, 1.0).exp();
        if step.abs() < 1e-10 {
            break;
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_is_that_of_the_tables() {
        // Two-sided 5 % points, printed in any table of t.
        for (freedom, expected) in [
            (1.0, 12.706_204_7),
            (2.0, 4.302_652_7),
            (3.0, 3.182_446_3),
            (5.0, 2.570_581_8),
            (10.0, 2.228_138_9),
            (30.0, 2.042_272_5),
            (120.0, 1.979_930_4),
            (1e9, 1.959_964_0),
        ] {
            assert!((t_95(freedom) / expected - 1.0).abs() < 2e-6, "{freedom}");
            assert!(
                (two_sided(expected, freedom) - 0.05).abs() < 2e-6,
                "{freedom}"
            );
        }
        assert!((t_quantile(0.001, 1e9) / 3.290_526_7 - 1.0).abs() < 1e-5);
        for probability in [1e-9, 1e-4, 0.2] {
            let t = t_quantile(probability, 20.0);
            assert!((two_sided(t, 20.0) / probability - 1.0).abs() < 1e-6);
        }
        assert_eq!(t_95(0.0), f64::INFINITY);
        assert!(t_95(0.5) > 100.0);
    }

    #[test]
    fn gamma_is_that_of_factorials_and_of_a_half() {
        assert!((ln_gamma(5.0) - 24.0_f64.ln()).abs() < 1e-11);
        assert!((ln_gamma(0.5) - PI.sqrt().ln()).abs() < 1e-11);
        assert!((ln_gamma(100.0) - 359.134_205_369_575_4).abs() < 1e-9);
    }

    #[test]
    fn the_cumulative_distribution_is_symmetric() {
        for t in [0.0, 0.3, 2.0, 40.0] {
            assert!((cumulative(t, 4.0) + cumulative(-t, 4.0) - 1.0).abs() < 1e-12);
        }
        assert!((cumulative(1.0, 1.0) - 0.75).abs() < 1e-10);
    }
}
