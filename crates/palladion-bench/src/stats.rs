//! Means.

/// The median, or the lower one of two. Sorts the values, of which there must be at least one.
pub fn median(samples: &mut [f64]) -> f64 {
    let middle = (samples.len() - 1) / 2;
    *samples.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The least value.
pub fn fastest(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The geometric mean, or 1 if there are no values.
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        ratios.into_iter().fold((0.0, 0), |(sum, count), ratio| (sum + ratio.ln(), count + 1));
    if count == 0 { 1.0 } else { (sum / f64::from(count)).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle() {
        assert_eq!(median(&mut [3.0]), 3.0);
        assert_eq!(median(&mut [9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&mut [4.0, 3.0, 2.0, 1.0]), 2.0);
    }

    #[test]
    fn a_ratio_and_its_inverse_cancel() {
        assert!((geometric_mean([0.5, 2.0]) - 1.0).abs() < 1e-12);
        assert!((geometric_mean([0.8, 0.8, 0.8]) - 0.8).abs() < 1e-12);
        assert_eq!(geometric_mean([]), 1.0);
    }
}
