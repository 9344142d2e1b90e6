//! Commands that run code which may be wrong: in a process of their own, whose death is a verdict and not the end.

use std::process::Command;
use std::time::Duration;

use tilewright::diag::{Diagnostic, Result};
use tilewright::run::child::{ChildStatus, run_attached};

use super::Ended;

/// Set in the process that does the work.
const INSIDE: &str = "TILEWRIGHT_SUPERVISED";

/// How a supervised command ended.
pub enum Outcome {
    /// By itself; whatever it had to say is said.
    Ended(Ended),
    /// The code that it ran brought it down, and how.
    Died(String),
}

/// Runs this very command line again in a child process, or `here` where this is that process.
///
/// # Errors
/// Those of `here`; `run/killed` where the process was killed from outside.
pub fn run(budget: Duration, here: impl FnOnce() -> Result<Ended>) -> Result<Outcome> {
    let itself = std::env::current_exe();
    let (Ok(itself), None) = (itself, std::env::var_os(INSIDE)) else { return here().map(Outcome::Ended) };
    let mut command = Command::new(itself);
    command.args(std::env::args_os().skip(1)).env(INSIDE, "1");
    let limit = (budget * 10).max(Duration::from_secs(600));
    Ok(match run_attached(command, limit)? {
        ChildStatus::Exited(code) => Outcome::Ended(Ended::Status(u8::try_from(code).unwrap_or(2))),
        ChildStatus::Signalled(signal)
            if ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"].contains(&&*signal) =>
        {
            Outcome::Died(format!("the compiled kernel crashed: {signal}"))
        }
        ChildStatus::Signalled(signal) => {
            return Err(Diagnostic::tool(
                "run/killed",
                format!("the process that ran the kernel ended with {signal}"),
            )
            .help("SIGKILL is what the system sends when memory runs out: try a smaller problem"));
        }
        ChildStatus::TimedOut => {
            Outcome::Died(format!("the compiled kernel did not end within {:.0} s", limit.as_secs_f64()))
        }
    })
}
