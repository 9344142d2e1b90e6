//! Findings of a run, one diagnostic for each place in the source however many elements it concerns.

use tilewright_diag::Diagnostic;
use tilewright_ir::Loc;

/// Findings in the order in which they were first seen.
#[derive(Default)]
pub(crate) struct Report {
    findings: Vec<Finding>,
}

struct Finding {
    code: &'static str,
    /// Where in the source, and a second place or name that tells findings there apart.
    key: (Loc, String),
    first: String,
    rule: &'static str,
    elements: usize,
}

impl Report {
    /// Records that one more element is concerned; `first` says which, if it is the first of its kind.
    pub fn add(
        &mut self,
        code: &'static str,
        at: &Loc,
        apart: &str,
        rule: &'static str,
        first: impl FnOnce() -> String,
    ) {
        let known = self.findings.iter_mut().find(|f| f.code == code && f.key.0 == *at && f.key.1 == apart);
        match known {
            Some(f) => f.elements += 1,
            None => {
                let key = (at.clone(), apart.to_string());
                self.findings.push(Finding { code, key, first: first(), rule, elements: 1 });
            }
        }
    }

    /// The findings as diagnostics.
    pub fn diagnostics(self) -> Vec<Diagnostic> {
        self.findings.into_iter().map(|f| *f.diagnostic()).collect()
    }
}

impl Finding {
    fn diagnostic(self) -> Box<Diagnostic> {
        let d = Diagnostic::verdict(self.code, self.first).rule(self.rule);
        let d = d.at(self.key.0.span());
        match self.elements - 1 {
            0 => d,
            1 => d.note("and one element more"),
            n => d.note(format!("and {n} elements more")),
        }
    }
}

/// An element's index in text, `[1, 2]`.
pub(crate) fn index_text(dims: &[usize], linear: usize) -> String {
    let mut rest = linear;
    let mut index: Vec<String> = dims
        .iter()
        .rev()
        .map(|&d| {
            let i = rest % d.max(1);
            rest /= d.max(1);
            i.to_string()
        })
        .collect();
    index.reverse();
    format!("[{}]", index.join(", "))
}
