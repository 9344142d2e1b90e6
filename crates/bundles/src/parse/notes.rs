//! Comments that carry facts: region marks and the windows of transfers.

use crate::listing::{Mark, Window};

/// `Start region N`, `End region N` or `Start/End empty region N`.
pub fn mark(piece: &str) -> Option<Mark> {
    let number = |p: &str| p.parse().ok();
    if let Some(n) = piece.strip_prefix("Start region ") {
        return number(n).map(Mark::Start);
    }
    if let Some(n) = piece.strip_prefix("End region ") {
        return number(n).map(Mark::End);
    }
    piece.strip_prefix("Start/End empty region ").and_then(number).map(Mark::Empty)
}

/// The rows `name: 8` or `name: (8, 4)` of a window's note.
pub fn window(note: &str) -> Option<Window> {
    let mut window = Window::default();
    for line in note.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (name, values) = line.split_once(": ")?;
        let inner = values.strip_prefix('(').and_then(|v| v.strip_suffix(')')).unwrap_or(values);
        let numbers: Option<Vec<i64>> =
            inner.split(',').map(str::trim).filter(|v| !v.is_empty()).map(|v| v.parse().ok()).collect();
        window.fields.push((name.to_owned(), numbers?));
    }
    Some(window)
}
