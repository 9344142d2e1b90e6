//! A target's list of files that it does not run, each with its reason.

use std::path::Path;

use serde::Deserialize;

use crate::modes::Mode;

/// The list.
#[derive(Clone, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Ignored {
    #[serde(default)]
    ignore: Vec<Entry>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: String,
    reason: String,
}

impl Ignored {
    /// Reads a list.
    pub fn read(path: &Path) -> Result<Ignored, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Why the target does not run the file; `None` where it does.
    pub fn reason(&self, name: &str, mode: Mode) -> Option<String> {
        let entry = self.ignore.iter().find(|e| e.file == name)?;
        (mode == Mode::Run).then(|| entry.reason.clone())
    }

    /// Whether every listed file is among `names`, with a reason.
    pub fn all_exist(&self, names: &[String]) -> Result<(), String> {
        match self.ignore.iter().find(|e| !names.contains(&e.file) || e.reason.trim().is_empty()) {
            None => Ok(()),
            Some(e) => Err(format!("`{}` is no file of the corpus, or has no reason", e.file)),
        }
    }
}
