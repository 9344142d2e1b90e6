//! A job in a child process of this same executable, so that its crash or hang ends as a value.
//!
//! The parent names a hidden subcommand to [`Isolated::new`] and calls [`Isolated::spawn`]; that subcommand calls [`serve`].
//! One JSON value goes in over standard input, one comes out over standard output; the job may log on standard error.

use std::io::{Read, Write};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tilewright_diag::{Diagnostic, Result};

use crate::child::{ChildStatus, run_child};

/// How an isolated job ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ChildOutcome {
    /// It answered with this value.
    Ok(Value),
    /// A signal or a non-zero status ended it.
    Crashed {
        /// `SIGSEGV`, or `exit status 2`.
        status: String,
        /// The last lines it wrote to standard error.
        stderr_tail: String,
    },
    /// It outlived its limit.
    Hung,
    /// It ended well but its answer is not one JSON value; here is how the answer begins.
    BadOutput(String),
}

/// A job's child process of this executable.
pub struct Isolated<'a> {
    args: &'a [&'a str],
    env: Vec<(String, String)>,
}

impl<'a> Isolated<'a> {
    /// This executable with `args`, in this process's environment.
    pub fn new(args: &'a [&'a str]) -> Isolated<'a> {
        Isolated { args, env: Vec::new() }
    }

    /// Sets variables of its environment.
    pub fn envs<K: Into<String>, V: Into<String>>(
        mut self,
        more: impl IntoIterator<Item = (K, V)>,
    ) -> Isolated<'a> {
        self.env.extend(more.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Starts it, gives it `stdin_json`, and waits for its answer for at most `limit`.
    ///
    /// Errors (class tool): only where no child could be started or watched; what the child does is an outcome.
    pub fn spawn(self, stdin_json: &Value, limit: Duration) -> Result<ChildOutcome> {
        let exe = std::env::current_exe().map_err(|e| {
            Diagnostic::tool("run/spawn-failed", format!("this executable cannot be found again: {e}"))
        })?;
        let mut command = Command::new(exe);
        command.args(self.args).envs(self.env);
        let output = run_child(command, stdin_json.to_string().as_bytes(), limit)?;
        Ok(match output.status {
            ChildStatus::TimedOut => ChildOutcome::Hung,
            ChildStatus::Exited(0) => match serde_json::from_slice(&output.stdout) {
                Ok(value) => ChildOutcome::Ok(value),
                Err(_) => ChildOutcome::BadOutput(output.stdout_text().chars().take(2000).collect()),
            },
            ref status => ChildOutcome::Crashed {
                status: status.to_string(),
                stderr_tail: tail(&output.stderr_text(), 20, 4000),
            },
        })
    }
}

/// The child's side: reads the job from standard input, does it, writes the answer to standard output.
///
/// Errors: `run/isolated-input`, `run/isolated-output`; those of `job` pass through.
pub fn serve(job: impl FnOnce(Value) -> Result<Value>) -> Result<()> {
    let mut text = String::new();
    let bad = |e: String| Diagnostic::request("run/isolated-input", format!("no job on standard input: {e}"));
    std::io::stdin().read_to_string(&mut text).map_err(|e| bad(e.to_string()))?;
    let answer = job(serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?)?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{answer}")
        .and_then(|()| stdout.flush())
        .map_err(|e| Diagnostic::tool("run/isolated-output", format!("the answer cannot be written: {e}")))
}

/// The last `lines` lines of `text`, and of those the last `bytes` bytes or fewer.
fn tail(text: &str, lines: usize, bytes: usize) -> String {
    let text = text.trim_end();
    let from = text.rmatch_indices('\n').nth(lines.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
    let from = from.max(text.len().saturating_sub(bytes));
    let from = (from..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(from);
    text[from..].to_string()
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn a_tail_is_bounded_both_ways() {
        assert_eq!(tail("a\nb\nc\n", 2, 100), "b\nc");
        assert_eq!(tail("a\nb\n", 5, 100), "a\nb");
        assert_eq!(tail("€€€", 5, 4), "€");
        assert_eq!(tail("", 5, 4), "");
    }
}
