//! The workbench of an accelerator kernel engineer: the façade.
//!
//! Each crate of the workspace is a module here. [`Kernel`] is a compiled kernel to launch, [`bench()`] times one beside
//! its peers. [`Session`] knows the machine and the store, and decides which config a problem gets; the command line in
//! `main.rs` is a thin user of what stands here.

pub use tilewright_check as check;
pub use tilewright_diag as diag;
pub use tilewright_dtype as dtype;
pub use tilewright_explain as explain;
pub use tilewright_interp as interp;
pub use tilewright_ir as ir;
pub use tilewright_kernels as kernels;
pub use tilewright_measure as measure;
pub use tilewright_run as run;
pub use tilewright_store as store;
pub use tilewright_target_cpu as target_cpu;
pub use tilewright_tune as tune;

mod bench;
mod choose;
mod kernel;
pub mod memory;
mod session;

pub use bench::{BenchOptions, BenchReport, PEERS_HERE, PeerReport, bench};
pub use choose::{Chosen, Source, brief, store_problem};
pub use kernel::{CPU, Kernel};
pub use session::{Session, Settings};
