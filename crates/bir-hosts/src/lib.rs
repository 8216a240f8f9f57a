//! One module per host: how its hook payloads read in the words that all hosts share, and how it is told to call us.

#![forbid(unsafe_code)]
