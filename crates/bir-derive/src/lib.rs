//! Model help for scenarios, off unless an operator names an endpoint and gives a key.
//!
//! ```text
//!  question (redacted values alone) ─▶ endpoint ─▶ text ─▶ the JSON in it ─▶ checked ─▶ value, or nothing
//!     fill: missing parameters                │                              fill: words of the prompt, or their normal form
//!     propose: unexplained values             └ tokens, whatever became of it    propose: expressions, tested where runs are
//! ```
//!
//! A model is asked for two things alone: which words of a matched prompt say a parameter that derivation names as missing ([`fill`]), and
//! what may explain a value that calculation left unexplained ([`propose`]). Nothing that it answers is believed: a value has to stand in
//! the prompt, an expression has to pass the tests of a calculated one. What it was told to say makes no difference to that.
//!
//! | module | is |
//! |---|---|
//! | [`config`] | the environment: endpoint, protocol, model, key, budgets |
//! | [`brief`] | what is sent: made by the redactor, and by nothing else |
//! | [`endpoint`] | one call: budgets, one more try, the breaker |
//! | `protocol`, `reply` | the two protocols; JSON in an answer |

#![forbid(unsafe_code)]

mod breaker;
pub mod brief;
pub mod config;
pub mod endpoint;
pub mod fill;
pub mod propose;
mod protocol;
mod reply;

pub use brief::Brief;
pub use config::{Config, ConfigError, Protocol, Secret, Setting};
pub use endpoint::{Answer, Endpoint, Fault};
