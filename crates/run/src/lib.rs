//! Compilers as child processes, loading and launching compiled kernels.
//!
//! The way of a kernel through this crate: LLVM IR text goes to [`compile::compile_llvm`], which asks the
//! content-addressed [`cache`] and else runs clang ([`tools`]) as a limited [`child`] process; the object is opened by
//! [`module::Module::load`]; its entries are launched over a grid by a [`launch::Pool`]. [`program::Compiled`] does all of
//! it for a lowered program, its arrays wired by name. [`isolate`] runs a job in a child process of this same
//! executable, so that a crashing candidate ends as a value; [`host`] describes this CPU.
//!
//! This is the only crate with `unsafe` code beyond intrinsics; each module that needs it says why.
#![warn(clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]

mod arena;
pub mod cache;
pub mod child;
pub mod compile;
pub mod host;
pub mod isolate;
pub mod launch;
pub mod module;
pub mod prepared;
pub mod program;
pub mod testing;
pub mod tools;
pub mod tpu;

pub use compile::{Object, assembly, compile_llvm};
pub use host::Host;
pub use launch::{Arg, ArgSpec, Pool, Signature};
pub use module::{Entry, Module};
pub use prepared::Prepared;
pub use program::Compiled;
