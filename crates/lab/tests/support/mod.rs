//! What tests of the lab share.

pub mod toy;
