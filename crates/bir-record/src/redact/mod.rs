//! Skeleton.

mod rules;

pub use rules::Rules;
