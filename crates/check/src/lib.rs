//! Verdicts against a float64 reference with derived bounds.
//!
//! [`check()`] runs a kernel on an [`Executor`] over adversarial [`inputs`] and over problems whose sizes end in tails, and
//! [`judge`]s every output. No tolerance is picked by hand: what a target may be off by is derived from the kernel's own
//! ops by the interpreter.

mod case;
mod check;
mod cost;
pub mod executor;
pub mod external;
pub mod inputs;
pub mod invariance;
pub mod judge;
mod problems;
mod random;
mod report;
mod shrink;

pub use check::{Options, check};
pub use executor::{Cpu, Executor, Interp, Outputs, Ran, Ready, cpu_accuracy};
pub use judge::Element;
pub use report::{CaseReport, Failure, Report, Smallest, Verdict, Worst};
