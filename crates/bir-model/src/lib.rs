//! Types that several floors share, and nothing else: no I/O, no policy.

mod call;
pub mod control;
mod direction;
mod era;
mod id;
mod outcome;
pub mod own_calls;
mod place;
pub mod record;
mod reserved_header;
pub mod scenario;
mod server_name;
mod tier;
mod tokens;
pub mod tools;
mod usd;

pub use call::{CallName, CallRows};
pub use direction::Direction;
pub use era::Era;
pub use id::{EditId, IdError, RunId, ScenarioId, StepId, TenantId, TicketId, TokenId, UserId};
pub use outcome::Outcome;
pub use place::{Edit, Format, Place, Step};
pub use reserved_header::is_reserved_header;
pub use server_name::{ServerName, ServerNameError};
pub use tier::Tier;
pub use tokens::{Tokens, TurnTokens};
pub use usd::{Usd, UsdError};
