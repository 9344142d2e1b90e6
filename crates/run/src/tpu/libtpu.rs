//! Finding the TPU compiler.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tilewright_diag::{Diagnostic, Result};

use crate::child::{ChildStatus, run_child};

/// The environment variable that names the library to use, or the folder that it lies in.
pub const LIBTPU_ENV: &str = "TILEWRIGHT_LIBTPU";

/// The version that the tests use and that `setup tpu` installs.
pub const PINNED: &str = "0.0.52";

/// A TPU compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Libtpu {
    /// `libtpu.so`.
    pub path: PathBuf,
    /// The wheel's version; where the library lies outside of a wheel, its size and time.
    pub version: String,
}

/// The compiler this process uses: `TILEWRIGHT_LIBTPU` where it is set, else what `setup tpu` installed, else the wheel
/// of the `python3` on `PATH`.
///
/// # Errors
/// `run/libtpu-missing` (class tool).
pub fn libtpu() -> Result<Libtpu> {
    if let Some(chosen) = std::env::var_os(LIBTPU_ENV).filter(|c| !c.is_empty()) {
        let chosen = PathBuf::from(chosen);
        return libtpu_at(&chosen).ok_or_else(|| {
            missing(format!("{LIBTPU_ENV} names `{}`, where no libtpu.so is", chosen.display()))
        });
    }
    if let Some(found) = folder().as_deref().and_then(libtpu_at) {
        return Ok(found);
    }
    wheel().as_deref().and_then(libtpu_at).ok_or_else(|| missing("libtpu is not installed".to_string()))
}

/// Where `setup tpu` installs the pinned version: in the user's data folder.
pub fn folder() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".local/share"));
    let data =
        std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|p| p.is_absolute()).or_else(home)?;
    Some(data.join("tilewright").join(format!("libtpu-{PINNED}")))
}

/// The library at a path: the file itself, or within a folder of it.
pub(super) fn libtpu_at(path: &Path) -> Option<Libtpu> {
    let places = [path.to_path_buf(), path.join("libtpu.so"), path.join("libtpu").join("libtpu.so")];
    let path = places.into_iter().find(|p| p.is_file())?;
    let version = wheel_version(&path).or_else(|| stamp(&path))?;
    Some(Libtpu { path, version })
}

/// The version in the name of the wheel's `libtpu-VERSION.dist-info`, beside the package.
fn wheel_version(library: &Path) -> Option<String> {
    let packages = library.parent()?.parent()?;
    let names = std::fs::read_dir(packages).ok()?.filter_map(|e| e.ok()?.file_name().into_string().ok());
    let version = |name: String| Some(name.strip_prefix("libtpu-")?.strip_suffix(".dist-info")?.to_string());
    names.filter_map(version).max()
}

fn stamp(library: &Path) -> Option<String> {
    let meta = library.metadata().ok()?;
    let time = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    Some(format!("unknown-{}-{time}", meta.len()))
}

/// The folder of the package `libtpu` of the `python3` on `PATH`.
fn wheel() -> Option<PathBuf> {
    let mut command = Command::new("python3");
    command.args([
        "-c",
        "import importlib.util as u; s = u.find_spec('libtpu'); print(s.submodule_search_locations[0] if s else '')",
    ]);
    let output = run_child(command, &[], Duration::from_secs(20)).ok()?;
    let text = output.stdout_text();
    (output.status == ChildStatus::Exited(0) && !text.trim().is_empty()).then(|| PathBuf::from(text.trim()))
}

fn missing(message: String) -> Box<Diagnostic> {
    Diagnostic::tool("run/libtpu-missing", message)
        .rule("TPU code is made by Google's own compiler, libtpu, which no TPU is needed for")
        .help(format!("`tilewright setup tpu` installs version {PINNED}, or set {LIBTPU_ENV} to a libtpu.so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_wheels() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("libtpu")).unwrap();
        std::fs::create_dir_all(folder.path().join("libtpu-0.0.99.dist-info")).unwrap();
        assert_eq!(libtpu_at(folder.path()), None);
        std::fs::write(folder.path().join("libtpu/libtpu.so"), "x").unwrap();
        let found = libtpu_at(folder.path()).unwrap();
        assert_eq!(found.version, "0.0.99");
        assert_eq!(libtpu_at(&found.path), Some(found.clone()));
        assert_eq!(libtpu_at(&folder.path().join("libtpu")), Some(found));
    }

    #[test]
    fn without_a_wheel_the_file_itself_is_the_version() {
        let folder = tempfile::tempdir().unwrap();
        let lone = folder.path().join("a/b/libtpu.so");
        std::fs::create_dir_all(lone.parent().unwrap()).unwrap();
        std::fs::write(&lone, "xyz").unwrap();
        assert!(libtpu_at(&lone).unwrap().version.starts_with("unknown-3-"));
    }
}
