//! What a compiled TPU program costs, op by op; what limits each op and what removing that limit would save.
//!
//! In: what the compiler prints (a dump: optimised HLO and a bundle listing an op). Each op's listing is executed and
//! timed by `bundles`, then again with each constraint lifted: the limiter is the constraint whose removal saves most.

mod advice;
mod cost;
mod explain;
mod program;
mod report;

pub use explain::{Model, explain};
pub use program::{Program, Step};
pub use report::{Advice, Clock, OpReport, Saving, TargetReport};
