//! How sure a share is.

/// The share and its 95 % interval after Wilson, in percent; where nothing or everything was counted, the end that is not zero or all is the
/// exact one-sided bound of Clopper and Pearson.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub(crate) fn share(hits: usize, of: usize) -> Option<(f64, f64, f64)> {
    const Z: f64 = 1.959_964;
    if of == 0 {
        return None;
    }
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let bound = 1.0 - 0.05_f64.powf(1.0 / n);
    let (mid, half) = (
        (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n),
        Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt(),
    );
    let (low, high) = match hits {
        0 => (0.0, bound),
        all if all == of => (1.0 - bound, 1.0),
        _ => (mid - half, mid + half),
    };
    Some((100.0 * p, 100.0 * low, 100.0 * high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_intervals() {
        assert_eq!(share(0, 0), None);
        let (p, low, high) = share(0, 3000).unwrap();
        assert!(p.abs() < 1e-9 && low.abs() < 1e-9 && (0.09..0.1).contains(&high), "{high}");
        let (p, low, high) = share(50, 100).unwrap();
        assert!((p - 50.0).abs() < 1e-9 && (40.0..41.0).contains(&low) && (59.0..60.0).contains(&high));
        assert!((share(10, 10).unwrap().2 - 100.0).abs() < 1e-9);
    }
}
