//! The reference executor: what a tile program means, and how far a correct execution may stray.
//!
//! [`run`] walks the tile IR once per grid cell in one of three domains:
//!
//! - [`Domain::Exact`]: every op rounds to its dtype, to nearest even; `dot` and `reduce_add` go in index order.
//! - [`Domain::Float64`]: floats are never rounded; only the given inputs are values of their dtype.
//! - [`Domain::Bound`]: each element is a value `v`, that of [`Domain::Float64`], and a bound `e`: no legal execution
//!   yields a result further than `e` from `v`. [`Values::judge`] holds a result against it.
//!
//! A legal execution rounds each op once in its dtype (or states its accuracy, see [`Accuracy`]), sums in any order,
//! and may fuse a product with the sum that uses it. The bounds are the standard forward ones: Higham, *Accuracy and
//! Stability of Numerical Algorithms*, chapters 2 to 4; the error of the interpreter's own float64 arithmetic is part
//! of them.
//!
//! Poison (a load past the edge of an operand without `pad`, an integer division by zero, a lookup outside its table) is
//! followed per element, in every domain, and reported where it reaches an output.

mod bound;
mod cast;
mod domain;
mod dot;
mod elementwise;
mod exec;
mod inputs;
mod memory;
mod outcome;
mod output;
mod reduce;
mod report;
mod run;
mod select;
mod shape;
#[cfg(feature = "testing")]
pub mod testing;
mod tile;

pub use domain::{Accuracy, Domain};
pub use inputs::Inputs;
pub use outcome::{Outcome, Values, Verdict};
pub use run::{Options, run, run_cells};
