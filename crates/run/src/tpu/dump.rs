//! What the TPU compiler printed of a program, by file name.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tilewright_diag::{Diagnostic, Result, Span};

/// The texts of a dump folder that are read here: bundle listings, their utilisation tables, the optimised HLO, profiles,
/// traces (`OP_bundles.txt`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dump {
    /// Text by file name.
    pub files: BTreeMap<String, String>,
}

/// Endings of the files that are kept.
const KEPT: [&str; 5] = [
    "_bundles.txt",
    "final_hlo-static-per-bundle-utilization.txt",
    "TLP-hlo.txt",
    "static_llo_profile.textproto",
    "hlo.txt",
];

impl Dump {
    /// Reads a folder that the compiler printed into, here or on a machine with TPUs.
    ///
    /// # Errors
    /// `tpu/dump` where it cannot be read.
    pub fn read(folder: &Path) -> Result<Dump> {
        let fault = |path: &Path, e: std::io::Error| {
            Diagnostic::request("tpu/dump", format!("the dump cannot be read: {e}"))
                .at(Span::file(path.display().to_string()))
        };
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(folder).map_err(|e| fault(folder, e))? {
            let path = entry.map_err(|e| fault(folder, e))?.path();
            let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
            if path.is_file() && KEPT.iter().any(|end| name.ends_with(end)) {
                let text = std::fs::read(&path).map_err(|e| fault(&path, e))?;
                files.insert(name.to_string(), String::from_utf8_lossy(&text).into_owned());
            }
        }
        Ok(Dump { files })
    }
}
