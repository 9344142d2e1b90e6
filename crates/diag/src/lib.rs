//! Diagnostics: what is wrong, where, which rule says so, and the nearest thing that would work.
//!
//! Every fallible function of Tilewright returns [`Result`]. A diagnostic is built where the fault is known and
//! travels unchanged to the command line, which prints it and exits with its [`Class`]'s status.

use std::fmt;

use serde::Serialize;

/// The result type of every fallible function: the error is boxed so that the happy path stays small.
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// What kind of fault a diagnostic reports; it decides the process's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A verdict failed: a kernel is wrong, or slower than it may be. Exit status 1.
    Verdict,
    /// The request was wrong: unknown name, illegal shape, corrupt file. Exit status 2.
    Request,
    /// A tool is missing or broke. Exit status 3.
    Tool,
}

impl Class {
    /// The process exit status that reports this class.
    pub fn exit_status(self) -> i32 {
        match self {
            Class::Verdict => 1,
            Class::Request => 2,
            Class::Tool => 3,
        }
    }
}

/// A place in a source file: a kernel's Rust source, a `.tw` text, or any input file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// Path as the user would type it, or `<text>` for text that came from no file.
    pub file: String,
    /// 1-based line; 0 when only the file is known.
    pub line: u32,
    /// 1-based column; 0 when only the line is known.
    pub col: u32,
}

impl Span {
    /// A span at `file:line:col`.
    pub fn new(file: impl Into<String>, line: u32, col: u32) -> Self {
        Span { file: file.into(), line, col }
    }

    /// A span that names a whole file.
    pub fn file(file: impl Into<String>) -> Self {
        Span::new(file, 0, 0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.col) {
            (0, _) => write!(f, "{}", self.file),
            (line, 0) => write!(f, "{}:{line}", self.file),
            (line, col) => write!(f, "{}:{line}:{col}", self.file),
        }
    }
}

/// One fault, complete enough to act on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    /// Decides the exit status.
    pub class: Class,
    /// Stable kebab-case name, `area/rule`, e.g. `ir/shape-mismatch`.
    pub code: &'static str,
    /// What is wrong, in one sentence that names the offending values.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// The rule that was broken, as a sentence.
    pub rule: Option<String>,
    /// The nearest thing that would work.
    pub help: Option<String>,
    /// Further facts: a compiler's own words, the command to repeat.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// A diagnostic of any class.
    pub fn new(class: Class, code: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Diagnostic {
            class,
            code,
            message: message.into(),
            span: None,
            rule: None,
            help: None,
            notes: Vec::new(),
        })
    }

    /// The request was wrong (exit status 2).
    pub fn request(code: &'static str, message: impl Into<String>) -> Box<Self> {
        Self::new(Class::Request, code, message)
    }

    /// A tool is missing or broke (exit status 3).
    pub fn tool(code: &'static str, message: impl Into<String>) -> Box<Self> {
        Self::new(Class::Tool, code, message)
    }

    /// A verdict failed (exit status 1).
    pub fn verdict(code: &'static str, message: impl Into<String>) -> Box<Self> {
        Self::new(Class::Verdict, code, message)
    }

    /// An unknown `name` of some `kind` (say, "kernel"): names the nearest of `known`, and lists them when they are few.
    pub fn unknown<'a>(
        code: &'static str,
        kind: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Box<Self> {
        let known: Vec<&str> = known.into_iter().collect();
        let d = Self::request(code, format!("unknown {kind} `{name}`"));
        let listed = if (1..=24).contains(&known.len()) {
            format!("known: {}", known.join(", "))
        } else {
            String::new()
        };
        match nearest(name, known.iter().copied()) {
            Some(n) => d.help(format!("did you mean `{n}`?")).note_if(listed),
            None => d.note_if(listed),
        }
    }

    /// Says where the fault is.
    pub fn at(mut self: Box<Self>, span: Span) -> Box<Self> {
        self.span = Some(span);
        self
    }

    /// Says where, unless a more precise place is already known.
    pub fn at_if_absent(mut self: Box<Self>, span: Option<Span>) -> Box<Self> {
        if self.span.is_none() {
            self.span = span;
        }
        self
    }

    /// States the rule that was broken.
    pub fn rule(mut self: Box<Self>, rule: impl Into<String>) -> Box<Self> {
        self.rule = Some(rule.into());
        self
    }

    /// Names the nearest thing that would work.
    pub fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }

    /// Adds a fact.
    pub fn note(mut self: Box<Self>, note: impl Into<String>) -> Box<Self> {
        self.notes.push(note.into());
        self
    }

    fn note_if(self: Box<Self>, note: String) -> Box<Self> {
        if note.is_empty() { self } else { self.note(note) }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code, self.message)?;
        if let Some(span) = &self.span {
            write!(f, "\n  --> {span}")?;
        }
        if let Some(rule) = &self.rule {
            write!(f, "\n  rule: {rule}")?;
        }
        for note in &self.notes {
            write!(f, "\n  note: {}", note.trim_end().replace('\n', "\n        "))?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// The candidate closest to `name` (Damerau-Levenshtein distance, at most a third of the longer name and at least one
/// edit allowed, but never one for every letter), or the one that `name` is a prefix of.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .filter_map(|c| {
            let distance = strsim::damerau_levenshtein(&lower, &c.to_lowercase());
            let longest = lower.len().max(c.len());
            let allowed = (longest / 3).max(1).min(longest.saturating_sub(1));
            let prefix = lower.len() >= 2 && c.to_lowercase().starts_with(&lower);
            (distance <= allowed || prefix).then_some((distance, c))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_the_nearest() {
        let d = Diagnostic::unknown("cli/unknown-kernel", "kernel", "matmull", ["softmax", "matmul"]);
        assert_eq!(d.class.exit_status(), 2);
        assert_eq!(d.help.as_deref(), Some("did you mean `matmul`?"));
        let far = Diagnostic::unknown("cli/unknown-kernel", "kernel", "zzzzzz", ["softmax", "matmul"]);
        assert_eq!(far.help, None);
        assert!(far.to_string().contains("known: softmax, matmul"));
    }

    #[test]
    fn display_shows_every_part() {
        let d = Diagnostic::request("ir/shape-mismatch", "[2] against [3]")
            .at(Span::new("k.rs", 4, 9))
            .rule("elementwise operands have one shape")
            .note("line one\nline two")
            .help("broadcast the first to [3]");
        let text = d.to_string();
        for part in ["error[ir/shape-mismatch]", "k.rs:4:9", "rule: ", "line two", "help: "] {
            assert!(text.contains(part), "{text}");
        }
    }
}
