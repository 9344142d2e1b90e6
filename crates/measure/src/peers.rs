//! Other people's kernels, to race against: libraries opened at run time, a Rust crate, frameworks in a child process.
//! A peer that is absent is a status with the way to get it, never an error.

mod environment;
#[cfg(feature = "peer-gemm")]
mod gemm;
mod locate;
mod onednn;
mod openblas;
mod session;
mod work;
mod worker;

use std::fmt;

use tilewright_diag::Result;
use tilewright_dtype::Tensor;

use crate::timing::Contestant;

pub use work::{Activation, Epilogue, Operand, Work};

/// Every peer's name, in the order of [`find`].
pub const NAMES: [&str; 5] = ["openblas", "onednn", "gemm", "torch", "jax"];

/// A library or framework that solves some of the same problems.
pub trait Peer {
    /// One of [`NAMES`].
    fn name(&self) -> &str;

    /// The library's own version.
    fn version(&self) -> &str;

    /// What it runs on this machine, in its own words: core name, instruction set, build.
    fn kernel(&self) -> &str;

    /// Whether it solves `work`; else a clause that says why not.
    fn supports(&self, work: &Work) -> std::result::Result<(), String>;

    /// Solves `work` once on the given inputs (as [`Work::inputs`] lists them).
    ///
    /// # Errors
    /// `peer/unsupported`, or a tool's fault as it reports it.
    fn evaluate(&self, work: &Work, threads: usize, inputs: &[Tensor]) -> Result<Tensor>;

    /// Gets ready to be timed on `work`.
    ///
    /// # Errors
    /// As [`Peer::evaluate`].
    fn prepare(&self, work: &Work, threads: usize, data: Data) -> Result<Prepared>;
}

/// The data that a peer is timed on: `sets` sets of inputs and outputs, used in turn, so that no repeat finds its own
/// data of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Seed of the first set.
    pub seed: u64,
    /// How many; at least 1.
    pub sets: usize,
}

/// A peer ready to be timed.
pub struct Prepared {
    /// For [`interleave`](crate::timing::interleave).
    pub contestant: Contestant<'static>,
    /// Which of its kernels it chose, in its own words; its general description where it does not say.
    pub kernel: String,
}

/// A peer, or why there is none.
pub enum Found {
    /// It can be asked.
    Ready(Box<dyn Peer>),
    /// It is not there, or too old.
    Absent {
        /// One of [`NAMES`].
        name: &'static str,
        /// Why, as a clause.
        reason: String,
        /// How to get it.
        help: String,
    },
}

impl Found {
    /// One of [`NAMES`].
    pub fn name(&self) -> &str {
        match self {
            Found::Ready(peer) => peer.name(),
            Found::Absent { name, .. } => name,
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Ready(peer) => write!(f, "{} {} ({})", peer.name(), peer.version(), peer.kernel()),
            Found::Absent { name, reason, help } => write!(f, "{name}: {reason}: {help}"),
        }
    }
}

/// Looks for every peer, in the order of [`NAMES`]. Opens libraries, so call it once, early: before the program starts
/// threads (see `environment`), and not at all when no peer was asked for.
pub fn find() -> Vec<Found> {
    NAMES.iter().filter_map(|name| find_one(name)).collect()
}

/// Looks for one peer; `None` for a name that is not in [`NAMES`].
pub fn find_one(name: &str) -> Option<Found> {
    Some(match name {
        "openblas" => openblas::find(),
        "onednn" => onednn::find(),
        #[cfg(feature = "peer-gemm")]
        "gemm" => Found::Ready(Box::new(gemm::Gemm)),
        #[cfg(not(feature = "peer-gemm"))]
        "gemm" => Found::Absent {
            name: "gemm",
            reason: "built without it".to_owned(),
            help: "build with the feature `peer-gemm`".to_owned(),
        },
        "torch" => worker::find("torch"),
        "jax" => worker::find("jax"),
        _ => return None,
    })
}
