//! What a compiled TPU program costs, op by op.

mod program;

pub use program::{Program, Step};
