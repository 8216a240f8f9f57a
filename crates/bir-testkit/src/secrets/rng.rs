//! Random choices that repeat for a seed (splitmix64), and the alphabets that secrets are made of.

pub(super) const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const URLSAFE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
pub(super) const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub(super) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(super) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
pub(super) const LOWNUM: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const HEX: &str = "0123456789abcdef";
pub(super) const DIGITS: &str = "0123456789";

/// Words that no secret is made of.
const WORDS: &[&str] = &[
    "amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "juniper", "kelp",
    "lagoon", "maple", "nectar", "orchid", "prairie", "quartz", "river", "summit", "tundra",
];

pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap_or(0)
    }

    /// One time in `n`.
    pub(super) fn chance(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, of: &'a [&'a T]) -> &'a &'a T {
        &of[self.below(of.len())]
    }

    pub(super) fn chars(&mut self, alphabet: &str, count: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..count).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    pub(super) fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    pub(super) fn uuid(&mut self) -> String {
        let h = self.chars(HEX, 32);
        format!("{}-{}-4{}-a{}-{}", &h[..8], &h[8..12], &h[13..16], &h[17..20], &h[20..])
    }

    /// What a careful person or a generator of passwords chooses; a letter comes first, and both cases, a digit and a sign of `signs` are in it.
    pub(super) fn password(&mut self, signs: &str) -> String {
        let length = 8 + self.below(12);
        let mut all = format!("{ALNUM}{signs}");
        if signs.is_empty() {
            all.push('7');
        }
        let sign = if signs.is_empty() { String::new() } else { self.chars(signs, 1) };
        format!(
            "{}{}{}{sign}{}",
            self.chars(LOWER, 1),
            self.chars("QWRTZPSDFG", 1),
            self.chars("23456789", 1),
            self.chars(&all, length)
        )
    }
}
