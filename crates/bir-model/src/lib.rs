//! Types that several floors share, and nothing else: no I/O, no policy.

mod call;
pub mod control;
mod direction;
mod era;
mod id;
mod outcome;
mod place;
pub mod record;
mod reserved_header;
mod server_name;
mod tier;
mod tokens;

pub use call::{CallName, CallRows};
pub use direction::Direction;
pub use era::Era;
pub use id::{IdError, RunId, StepId, TenantId, TokenId, UserId};
pub use outcome::Outcome;
pub use place::{Edit, Format, Place, Step};
pub use reserved_header::is_reserved_header;
pub use server_name::{ServerName, ServerNameError};
pub use tier::Tier;
pub use tokens::{Tokens, TurnTokens};
