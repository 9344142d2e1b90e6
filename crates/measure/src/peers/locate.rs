//! Where peers may be installed.

use std::env;
use std::error::Error;
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

/// Opens the first candidate that works; else says why none does.
pub(super) fn first<T>(
    candidates: Vec<PathBuf>,
    open: impl Fn(&Path) -> Result<T, String>,
) -> Result<T, String> {
    let mut faults = Vec::new();
    for path in candidates {
        let name = path.display().to_string();
        match open(&path) {
            Ok(found) => return Ok(found),
            // The loader does not find it; where it names another file, a library that it needs is missing.
            Err(e) if e.contains(&name) && e.contains("cannot open shared object file") => {}
            Err(e) => faults.push(format!("{name}: {e}")),
        }
    }
    Err(if faults.is_empty() {
        "not installed".to_owned()
    } else {
        format!("cannot be used ({})", faults.join("; "))
    })
}

/// What the loader said; its error alone only names the function that failed.
pub(super) fn words(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| source.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_opens_is_taken_and_absence_is_not_a_fault() {
        let absent = |path: &Path| Err(format!("{}: cannot open shared object file: no", path.display()));
        let candidates = || vec![PathBuf::from("a.so"), PathBuf::from("b.so")];
        assert_eq!(first::<()>(candidates(), absent), Err("not installed".to_owned()));
        let second = |path: &Path| if path == Path::new("b.so") { Ok(2) } else { absent(path).map(|()| 1) };
        assert_eq!(first(candidates(), second), Ok(2));
        // A library that it needs is what is missing.
        let broken =
            |_: &Path| -> Result<(), _> { Err("c.so: cannot open shared object file: no".to_owned()) };
        assert!(first(candidates(), broken).is_err_and(|e| e.contains("a.so: c.so: cannot open")));
    }

    #[test]
    fn libraries_are_found_below_an_environment() {
        let system = libraries(&["no such folder"], "lib", &["libx.so.1"]);
        assert_eq!(system, [PathBuf::from("libx.so.1")]);
    }
}
