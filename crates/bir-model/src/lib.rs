//! Types that several floors share, and nothing else: no I/O, no policy.

mod direction;
mod era;
mod outcome;
mod reserved_header;
mod server_name;

pub use direction::Direction;
pub use era::Era;
pub use outcome::Outcome;
pub use reserved_header::is_reserved_header;
pub use server_name::{ServerName, ServerNameError};
