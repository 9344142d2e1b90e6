//! A position in a listing's text, and the tokens read from it.

use std::ops::Range;

use tilewright_diag::{Diagnostic, Result, Span};

use crate::listing::{Class, Reg, Value};

/// A position in the text.
pub struct Cursor<'t> {
    pub text: &'t str,
    bytes: &'t [u8],
    pub pos: usize,
    pub line: u32,
    file: &'t str,
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t str, file: &'t str) -> Self {
        Cursor { text, bytes: text.as_bytes(), pos: 0, line: 1, file }
    }

    pub fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    pub fn starts(&self, what: &str) -> bool {
        self.bytes.get(self.pos..).is_some_and(|b| b.starts_with(what.as_bytes()))
    }

    pub fn take(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.pos += usize::from(hit);
        hit
    }

    pub fn take_str(&mut self, what: &str) -> bool {
        let hit = self.starts(what);
        if hit {
            self.pos += what.len();
        }
        hit
    }

    pub fn expect(&mut self, byte: u8, what: &str) -> Result<()> {
        if self.take(byte) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    pub fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.pos += 1;
        }
    }

    pub fn newline(&mut self) -> bool {
        let hit = self.take(b'\n');
        self.line += u32::from(hit);
        hit
    }

    pub fn skip_blank_lines(&mut self) {
        loop {
            self.spaces();
            if !self.newline() {
                return;
            }
        }
    }

    /// The rest of the line, without its newline.
    pub fn rest_of_line(&mut self) -> &'t str {
        let start = self.pos;
        while self.peek().is_some_and(|b| b != b'\n') {
            self.pos += 1;
        }
        self.text.get(start..self.pos).unwrap_or("")
    }

    fn run(&mut self, accept: impl Fn(u8) -> bool) -> &'t str {
        let start = self.pos;
        while self.peek().is_some_and(&accept) {
            self.pos += 1;
        }
        self.text.get(start..self.pos).unwrap_or("")
    }

    /// `0` or `0x…`.
    pub fn address(&mut self) -> Result<u64> {
        let digits = if self.take_str("0x") {
            self.run(|b| b.is_ascii_hexdigit())
        } else if self.take(b'0') {
            return Ok(0);
        } else {
            return Err(self.unexpected("a bundle's address"));
        };
        u64::from_str_radix(digits, 16).map_err(|_| self.unexpected("a hexadecimal address"))
    }

    /// Decimal digits.
    pub fn decimal<N: std::str::FromStr>(&mut self, what: &str) -> Result<N> {
        let digits = self.run(|b| b.is_ascii_digit());
        digits.parse().map_err(|_| self.unexpected(what))
    }

    /// `$0x…`, with a minus sign before or after the dollar.
    pub fn hex_literal(&mut self) -> Result<i64> {
        let before = self.take(b'-');
        self.expect(b'$', "`$`")?;
        let negative = self.take(b'-') || before;
        let value = if self.take_str("0x") {
            i64::from_str_radix(self.run(|b| b.is_ascii_hexdigit()), 16).ok()
        } else {
            self.run(|b| b.is_ascii_digit()).parse().ok()
        };
        let value = value.ok_or_else(|| self.unexpected("a number after `$`"))?;
        Ok(if negative { -value } else { value })
    }

    /// `%s12_s3`, `%p7_p1`, `%v9_v0`, `%vm4_vm1`, `%123`.
    pub fn value(&mut self) -> Result<Value> {
        self.expect(b'%', "a value")?;
        let class = self.class();
        let id = self.decimal("a value's number")?;
        if !self.take(b'_') {
            return Ok(Value { id, reg: None });
        }
        let named = self.class().ok_or_else(|| self.unexpected("a register (s, p, v or vm)"))?;
        if class.is_some_and(|c| c != named) {
            return Err(self.unexpected("a register of the value's class"));
        }
        let index: u8 = self.decimal("a register's number")?;
        if index >= 64 {
            return Err(self.unexpected("a register's number below 64"));
        }
        Ok(Value { id, reg: Some(Reg { class: named, index }) })
    }

    fn class(&mut self) -> Option<Class> {
        [("vm", Class::Mask), ("v", Class::Vector), ("s", Class::Scalar), ("p", Class::Predicate)]
            .into_iter()
            .find_map(|(prefix, class)| self.take_str(prefix).then_some(class))
    }

    /// An opcode's text.
    pub fn opcode(&mut self) -> Result<&'t str> {
        let start = self.pos;
        self.run(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'[' | b']'));
        if self.text.get(start..self.pos) == Some("inlined_call_operand.") && self.peek() == Some(b'<') {
            self.run(|b| b != b'>' && b != b'\n');
            self.expect(b'>', "`>` of an operand's memory space")?;
        }
        match self.text.get(start..self.pos) {
            Some(name) if name.starts_with(|c: char| c.is_ascii_lowercase()) => Ok(name),
            _ => {
                self.pos = start;
                Err(self.unexpected("an opcode"))
            }
        }
    }

    /// A whole comment, if one starts here: the range of its inside.
    pub fn comment(&mut self) -> Result<Option<Range<usize>>> {
        if !self.starts("/*") {
            return Ok(None);
        }
        let (start, line) = (self.pos + 2, self.line);
        let inside = self.bytes.get(start..).unwrap_or(&[]);
        let Some(len) = inside.windows(2).position(|w| w == b"*/") else {
            self.pos = self.bytes.len();
            return Err(self
                .fault_at(line, "tpu/cut-listing", "a comment has no end")
                .rule("a comment ends with `*/`"));
        };
        let newlines = inside.iter().take(len).filter(|b| **b == b'\n').count();
        self.line += newlines as u32;
        self.pos = start + len + 2;
        Ok(Some(start..start + len))
    }

    /// A label `/*name=*/`, if one starts here.
    pub fn label(&mut self) -> Option<&'t str> {
        let rest = self.bytes.get(self.pos..)?.strip_prefix(b"/*")?;
        let len = rest.iter().position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))?;
        if len == 0 || !rest.get(len..)?.starts_with(b"=*/") {
            return None;
        }
        let start = self.pos + 2;
        self.pos = start + len + 3;
        self.text.get(start..start + len)
    }

    /// A bracket with everything in it, brackets nested.
    pub fn bracket(&mut self) -> Result<Range<usize>> {
        let start = self.pos;
        let mut depth = 0usize;
        while let Some(b) = self.peek() {
            match b {
                b'[' => depth += 1,
                b']' => depth = depth.saturating_sub(1),
                b'\n' => break,
                _ => {}
            }
            self.pos += 1;
            if depth == 0 {
                return Ok(start..self.pos);
            }
        }
        Err(self.unexpected("`]`"))
    }

    /// A number or float word: integer, decimal, `inf`, `nan`.
    pub fn number_text(&mut self) -> &'t str {
        let start = self.pos;
        self.take(b'-');
        if self.take_str("inf") || self.take_str("nan") {
            return self.text.get(start..self.pos).unwrap_or("");
        }
        let mut last = 0u8;
        while let Some(b) = self.peek() {
            let sign_of_exponent = matches!(b, b'+' | b'-') && last == b'e';
            if !(b.is_ascii_digit() || matches!(b, b'.' | b'e') || sign_of_exponent) {
                break;
            }
            last = b;
            self.pos += 1;
        }
        self.text.get(start..self.pos).unwrap_or("")
    }

    pub fn fault(&self, code: &'static str, message: impl Into<String>) -> Box<Diagnostic> {
        self.fault_at(self.line, code, message)
    }

    pub fn fault_at(&self, line: u32, code: &'static str, message: impl Into<String>) -> Box<Diagnostic> {
        Diagnostic::request(code, message).at(Span::new(self.file, line, 0))
    }

    /// The fault that something else stands here, or that the text ends here.
    pub fn unexpected(&self, expected: &str) -> Box<Diagnostic> {
        if self.at_end() {
            return self
                .fault("tpu/cut-listing", format!("the listing ends where {expected} was due"))
                .rule("a listing ends after a whole bundle");
        }
        let rest = String::from_utf8_lossy(
            self.bytes
                .get(self.pos..)
                .unwrap_or(&[])
                .get(..40)
                .unwrap_or_else(|| self.bytes.get(self.pos..).unwrap_or(&[])),
        );
        let found = rest.lines().next().unwrap_or("").to_owned();
        self.fault("tpu/bad-listing", format!("expected {expected}, found `{found}`"))
            .rule("a record is `ADDRESS FLAGS : > { instruction ;; instruction } /* notes */`")
    }
}
