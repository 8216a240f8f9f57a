//! How much the name of an argument is like the name of what explains it: `hotel_id` is like `hotelId`, and a bit like `id`.

pub(crate) use bir_plan::words;

/// 0: nothing in common, 1: the same words.
pub(crate) fn likeness(argument: &[String], path: &[Vec<String>]) -> f64 {
    let (Some(last), Some(kind)) = (path.last(), argument.last()) else { return 0.0 };
    // The last word of a name says what it is, those before it whose.
    let alike =
        |a: &str, b: &str| a == b || (a.len() >= 3 && b.len() >= 3 && (a.starts_with(b) || b.starts_with(a)));
    if argument == last.as_slice() {
        return 1.0;
    }
    // `vehicle_id` is nearly the name of `vehicle.id`.
    if path.len() >= 2 && path[path.len() - 2].iter().chain(last).eq(argument.iter()) {
        return 0.95;
    }
    let mut score = 0.0;
    if last.last().is_some_and(|word| alike(word, kind)) {
        score += 0.5;
    } else if last.iter().any(|word| alike(word, kind)) {
        score += 0.3;
    }
    let rest = &argument[..argument.len() - 1];
    if !rest.is_empty() {
        let own = rest.iter().filter(|word| last.iter().any(|other| alike(word, other))).count();
        let above = path[..path.len() - 1].iter().flatten();
        let around = above.filter(|other| rest.iter().any(|word| alike(word, other))).count().min(1);
        #[expect(clippy::cast_precision_loss, reason = "names have few words")]
        let (own, around, all) = (own as f64, around as f64, rest.len() as f64);
        score += 0.3 * own / all + 0.1 * around;
    }
    // `google_place_id` is a bit less like `place_id` than that itself.
    let strange = last.iter().filter(|word| !argument.iter().any(|other| alike(word, other))).count();
    if strange > 0 && strange < last.len() {
        score -= 0.05;
    }
    score.clamp(0.0, 0.95)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_by_their_words() {
        let like = |argument: &str, path: &[&str]| {
            likeness(&words(argument), &path.iter().map(|key| words(key)).collect::<Vec<_>>())
        };
        assert!((like("hotel_id", &["hotelId"]) - 1.0).abs() < f64::EPSILON);
        assert!(like("hotel_id", &["hotels", "id"]) > like("hotel_id", &["cities", "id"]));
        assert!(like("hotel_id", &["cities", "id"]) > like("hotel_id", &["price"]));
        assert!(like("latitude", &["lat"]) > 0.4);
        assert!(like("x", &[]) < f64::EPSILON);
    }
}
