//! Cutting an input into chunks, as the input says.

/// The first byte says how many cut bytes follow; each is the length of a chunk, used in turns.
pub fn split(data: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let (Some(&count), rest) = (data.first(), data.get(1..).unwrap_or_default()) else {
        return (Vec::new(), data);
    };
    let count = usize::from(count % 8).min(rest.len());
    let (lengths, input) = rest.split_at(count);
    let mut chunks = Vec::new();
    let mut left = input;
    let mut turn = 0;
    while !left.is_empty() {
        let length = match lengths.get(turn % lengths.len().max(1)) {
            Some(length) => usize::from(*length).min(left.len()),
            None => left.len(),
        };
        // A chunk may be empty, but not all of them.
        let length = if length == 0 && turn > lengths.len() { 1 } else { length };
        let (chunk, after) = left.split_at(length);
        chunks.push(chunk);
        left = after;
        turn += 1;
    }
    (chunks, input)
}
