//! Whether a prompt asks for what a scenario does, and with which parameters. Similarity nominates and never decides: what decides is
//! that every difference between the two prompts is explained.

#![forbid(unsafe_code)]
