//! Types that several floors share, and nothing else: no I/O, no policy.

mod direction;
mod era;
mod outcome;
mod server_name;

pub use direction::Direction;
pub use era::Era;
pub use outcome::Outcome;
pub use server_name::{ServerName, ServerNameError};
