//! Nobody gets at another tenant's rows in PostgreSQL, and nobody starts with a role that could.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod matrix;
mod roles;
