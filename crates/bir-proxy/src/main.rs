//! bir-proxy.
fn main() {}
