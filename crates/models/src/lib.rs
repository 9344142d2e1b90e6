//! Whole models built of the library's kernels: what end-to-end tests and benchmarks run.
//!
//! A model is one tile program: a [`Graph`] joins the kernels of the families, and the few of a model's own, array by
//! array. So everything that takes a program takes a model: the interpreter derives bounds across all of its kernels,
//! the lowering compiles each distinct kernel once, and a launch of the prepared program is the whole forward pass.

mod graph;
pub mod minilm;
mod target;
mod wordpiece;

pub use graph::{Form, Graph};
pub use target::Target;
pub use wordpiece::WordPiece;
