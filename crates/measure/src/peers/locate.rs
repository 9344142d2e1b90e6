//! Where peers may be installed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// How to get what is missing.
pub(super) const SETUP: &str = "run bench/peers/setup.sh";

/// Folders with a Python environment that may hold peers: the one that `TILEWRIGHT_PEERS` names, or else the one in the
/// user's data folder that `bench/peers/setup.sh` makes, and `bench/peers/.venv` below the current folder.
pub(super) fn environments() -> Vec<PathBuf> {
    if let Some(chosen) = env::var_os("TILEWRIGHT_PEERS").filter(|v| !v.is_empty()) {
        return vec![chosen.into()];
    }
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let own = data.map(|folder| folder.join("tilewright/peers"));
    own.into_iter().chain([PathBuf::from("bench/peers/.venv")]).filter(|p| p.is_dir()).collect()
}

/// The shared libraries of which one of `patterns` holds, best first: those in `folders` of the environments, then the
/// names as the system's loader resolves them. A pattern is a prefix of the file name.
pub(super) fn libraries(folders: &[&str], prefix: &str, system: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for environment in environments() {
        let sites = site_packages(&environment);
        let bases = std::iter::once(&environment).chain(&sites);
        for folder in bases.flat_map(|base| folders.iter().map(move |f| base.join(f))) {
            let mut here: Vec<PathBuf> = entries(&folder)
                .filter(|path| {
                    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
                    name.starts_with(prefix) && name.contains(".so")
                })
                .collect();
            here.sort();
            found.extend(here);
        }
    }
    found.extend(system.iter().map(PathBuf::from));
    found
}

/// Python interpreters to ask for frameworks: those of the environments, then the one on the path.
pub(super) fn pythons() -> Vec<PathBuf> {
    let own = environments().into_iter().map(|e| e.join("bin/python")).filter(|p| p.exists());
    own.chain([PathBuf::from("python3")]).collect()
}

fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let mut sites: Vec<PathBuf> = entries(&environment.join("lib"))
        .filter(|p| p.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with("python3")))
        .map(|p| p.join("site-packages"))
        .collect();
    sites.sort();
    sites
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
