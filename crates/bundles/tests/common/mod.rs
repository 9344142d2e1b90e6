//! Listings for the tests: the golden ones, and small ones written by hand.

use tilewright_hw::Chip;

/// File, chip, cycles that libtpu's static estimator gives, bytes read and bytes written. On tpu7x the compiler had
/// placed the input in vector memory.
#[allow(dead_code, reason = "not every test file uses it")]
pub const GOLDEN: [(&str, Chip, u64, u64, u64); 8] = [
    ("exp-grid-v5e.txt", Chip::V5e, 8572, 393_216, 393_216),
    ("exp-grid-v5p.txt", Chip::V5p, 6468, 393_216, 393_216),
    ("exp-grid-v6e.txt", Chip::V6e, 5334, 393_216, 393_216),
    ("exp-grid-tpu7x.txt", Chip::Tpu7x, 4115, 0, 393_216),
    ("lane-reduce-v5e.txt", Chip::V5e, 1981, 32_768, 32_768),
    ("lane-reduce-tpu7x.txt", Chip::Tpu7x, 927, 0, 32_768),
    ("transpose-v6e.txt", Chip::V6e, 1387, 32_768, 32_768),
    ("lane-rotate-v5p.txt", Chip::V5p, 1733, 32_768, 32_768),
];

/// The text of a golden listing.
#[allow(dead_code, reason = "not every test file uses it")]
pub fn golden(file: &str) -> String {
    let path = format!("{}/tests/listings/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A listing of the given bundles: the inside of each, and its trailing comment.
#[allow(dead_code, reason = "not every test file writes listings")]
pub fn by_hand(bundles: &[(&str, &str)]) -> String {
    let mut text = String::from(
        "= control target key start\nLH: loop header\nLB: loop body\nLE: loop exit\nPB: predicated region body\n\
         PF: predicated region fallthrough\nCT: control target\n= control target key end\n\n",
    );
    for (i, (inside, note)) in bundles.iter().enumerate() {
        let address = if i == 0 { "0".to_owned() } else { format!("{i:#x}") };
        let inside = if inside.is_empty() { String::new() } else { format!(" {inside} ") };
        let note = if note.is_empty() { String::new() } else { format!(" /* {note} */") };
        text.push_str(&format!("{address:>6}   :  {{{inside}}}{note}\n"));
    }
    text
}
