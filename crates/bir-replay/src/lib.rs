//! placeholder
#![forbid(unsafe_code)]
pub mod action; pub mod budget; pub mod bundle; pub mod channel; pub mod coverage; pub mod directive; pub mod event; pub mod expect; pub mod fit; pub mod gate; pub mod guard; pub mod health; pub mod inputs; pub mod intent; pub mod note; pub mod order; pub mod outcome; pub mod pin; pub mod policy; pub mod quote; pub mod reads; pub mod replay; pub mod script; pub mod sink; pub mod state; pub mod taint; pub mod usage;
#[cfg(test)]
mod tests;
