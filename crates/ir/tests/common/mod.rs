//! What several tests share.
#![allow(dead_code, reason = "no test uses all of it")]

pub mod random;

use std::path::Path;

/// Every file of the corpus in `filetests/`: its name and its text.
pub fn corpus() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests");
    let mut all = Vec::new();
    for folder in std::fs::read_dir(&root).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()) {
        for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            all.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    all.sort();
    assert!(all.len() > 60, "the corpus is in {}", root.display());
    all
}
