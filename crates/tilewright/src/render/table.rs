//! Text tables no wider than the window: columns of words wrap, and what cannot be narrowed is cut with an ellipsis.

use super::style::{Paint, Style};

/// How a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table: a heading for each column, rows of plain text.
#[derive(Debug, Default)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

const GAP: usize = 2;
/// A column of words is narrowed to this and no further.
const NARROW: usize = 16;

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&str, Align)]) -> Table {
        Table { columns: columns.iter().map(|(n, a)| (n.to_string(), *a)).collect(), rows: Vec::new() }
    }

    /// Adds a row; cells that are missing are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as lines at most `width` wide.
    pub fn render(&self, width: usize, paint: Paint) -> String {
        let mut out = String::new();
        let widths = self.widths(width);
        let heads: Vec<String> = self.columns.iter().map(|(n, _)| n.clone()).collect();
        if heads.iter().any(|h| !h.is_empty()) {
            for line in self.lines(&heads, &widths, width) {
                out += &format!("{}\n", paint.on(Style::Heading, &line));
            }
        }
        for row in &self.rows {
            for line in self.lines(row, &widths, width) {
                out += &format!("{line}\n");
            }
        }
        out
    }

    /// What each column takes: as much as its longest cell, but for columns of words that must give way, the widest first.
    fn widths(&self, width: usize) -> Vec<usize> {
        let natural = |column: usize| {
            let cells = self.rows.iter().filter_map(|r| r.get(column)).map(|c| length(c));
            cells.chain([length(&self.columns[column].0)]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(natural).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > width {
            let words = |c: &usize| self.columns[*c].1 == Align::Left && widths[*c] > NARROW;
            match (0..widths.len()).filter(words).max_by_key(|c| widths[*c]) {
                Some(widest) => widths[widest] -= 1,
                None => break,
            }
        }
        widths
    }

    fn lines(&self, cells: &[String], widths: &[usize], width: usize) -> Vec<String> {
        let parts: Vec<Vec<String>> = (0..widths.len())
            .map(|c| wrap(cells.get(c).map(String::as_str).unwrap_or_default(), widths[c].max(1)))
            .collect();
        let height = parts.iter().map(Vec::len).max().unwrap_or(0);
        let line = |l: usize| {
            let mut text = String::new();
            for (c, (_, align)) in self.columns.iter().enumerate() {
                let cell = parts[c].get(l).map(String::as_str).unwrap_or_default();
                let pad = " ".repeat(widths[c].saturating_sub(length(cell)));
                let gap = " ".repeat(if c == 0 { 0 } else { GAP });
                text += &match align {
                    Align::Left => format!("{gap}{cell}{pad}"),
                    Align::Right => format!("{gap}{pad}{cell}"),
                };
            }
            cut(text.trim_end(), width)
        };
        (0..height).map(line).collect()
    }
}

/// Columns that `text` takes; all that is printed here is one column a character.
pub fn length(text: &str) -> usize {
    text.chars().count()
}

/// `text` in lines at most `width` wide, broken at spaces; a longer word is broken where it must be. The first line keeps
/// its indentation.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let rest = text.trim_start_matches(' ');
    let indent = (text.len() - rest.len()).min(width.saturating_sub(1));
    let mut lines = vec![" ".repeat(indent)];
    for word in rest.split(' ') {
        let mut word = word;
        loop {
            let line = lines.last().map_or(0, |l| length(l));
            let gap = usize::from(lines.last().is_some_and(|l| !l.trim_start().is_empty()));
            if line + gap + length(word) <= width {
                if let Some(l) = lines.last_mut() {
                    *l += &" ".repeat(gap);
                    *l += word;
                }
                break;
            }
            if gap > 0 {
                lines.push(String::new());
                continue;
            }
            let at = word.char_indices().nth(width - line).map_or(word.len(), |(at, _)| at);
            if let Some(l) = lines.last_mut() {
                *l += &word[..at];
            }
            word = &word[at..];
            lines.push(String::new());
        }
    }
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// `text`, its end replaced by an ellipsis where it is wider than `width`.
pub fn cut(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_string();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_align_and_the_last_wraps() {
        let mut t = Table::new(&[("name", Align::Left), ("n", Align::Right), ("what it is", Align::Left)]);
        t.row(["a", "1", "one two three four five six seven"]);
        t.row(["bcd", "100", "x"]);
        let text = t.render(38, Paint::PLAIN);
        let want = "name    n  what it is\n\
                    a       1  one two three four five six\n           seven\n\
                    bcd   100  x\n";
        assert_eq!(text, want);
    }

    #[test]
    fn wrapping_keeps_the_first_indentation_and_breaks_what_has_no_space() {
        assert_eq!(wrap("  one two", 5), ["  one", "two"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("", 3), [""]);
    }

    #[test]
    fn the_widest_column_of_words_gives_way_first() {
        let mut t = Table::new(&[
            ("name", Align::Left),
            ("n", Align::Right),
            ("values", Align::Left),
            ("about", Align::Left),
        ]);
        t.row(["name", "1", "a quite long list of values that are allowed", "a meaning"]);
        let text = t.render(44, Paint::PLAIN);
        assert!(text.lines().all(|l| length(l) <= 44), "{text}");
        assert!(
            text.lines().any(|l| l.starts_with("name  1  a quite") && l.ends_with("a meaning")),
            "{text}"
        );
    }

    proptest! {
        #[test]
        fn never_wider_than_the_window(
            cells in proptest::collection::vec("[a-z µ]{0,40}", 1..12), width in 1usize..60,
        ) {
            let mut t = Table::new(&[("one", Align::Left), ("two", Align::Right), ("three", Align::Left)]);
            for row in cells.chunks(3) {
                t.row(row.iter().cloned());
            }
            for line in t.render(width, Paint::PLAIN).lines() {
                prop_assert!(length(line) <= width, "{line:?}");
            }
        }
    }
}
