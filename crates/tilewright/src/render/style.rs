//! Colour, where the reader is a terminal that wants it.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style as Ansi};

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A table's or a section's heading.
    Heading,
    /// A verdict that held.
    Good,
    /// A verdict that failed, or an error.
    Bad,
    /// A warning.
    Warning,
    /// Less important than what stands around it.
    Dim,
}

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    colour: bool,
}

impl Paint {
    /// No colour.
    #[cfg(test)]
    pub const PLAIN: Paint = Paint { colour: false };

    /// Colour if `stream` is a terminal that shows it; `NO_COLOR` (any value but an empty one) and `TERM=dumb` ask for none.
    pub fn for_stream(stream: &impl IsTerminal) -> Paint {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        Paint { colour: stream.is_terminal() && !refused }
    }

    /// `text` in the colour of `style`.
    pub fn on(self, style: Style, text: &str) -> String {
        if !self.colour {
            return text.to_string();
        }
        let ansi = match style {
            Style::Heading => Ansi::new().bold(),
            Style::Good => AnsiColor::Green.on_default().bold(),
            Style::Bad => AnsiColor::Red.on_default().bold(),
            Style::Warning => AnsiColor::Yellow.on_default().bold(),
            Style::Dim => Ansi::new().dimmed(),
        };
        format!("{ansi}{text}{ansi:#}")
    }
}
