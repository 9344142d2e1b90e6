//! The WordPiece tokeniser of uncased BERT models.

use std::collections::HashMap;
use std::path::Path;

use tilewright_diag::{Diagnostic, Result, Span};
use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

/// Splits text into the words and word pieces of a vocabulary: Devlin et al., "BERT: Pre-training of deep bidirectional
/// transformers" (2018), as its code and Hugging Face's `tokenizers` do it.
///
/// Text is cleaned of control characters, lower-cased and stripped of accents; white space, punctuation and CJK
/// ideographs part words; each word is the longest piece that the vocabulary has, then the longest of the rest, to the
/// end. A word that cannot be so split, or of more than 100 characters, is `[UNK]`. The special tokens' names stand for
/// themselves.
#[derive(Clone, Debug)]
pub struct WordPiece {
    /// Pieces that begin a word.
    first: HashMap<String, i32>,
    /// Pieces that continue one, without their `##`.
    rest: HashMap<String, i32>,
    special: [(&'static str, i32); SPECIAL.len()],
}

const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const UNKNOWN: usize = 1;
const BEGIN: usize = 2;
const END: usize = 3;

/// Longer words are not looked up.
const MAX_WORD: usize = 100;

impl WordPiece {
    /// Reads a vocabulary, a piece a line, numbered from 0.
    ///
    /// Errors (class request): `models/vocabulary` where the file cannot be read or lacks a special token.
    pub fn open(path: impl AsRef<Path>) -> Result<WordPiece> {
        let path = path.as_ref();
        let fault = |what: String| {
            Diagnostic::request("models/vocabulary", what).at(Span::file(path.display().to_string()))
        };
        let text = std::fs::read_to_string(path)
            .map_err(|e| fault(format!("the vocabulary cannot be read: {e}")))?;
        WordPiece::new(text.lines()).map_err(|missing| fault(format!("the vocabulary has no `{missing}`")))
    }

    /// A tokeniser of these pieces, numbered from 0; the error is the special token that is missing.
    fn new<'a>(pieces: impl Iterator<Item = &'a str>) -> std::result::Result<WordPiece, &'static str> {
        let (mut first, mut rest) = (HashMap::new(), HashMap::new());
        for (number, piece) in (0..).zip(pieces) {
            match piece.strip_prefix("##").filter(|tail| !tail.is_empty()) {
                Some(tail) => rest.insert(tail.to_string(), number),
                None => first.insert(piece.to_string(), number),
            };
        }
        let mut special = SPECIAL.map(|name| (name, 0));
        for (name, id) in &mut special {
            *id = *first.get(*name).ok_or(*name)?;
        }
        Ok(WordPiece { first, rest, special })
    }

    /// The number of pieces.
    pub fn size(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    /// The tokens of a sentence, `[CLS]` before and `[SEP]` after them; the last of `most` (at least 2) is `[SEP]`, even
    /// where tokens must be cut off for it.
    pub fn encode(&self, text: &str, most: usize) -> Vec<i32> {
        let mut ids = vec![self.special[BEGIN].1];
        let mut rest = text;
        while let Some((at, name, id)) = self.next_special(rest) {
            self.plain(&rest[..at], &mut ids);
            ids.push(id);
            rest = &rest[at + name.len()..];
        }
        self.plain(rest, &mut ids);
        ids.truncate(most.saturating_sub(1).max(1));
        ids.push(self.special[END].1);
        ids
    }

    /// The first name of a special token in a text: where, which, and its number.
    fn next_special(&self, text: &str) -> Option<(usize, &'static str, i32)> {
        let found = self.special.iter().filter_map(|&(name, id)| Some((text.find(name)?, name, id)));
        found.min_by_key(|(at, ..)| *at)
    }

    /// Appends the tokens of text without special tokens.
    fn plain(&self, text: &str, ids: &mut Vec<i32>) {
        let text = normalised(text);
        let mut word = String::new();
        for c in text.chars() {
            let parts = is_punctuation(c);
            if parts || c.is_whitespace() {
                self.word(&word, ids);
                word.clear();
            }
            if parts {
                self.word(c.encode_utf8(&mut [0; 4]), ids);
            } else if !c.is_whitespace() {
                word.push(c);
            }
        }
        self.word(&word, ids);
    }

    /// Appends the pieces of a word.
    fn word(&self, word: &str, ids: &mut Vec<i32>) {
        if word.is_empty() {
            return;
        }
        let before = ids.len();
        let whole = word.chars().count() <= MAX_WORD && self.pieces(word, ids);
        if !whole {
            ids.truncate(before);
            ids.push(self.special[UNKNOWN].1);
        }
    }

    /// Appends the longest pieces from the left, and says whether they are all of the word.
    fn pieces(&self, word: &str, ids: &mut Vec<i32>) -> bool {
        let (mut rest, mut known) = (word, &self.first);
        while !rest.is_empty() {
            let mut ends = rest.char_indices().rev().map(|(at, c)| at + c.len_utf8());
            let Some((end, id)) = ends.find_map(|end| Some((end, *known.get(&rest[..end])?))) else {
                return false;
            };
            ids.push(id);
            rest = &rest[end..];
            known = &self.rest;
        }
        true
    }
}

/// Text with control characters gone, spaces around ideographs, without accents and in lower case.
fn normalised(text: &str) -> String {
    let kept = text.chars().filter(|&c| c != '\0' && c != '\u{fffd}' && !is_control(c));
    let spaced = kept.flat_map(|c| {
        let space = is_ideograph(c).then_some(' ');
        let c = if c.is_whitespace() { ' ' } else { c };
        space.into_iter().chain([c]).chain(space)
    });
    spaced.nfd().filter(|c| !c.is_mark_nonspacing()).flat_map(char::to_lowercase).collect()
}

fn is_control(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r') && c.is_other()
}

/// ASCII counts as punctuation what is neither letter, digit, space nor control, `$` and `^` among it.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || c.is_punctuation()
}

/// The blocks of CJK ideographs; kana and hangul are written with spaces or learnt as pieces.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> WordPiece {
        let pieces = [
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "cafe", ",", "日", "##e",
            "a",
        ];
        WordPiece::new(pieces.into_iter()).unwrap()
    }

    #[test]
    fn words_are_split_into_their_longest_pieces() {
        let w = small();
        assert_eq!(w.encode("Unaffable, CAFÉ", 64), [2, 5, 6, 7, 9, 8, 3]);
        assert_eq!(w.encode("", 64), [2, 3]);
        assert_eq!(w.encode("日日", 64), [2, 10, 10, 3]);
        assert_eq!(w.encode("a[MASK]a", 64), [2, 12, 4, 12, 3]);
    }

    #[test]
    fn a_word_that_does_not_come_out_is_unknown_as_a_whole() {
        let w = small();
        assert_eq!(w.encode("unaffx", 64), [2, 1, 3]);
        assert_eq!(w.encode(&format!("a{}", "e".repeat(99)), 200).len(), 102);
        assert_eq!(w.encode(&format!("a{}", "e".repeat(100)), 200), [2, 1, 3]);
    }

    #[test]
    fn long_text_is_cut_before_its_end_token() {
        assert_eq!(small().encode("a a a a a", 4), [2, 12, 12, 3]);
    }

    #[test]
    fn a_vocabulary_without_special_tokens_is_refused() {
        assert_eq!(WordPiece::new(["a", "[PAD]"].into_iter()).unwrap_err(), "[UNK]");
        assert_eq!(WordPiece::open("/nowhere/vocab.txt").unwrap_err().code, "models/vocabulary");
    }
}
