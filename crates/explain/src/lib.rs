//! What a compiled TPU program costs, op by op; what limits each op and what removing that limit would save.
//!
//! In: what the compiler prints (a dump: optimised HLO and a bundle listing an op). Each op's listing is executed and
//! timed by `bundles`, then again with each constraint lifted: the limiter is the constraint whose removal saves most.

mod advice;
mod collective;
mod context;
mod cost;
mod explain;
mod hot;
mod program;
mod report;
mod savings;
mod timeline;
mod words;

pub use collective::Mesh;
pub use explain::{Model, Request, devices, explain};
pub use report::{Advice, Clock, Exchange, HotBundle, OpReport, Saving, TargetReport};
