//! In which words two prompts differ.

/// Words of a prompt that are compared; the work is in proportion to the product of both.
const MOST: usize = 400;

/// A part in which two prompts differ; one of the two may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Differs {
    pub(super) recorded: String,
    pub(super) asked: String,
}

/// Words without what makes no difference: case, and signs at their ends.
pub(super) fn bare(word: &str) -> String {
    word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '$' && c != '%').to_lowercase()
}

/// Where they differ, in order. `cut`: the recorded prompt goes on behind what is known of it, so its end says nothing.
pub(super) fn differences(recorded: &str, asked: &str, cut: bool) -> Vec<Differs> {
    let a: Vec<&str> = recorded.split_whitespace().take(MOST).collect();
    let b: Vec<&str> = asked.split_whitespace().take(MOST).collect();
    let (x, y): (Vec<_>, Vec<_>) =
        (a.iter().map(|word| bare(word)).collect(), b.iter().map(|word| bare(word)).collect());
    // The longest common subsequence of what is left from each pair of places.
    let mut common = vec![vec![0_u32; y.len() + 1]; x.len() + 1];
    for i in (0..x.len()).rev() {
        for j in (0..y.len()).rev() {
            common[i][j] =
                if x[i] == y[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    while i < x.len() || j < y.len() {
        let (from, to) = (i, j);
        while i < x.len() || j < y.len() {
            match (x.get(i), y.get(j)) {
                (Some(one), Some(other)) if one == other => break,
                (Some(_), Some(_)) if common[i + 1][j] >= common[i][j + 1] => i += 1,
                (_, Some(_)) => j += 1,
                _ => i += 1,
            }
        }
        let whole = i < x.len() || j < y.len() || !cut;
        if whole && (i > from || j > to) {
            out.push(Differs { recorded: a[from..i].join(" "), asked: b[to..j].join(" ") });
        }
        (i, j) = (i + 1, j + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(recorded: &str, asked: &str, cut: bool) -> Vec<String> {
        differences(recorded, asked, cut).iter().map(|d| format!("{}|{}", d.recorded, d.asked)).collect()
    }

    #[test]
    fn prompts_differ_in_stretches_of_words() {
        for (recorded, asked, expected) in [
            ("Book a room in Rome", "book a room in Oslo.", vec!["Rome|Oslo."]),
            (
                "Book a room in Rome, please",
                "Book two rooms in New York",
                vec!["a room|two rooms", "Rome, please|New York"],
            ),
            ("count the words", "please count the words", vec!["|please"]),
            ("count the words", "count words", vec!["the|"]),
            ("same", "Same", vec![]),
            ("", "a", vec!["|a"]),
            ("", "", vec![]),
        ] {
            assert_eq!(shown(recorded, asked, false), expected, "{recorded} / {asked}");
        }
        assert!(shown("book a room", "book a room in Oslo", true).is_empty(), "its end is not known");
    }

    #[test]
    fn long_prompts_take_no_longer() {
        let long = "word ".repeat(100_000);
        assert!(differences(&long, &long, false).is_empty());
    }
}
