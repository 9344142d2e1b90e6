//! Reads TPU bundle listings (the VLIW programs that libtpu prints) and executes them.
//!
//! [`parse`] reads a listing strictly; [`simulate`] executes its scalar side exactly and keeps time with one of two
//! models. One executor serves every observer ([`observe::Observer`]).

pub mod exec;
pub mod folder;
mod hash;
pub mod listing;
pub mod observe;
pub mod ops;
pub mod parse;
pub mod program;
pub mod report;
pub mod timing;
pub mod utilization;

pub use parse::parse;
pub use report::{Options, Report, simulate};
