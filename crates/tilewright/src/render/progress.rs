//! Progress on standard error: on a terminal only, and only for what takes over a second.

use std::io::IsTerminal;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that its owner moves. It starts no thread, so it may stand beside a timed run.
pub struct Bar {
    bar: ProgressBar,
    start: Instant,
    wanted: bool,
}

impl Bar {
    /// A bar of 0 to 1 that says `what`; silent where `quiet`, or where standard error is no terminal.
    pub fn new(what: &str, quiet: bool) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
        bar.set_style(style("{msg} {wide_bar} {percent:>3} % {elapsed}"));
        bar.set_message(what.to_string());
        Bar { bar, start: Instant::now(), wanted: wanted(quiet) }
    }

    /// Moves to `fraction`.
    pub fn at(&mut self, fraction: f64) {
        if !self.wanted {
            return;
        }
        if self.bar.is_hidden() && self.start.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position((fraction.clamp(0.0, 1.0) * 1000.0) as u64);
    }

    /// Says something else.
    pub fn say(&mut self, what: &str) {
        self.bar.set_message(what.to_string());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A spinner beside work that tells nothing of how far it is. Not for timed runs: it has a thread.
pub struct Spinner {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Spins until dropped.
    pub fn new(what: &str, quiet: bool) -> Spinner {
        if !wanted(quiet) {
            return Spinner { stop: None, thread: None };
        }
        let (stop, stopped) = channel::<()>();
        let what = what.to_string();
        let thread = std::thread::spawn(move || {
            use std::sync::mpsc::RecvTimeoutError::Timeout;
            if stopped.recv_timeout(PATIENCE) != Err(Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner();
            bar.set_style(style("{spinner} {msg} {elapsed}"));
            bar.set_message(what);
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(Timeout) {
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Spinner { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A spinner that died has nothing left to clear.
            let _ = thread.join();
        }
    }
}

fn wanted(quiet: bool) -> bool {
    !quiet && std::io::stderr().is_terminal()
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
