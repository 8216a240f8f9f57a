//! Signing in: password, refresh, device, ticket.

pub(crate) mod device;
pub(crate) mod login;
pub(crate) mod session;
pub(crate) mod ticket;

pub(crate) use device::Devices;
pub(crate) use login::Rotations;
pub(crate) use ticket::Tickets;

use bir_store::model::Account;
use serde_json::{Value, json};

/// A person as the API shows them.
pub(crate) fn shown(account: &Account) -> Value {
    json!({
        "id": account.id,
        "email": account.email,
        "name": account.name,
        "role": account.role,
        "disabled": account.disabled,
        "createdAt": account.created_at,
    })
}
