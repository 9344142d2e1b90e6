//! Results to text and JSON, on the right stream, no wider than the window.

mod progress;
mod style;
mod table;
pub mod units;

use std::io::{ErrorKind, Write};

use serde::Serialize;
use tilewright::diag::{Diagnostic, Result};

pub use progress::{Bar, Spinner};
pub use style::{Paint, Style};
pub use table::{Align, Table, wrap};

/// Where a command's results go: text for people, or one JSON object.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// One JSON object on standard output instead of text.
    pub json: bool,
    /// No progress and no remarks on standard error; warnings stay.
    pub quiet: bool,
}

impl Output {
    /// Width of the window; without one, room for a table but not for endless lines.
    pub fn width(self) -> usize {
        let known = std::env::var("COLUMNS").ok().and_then(|c| c.parse::<usize>().ok());
        let window = || terminal_size::terminal_size_of(std::io::stdout()).map(|(w, _)| usize::from(w.0));
        known.or_else(window).filter(|w| *w >= 20).unwrap_or(110)
    }

    /// Colours of standard output.
    pub fn paint(self) -> Paint {
        Paint::for_stream(&std::io::stdout())
    }

    /// The result: `object` as JSON where that was asked for, else the text.
    ///
    /// Errors: `cli/output` where standard output cannot be written; a reader that has gone away is none.
    pub fn result(self, object: &impl Serialize, text: impl FnOnce() -> String) -> Result<()> {
        if !self.json {
            return write_out(&text());
        }
        let line = serde_json::to_string(object)
            .map_err(|e| Diagnostic::tool("cli/output", format!("the result has no JSON form: {e}")))?;
        write_out(&format!("{line}\n"))
    }

    /// A piece of the text of a result, which JSON leaves out.
    ///
    /// Errors: as [`Output::result`].
    pub fn text(self, text: &str) -> Result<()> {
        if self.json { Ok(()) } else { write_out(text) }
    }

    /// A remark on standard error, for which `--quiet` has no use.
    pub fn remark(self, text: &str) {
        if !self.quiet {
            write_err(&format!("{text}\n"));
        }
    }

    /// A warning on standard error.
    pub fn warn(self, text: &str) {
        let paint = Paint::for_stream(&std::io::stderr());
        write_err(&format!("{} {text}\n", paint.on(Style::Warning, "warning:")));
    }

    /// A heading of a section of text.
    pub fn heading(self, text: &str) -> String {
        format!("{}\n", self.paint().on(Style::Heading, text))
    }
}

/// Shows a fault: in JSON as `{"error": …}` on standard output, else as text on standard error.
pub fn show_error(json: bool, fault: &Diagnostic) {
    #[derive(Serialize)]
    struct Wrapped<'a> {
        error: &'a Diagnostic,
    }
    if json {
        if let Ok(line) = serde_json::to_string(&Wrapped { error: fault }) {
            // The exit status says it again where nobody reads this.
            let _ = write_out(&format!("{line}\n"));
        }
        return;
    }
    let paint = Paint::for_stream(&std::io::stderr());
    let text = printable(&fault.to_string());
    let (head, rest) = text.split_once(": ").unwrap_or(("error", &text));
    write_err(&format!("{}: {rest}\n", paint.on(Style::Bad, head)));
}

/// Control characters, which a terminal might obey, as their escapes.
fn printable(text: &str) -> String {
    let shown =
        |c: char| if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

fn write_out(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Diagnostic::tool("cli/output", format!("standard output cannot be written: {e}"))),
    }
}

fn write_err(text: &str) {
    // There is nowhere left to report that standard error cannot be written.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
