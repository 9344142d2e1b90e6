//! Every fault that the crate may report is shown: by a file of the corpus, or by a test where no text can hold it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_code_has_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let by_hand = std::fs::read_to_string(root.join("tests/handmade.rs")).unwrap();
    let mut sources = Vec::new();
    for folder in ["src", "src/build", "src/parse"] {
        for path in std::fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap().path()) {
            if path.extension().is_some_and(|e| e == "rs") {
                sources.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let codes: BTreeSet<String> = sources.iter().flat_map(|text| codes(text, '"')).collect();
    assert!(codes.len() > 20, "{codes:?}");
    let mut shown: BTreeSet<String> = self::codes(&by_hand, '"').collect();
    shown.extend(common::corpus().iter().flat_map(|(_, text)| self::codes(text, '[')));
    let missing: Vec<&String> = codes.difference(&shown).collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
}

/// Words of the form `ir/kebab-case` behind `before`.
fn codes(text: &str, before: char) -> impl Iterator<Item = String> {
    let belongs = |c: char| c.is_ascii_lowercase() || c == '-' || c == '/';
    text.split(before)
        .filter(|part| part.starts_with("ir/"))
        .map(move |part| part.chars().take_while(|&c| belongs(c)).collect())
}
