//! From recorded runs to a scenario, without a model: where each value of each input came from.

#![forbid(unsafe_code)]

mod choose;
mod explain;
mod index;
mod leaves;
mod lower;
mod names;
mod prompt;
mod select;
mod walk;
mod witness;
