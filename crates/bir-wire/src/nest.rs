//! Which containers are open, one bit each.
//!
//! The innermost 64 levels live in one word that a scanning loop keeps in a register; deeper ones are spilled. A
//! message nested 100,000 deep costs 12.5 kB.

/// The innermost levels. Copied into a loop and back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nest {
    /// One bit per level, innermost lowest; set for an object.
    bits: u64,
    /// How many containers are open.
    pub(crate) depth: u32,
}

/// The levels that [`Nest`] has no room for.
#[derive(Debug, Default)]
pub(crate) struct Spill(Vec<u64>);

impl Spill {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Bytes reserved for levels.
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity() * size_of::<u64>()
    }
}

impl Nest {
    /// Whether the innermost container is an object; false outside of any.
    #[inline(always)]
    pub(crate) fn in_object(self) -> bool {
        self.bits & 1 == 1
    }

    #[inline(always)]
    pub(crate) fn open(&mut self, object: bool, spill: &mut Spill) {
        if self.depth.is_multiple_of(64) {
            spill.0.push(self.bits);
            self.bits = 0;
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.depth += 1;
    }

    /// Leaves the innermost container. The caller knows that one is open.
    #[inline(always)]
    pub(crate) fn close(&mut self, spill: &mut Spill) {
        self.bits >>= 1;
        self.depth -= 1;
        if self.depth.is_multiple_of(64) {
            self.bits = spill.0.pop().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_remembered() {
        let (mut nest, mut spill) = (Nest::default(), Spill::default());
        let object = |level: u32| level.is_multiple_of(3) || level % 7 == 2;
        for level in 0..1000 {
            nest.open(object(level), &mut spill);
        }
        for level in (0..1000).rev() {
            assert_eq!(nest.depth, level + 1);
            assert_eq!(nest.in_object(), object(level));
            nest.close(&mut spill);
        }
        assert!(!nest.in_object());
        assert_eq!(nest.depth, 0);
    }
}
