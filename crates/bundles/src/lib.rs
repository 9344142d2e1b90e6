//! Reads TPU bundle listings (the VLIW programs that libtpu prints) and executes them.

pub mod exec;
mod hash;
pub mod listing;
pub mod observe;
pub mod ops;
pub mod parse;
pub mod utilization;

pub use parse::parse;
pub mod program;
pub mod timing;
