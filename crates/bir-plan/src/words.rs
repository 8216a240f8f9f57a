//! The words of a name.

/// `pickUp_placeID` → pick, up, place, id; `v2Delete` → v2, delete.
#[must_use]
pub fn words(name: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let (mut begins, mut lower_before) = (true, false);
    for c in name.chars() {
        if !c.is_alphanumeric() {
            begins = true;
            continue;
        }
        if begins || (c.is_uppercase() && lower_before) {
            out.push(String::new());
        }
        if let Some(word) = out.last_mut() {
            word.extend(c.to_lowercase());
        }
        begins = false;
        lower_before = c.is_lowercase() || c.is_ascii_digit();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_signs_and_capitals() {
        for (name, expected) in [
            ("pickUp_placeID", &["pick", "up", "place", "id"][..]),
            ("Search-Hotels", &["search", "hotels"]),
            ("get_v2Delete", &["get", "v2", "delete"]),
            ("", &[]),
        ] {
            assert_eq!(words(name), expected, "{name}");
        }
    }
}
