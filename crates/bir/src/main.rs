//! bir.
fn main() {}
