//! Words, numbers and punctuation with their places.

use tilewright_diag::{Diagnostic, Result, Span};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A letter or `_`, then letters, digits and `_`.
    Word,
    /// A digit, then what may belong to a decimal number.
    Number,
    /// One of the marks of the grammar.
    Mark,
    /// After the last token.
    End,
}

/// A token and its 1-based place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub kind: TokenKind,
    pub text: &'a str,
    pub line: u32,
    pub col: u32,
}

/// Longest first, so that `..=` is not read as `..`.
const MARKS: [&str; 13] = ["..=", "..", "->", "(", ")", "[", "]", "{", "}", ",", ":", "=", "-"];

pub(super) struct Lexer<'a> {
    rest: &'a str,
    file: &'a str,
    line: u32,
    col: u32,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, file: &'a str) -> Self {
        Lexer { rest: text, file, line: 1, col: 1 }
    }

    /// Every token, then [`TokenKind::End`].
    pub(super) fn all(mut self) -> Result<Vec<Token<'a>>> {
        let mut tokens = Vec::new();
        loop {
            self.skip_blank();
            let Some(c) = self.rest.chars().next() else {
                tokens.push(Token { kind: TokenKind::End, text: "", line: self.line, col: self.col });
                return Ok(tokens);
            };
            let (kind, len) = if c.is_ascii_alphabetic() || c == '_' {
                (TokenKind::Word, self.span_of(|c| c.is_ascii_alphanumeric() || c == '_'))
            } else if c.is_ascii_digit() {
                (TokenKind::Number, self.number())
            } else if let Some(mark) = MARKS.iter().find(|m| self.rest.starts_with(**m)) {
                (TokenKind::Mark, mark.len())
            } else {
                return Err(Diagnostic::request(
                    "ir/parse",
                    format!("`{}` begins no token", c.escape_default()),
                )
                .at(Span::new(self.file, self.line, self.col)));
            };
            tokens.push(Token { kind, text: &self.rest[..len], line: self.line, col: self.col });
            self.take(len);
        }
    }

    fn span_of(&self, belongs: impl Fn(char) -> bool) -> usize {
        self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len())
    }

    /// Digits; a fraction only where a digit follows the point, since `0..8` is a range; an exponent with its sign.
    fn number(&self) -> usize {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits((end + 1 + sign).min(bytes.len()));
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        end
    }

    fn skip_blank(&mut self) {
        loop {
            let blank = self.span_of(char::is_whitespace);
            self.take(blank);
            if !self.rest.starts_with("//") {
                return;
            }
            let comment = self.span_of(|c| c != '\n');
            self.take(comment);
        }
    }

    fn take(&mut self, len: usize) {
        for c in self.rest[..len].chars() {
            if c == '\n' {
                self.line += 1;
                self.col = 1;
            } else {
                self.col += 1;
            }
        }
        self.rest = &self.rest[len..];
    }
}
