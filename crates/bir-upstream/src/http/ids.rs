//! Whether two ids are the same.

use serde_json::{Number, Value};

/// Whether two ids are the same text or number, however they are written. Some servers write an id that they read
/// anew: `1.0` becomes `1`, an escape becomes its character.
pub(crate) fn same_value(one: &[u8], other: &[u8]) -> bool {
    if one == other {
        return true;
    }
    let read = |id| serde_json::from_slice::<Value>(id).ok();
    match (read(one), read(other)) {
        (Some(Value::String(one)), Some(Value::String(other))) => one == other,
        (Some(Value::Number(one)), Some(Value::Number(other))) => {
            // Two whole numbers are compared as such: as fractions, neighbours beyond 2^53 would be one.
            let whole = |number: &Number| number.is_i64() || number.is_u64();
            one == other || (!(whole(&one) && whole(&other)) && one.as_f64() == other.as_f64())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_was_written_anew_is_the_same() {
        for (one, other) in [("1.0", "1"), ("1e2", "100"), (r#""\u00e9""#, "\"é\"")] {
            assert!(same_value(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
        for (one, other) in [("1", "\"1\""), ("9007199254740993", "9007199254740992"), ("null", "0")] {
            assert!(!same_value(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
    }
}
