//! A folder of libtpu's dumps: which listing belongs to which operation.

use std::fs;
use std::path::{Path, PathBuf};

use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_hw::Chip;

use crate::listing::Listing;

const SUFFIX: &str = "-final_bundles.txt";

/// One listing's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The operation's name without `%`; `TLP` is the whole program.
    pub name: String,
    /// The time stamp before it: a later run into the same folder has a larger one.
    pub stamp: u64,
    /// The file.
    pub path: PathBuf,
}

impl Entry {
    /// Reads the listing.
    pub fn read(&self, chip: Chip) -> Result<Listing> {
        let name = self.path.to_string_lossy().into_owned();
        let text = fs::read_to_string(&self.path).map_err(|e| {
            Diagnostic::request("tpu/unreadable", format!("{e}")).at(Span::file(name.clone()))
        })?;
        crate::parse(text, &name, chip)
    }
}

/// The final listings of a folder, by name; of several runs, the latest of each name.
pub fn listings(folder: &Path) -> Result<Vec<Entry>> {
    let fault = |e: std::io::Error| {
        Diagnostic::request("tpu/unreadable", format!("{e}")).at(Span::file(folder.to_string_lossy()))
    };
    let mut found: Vec<Entry> = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let Some((stamp, name)) = path.file_name().and_then(|n| n.to_str()).and_then(split) else { continue };
        let name = name.to_owned();
        match found.iter_mut().find(|e| e.name == name) {
            Some(e) if e.stamp < stamp => *e = Entry { name, stamp, path },
            Some(_) => {}
            None => found.push(Entry { name, stamp, path }),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Stamp and operation of a file name `STAMP-NAME-NN-final_bundles.txt`.
pub fn split(file: &str) -> Option<(u64, &str)> {
    let rest = file.strip_suffix(SUFFIX)?;
    let (rest, number) = rest.rsplit_once('-')?;
    number.parse::<u32>().ok()?;
    let (stamp, name) = rest.split_once('-')?;
    Some((stamp.parse().ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn file_names_split() {
        assert_eq!(split("17-name.1-03-final_bundles.txt"), Some((17, "name.1")));
        assert_eq!(
            split("17-shift-right_add_fusion.2-03-final_bundles.txt"),
            Some((17, "shift-right_add_fusion.2"))
        );
        assert_eq!(split("17-name.1-02-schedule-analysis_final_bundles.txt"), None);
    }
}
