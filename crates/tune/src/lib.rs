//! Search over configs within a budget, gated by check.
//!
//! [`tune()`] ranks a problem's configs by a [`Model`] of the machine, and checks and measures them in child processes of the
//! same executable, which call [`work`]. What it finds goes to the store; [`winners`] finds it there.

mod candidate;
mod children;
mod gate;
mod job;
mod model;
mod records;
mod report;
mod request;
mod tune;
mod worker;

pub use model::{Estimate, Model};
pub use records::winners;
pub use report::{Entry, Rejected, Report};
pub use request::{Progress, Request, Stage};
pub use tune::{Watch, tune};
pub use worker::{Families, work, work_on};
