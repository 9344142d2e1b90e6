//! The text of one LLVM function under construction: fresh names, labels, counted loops.

use std::fmt::{Display, Write};

/// Instructions with fresh names, and the block that is being filled.
#[derive(Debug)]
pub(super) struct Text {
    out: String,
    next: usize,
    /// Label of the block that instructions go to now; phis name it.
    block: String,
}

/// A counted loop that is open: created by [`Text::begin_loop`], closed by [`Text::end_loop`].
pub(super) struct Loop {
    id: usize,
    /// The counter, an i64.
    pub index: String,
    /// Where the header's carried phis are to be inserted.
    header: usize,
    before: String,
    step: usize,
}

impl Text {
    pub(super) fn new() -> Text {
        Text { out: String::from("entry:\n"), next: 0, block: "entry".to_string() }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// `%vN = instruction`; returns `%vN`.
    pub(super) fn bind(&mut self, instruction: impl Display) -> String {
        let name = format!("%v{}", self.fresh());
        let _ = writeln!(self.out, "  {name} = {instruction}");
        name
    }

    pub(super) fn line(&mut self, instruction: impl Display) {
        let _ = writeln!(self.out, "  {instruction}");
    }

    /// Label of the current block.
    pub(super) fn block(&self) -> &str {
        &self.block
    }

    /// Starts the block `name`; the one before must have ended.
    pub(super) fn label(&mut self, name: impl Display) {
        self.block = name.to_string();
        let _ = writeln!(self.out, "{}:", self.block);
    }

    /// Falls through to a new block.
    pub(super) fn enter(&mut self, name: impl Display) {
        self.line(format!("br label %{name}"));
        self.label(name);
    }

    /// Starts `for index in lo..hi step by`, tested before the first step. `carried`: (type, initial value); returns the names
    /// of the carried values in the body.
    pub(super) fn begin_loop(
        &mut self,
        lo: &str,
        hi: &str,
        by: usize,
        carried: &[(String, String)],
    ) -> (Loop, Vec<String>) {
        let id = self.fresh();
        let before = self.block.clone();
        self.enter(format!("loop{id}"));
        let index = format!("%i{id}");
        let _ =
            writeln!(self.out, "  {index} = phi i64 [ {lo}, %{before} ], [ %i{id}.next, %loop{id}.latch ]");
        let names: Vec<String> = (0..carried.len()).map(|n| format!("%c{id}.{n}")).collect();
        let header = self.out.len();
        let _ = writeln!(self.out, "  %i{id}.more = icmp slt i64 {index}, {hi}");
        let _ = writeln!(self.out, "  br i1 %i{id}.more, label %loop{id}.body, label %loop{id}.end");
        self.label(format!("loop{id}.body"));
        (Loop { id, index, header, before, step: by }, names)
    }

    /// Ends the body with the carried values' next ones; afterwards the carried names hold the last values.
    pub(super) fn end_loop(&mut self, l: Loop, carried: &[(String, String)], next: &[String]) {
        let id = l.id;
        self.enter(format!("loop{id}.latch"));
        self.line(format!("%i{id}.next = add nsw i64 {}, {}", l.index, l.step));
        self.line(format!("br label %loop{id}"));
        let mut phis = String::new();
        for (n, ((ty, init), next)) in carried.iter().zip(next).enumerate() {
            let _ = writeln!(
                phis,
                "  %c{id}.{n} = phi {ty} [ {init}, %{} ], [ {next}, %loop{id}.latch ]",
                l.before
            );
        }
        self.out.insert_str(l.header, &phis);
        self.label(format!("loop{id}.end"));
    }
}
