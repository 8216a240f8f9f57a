//! The few statistics that the benchmark needs. All take unsorted values; of none they make NaN.

/// The value at quantile `q` (0 to 1), the nearest one measured.
pub(crate) fn quantile(values: &[f64], q: f64) -> f64 {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    v.get(((v.len() as f64 - 1.0) * q).round() as usize).copied().unwrap_or(f64::NAN)
}

pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// To three places, as results are kept.
pub(crate) fn round(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}

/// Median, smallest and largest of one figure over the rounds of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        Self { min: quantile(values, 0.0), median: median(values), max: quantile(values, 1.0) }
    }

    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::json!({ "min": round(self.min), "median": round(self.median), "max": round(self.max) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_take_the_nearest_value() {
        let v = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(median(&v), 3.0);
        assert_eq!(quantile(&v, 0.99), 5.0);
        assert_eq!(quantile(&v, 0.25), 2.0);
        assert!(median(&[]).is_nan());
        let s = Spread::of(&v);
        assert_eq!((s.min, s.median, s.max), (1.0, 3.0, 5.0));
    }
}
