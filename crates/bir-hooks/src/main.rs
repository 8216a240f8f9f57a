//! `bir-hooks`: what a host's hooks start, and the control server.

fn main() {}
