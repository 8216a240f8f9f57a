//! From recorded runs to a scenario, without a model: where each value of each input came from.

#![forbid(unsafe_code)]
