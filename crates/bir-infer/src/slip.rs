//! Slips of the pen: what somebody has written who meant something else.

/// Texts that are longer are not compared.
const LONGEST: usize = 200;
/// A text of fewer letters has no slips: "Rome" and "Roma" are two names.
const SHORTEST: usize = 8;

/// Whether a text is another but for one letter more, less or other, or for the case of letters; digits are never slips.
pub(crate) fn is_slip(written: &str, meant: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (folded(written), folded(meant));
    let digits = |text: &[char]| text.iter().filter(|c| c.is_numeric()).copied().collect::<String>();
    if a.len().min(b.len()) < SHORTEST || a.len().max(b.len()) > LONGEST || digits(&a) != digits(&b) {
        return false;
    }
    let before = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[before..], &b[before..]);
    let behind = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    a.len() - behind <= 1 && b.len() - behind <= 1
}

fn folded(text: &str) -> Vec<char> {
    text.trim().to_lowercase().chars().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_letter_is_a_slip_and_a_word_is_not() {
        assert!(is_slip("San Francisc", "San Francisco"));
        assert!(is_slip("British Natinal Gallery", "British National Gallery"));
        assert!(is_slip("New york city", "New York City"));
        assert!(!is_slip("Rome", "Roma"));
        assert!(!is_slip("Gate number 1", "Gate number 2"));
        assert!(!is_slip("Orly Airport", "Paris Orly Airport"));
    }
}
