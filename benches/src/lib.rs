//! Side-by-side benchmark.
