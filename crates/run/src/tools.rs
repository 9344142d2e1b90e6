//! Finding the tools that compile: clang 17 or newer, and a linker.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use tilewright_diag::{Diagnostic, Result};

use crate::child::{ChildStatus, run_child};

/// The oldest clang whose LLVM IR dialect (opaque pointers, `bfloat`, AVX-512 FP16 and BF16 intrinsics) is emitted.
pub const OLDEST_CLANG: u32 = 17;

/// The environment variable that names the clang to use, as a path or a name on `PATH`.
pub const CLANG_ENV: &str = "TILEWRIGHT_CLANG";

const NAMES: [&str; 7] = ["clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang"];

/// A clang that is new enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clang {
    /// Where it is.
    pub path: PathBuf,
    /// The first line of its `--version`, which tells distributions' patched builds apart.
    pub version: String,
    /// The major version.
    pub major: u32,
}

/// The clang this process uses: `TILEWRIGHT_CLANG` where it is set, else the newest of `clang-22` … `clang-17` and
/// `clang` on `PATH`. The answer is remembered for each value of those two variables.
///
/// Errors: `run/clang-missing`, `run/clang-too-old` (class tool).
pub fn clang() -> Result<Clang> {
    type Found = HashMap<(Option<OsString>, Option<OsString>), Result<Clang>>;
    static FOUND: LazyLock<Mutex<Found>> = LazyLock::new(Mutex::default);
    let key = (std::env::var_os(CLANG_ENV), std::env::var_os("PATH"));
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = found.get(&key) {
        return known.clone();
    }
    let result = find_clang(key.0.as_deref(), key.1.as_deref());
    found.insert(key, result.clone());
    result
}

/// As [`clang`], for a given override and `PATH`, not remembered. An override is used or refused, never passed over.
pub fn find_clang(chosen: Option<&OsStr>, path: Option<&OsStr>) -> Result<Clang> {
    if let Some(chosen) = chosen.filter(|c| !c.is_empty()) {
        let shown = Path::new(chosen).display();
        let Some(file) = which(chosen, path) else {
            return Err(missing(format!("{CLANG_ENV} names `{shown}`, which is not an executable file")));
        };
        let clang = ask_version(&file)?
            .ok_or_else(|| missing(format!("{CLANG_ENV} names `{shown}`, which does not answer as clang")))?;
        return if clang.major >= OLDEST_CLANG { Ok(clang) } else { Err(too_old(&clang)) };
    }
    let mut old = None;
    for file in NAMES.iter().filter_map(|name| which(OsStr::new(name), path)) {
        match ask_version(&file)? {
            Some(clang) if clang.major >= OLDEST_CLANG => return Ok(clang),
            Some(clang) => old = Some(clang),
            None => {}
        }
    }
    Err(match old {
        Some(clang) => too_old(&clang),
        None => missing(format!("no clang of version {OLDEST_CLANG} or newer on PATH")),
    })
}

/// The system's linker `ld`, where it is on `PATH`. Calling it directly saves a start of the clang driver on each
/// compile; where it is absent clang links.
pub fn linker() -> Option<PathBuf> {
    which(OsStr::new("ld"), std::env::var_os("PATH").as_deref())
}

/// The executable file that `name` means: itself where it holds a `/`, else the first match in `path`.
pub fn which(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(PathBuf::from(name)).filter(|p| is_executable(p));
    }
    std::env::split_paths(path?).map(|folder| folder.join(name)).find(|p| is_executable(p))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// `None` when the program runs but is no clang.
fn ask_version(path: &Path) -> Result<Option<Clang>> {
    let mut command = Command::new(path);
    command.arg("--version");
    let output = run_child(command, &[], Duration::from_secs(20))?;
    if output.status != ChildStatus::Exited(0) {
        return Ok(None);
    }
    let text = output.stdout_text();
    let version = text.lines().next().unwrap_or_default().trim().to_string();
    Ok(parse_major(&version).map(|major| Clang { path: path.to_path_buf(), version, major }))
}

/// The major version in a line such as `Debian clang version 19.1.7 (3+b1)`. Apple's clang numbers its versions apart
/// from LLVM's and is taken for no clang at all.
fn parse_major(line: &str) -> Option<u32> {
    if line.starts_with("Apple") {
        return None;
    }
    let (_, rest) = line.split_once("clang version ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn missing(message: String) -> Box<Diagnostic> {
    Diagnostic::tool("run/clang-missing", message)
        .rule(format!("CPU kernels are compiled by clang {OLDEST_CLANG} or newer"))
        .help(format!("`apt-get install clang-19`, or set {CLANG_ENV} to a clang's path"))
}

fn too_old(clang: &Clang) -> Box<Diagnostic> {
    Diagnostic::tool(
        "run/clang-too-old",
        format!("`{}` is too old: it answers `{}`", clang.path.display(), clang.version),
    )
    .rule(format!("CPU kernels are compiled by clang {OLDEST_CLANG} or newer"))
    .help(format!("`apt-get install clang-19`, or set {CLANG_ENV} to a newer clang's path"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::write_script;
    use tilewright_diag::Class;

    fn fake_clang(folder: &Path, name: &str, version: &str) -> PathBuf {
        write_script(folder, name, &format!("echo '{version}'")).unwrap()
    }

    #[test]
    fn an_override_that_is_not_there_is_a_missing_tool() {
        let d = find_clang(Some(OsStr::new("/nonexistent")), Some(OsStr::new("/usr/bin"))).unwrap_err();
        assert_eq!((d.code, d.class, d.class.exit_status()), ("run/clang-missing", Class::Tool, 3));
        assert!(d.help.as_deref().is_some_and(|h| h.contains("apt-get install clang-19")));
        let d = find_clang(None, Some(OsStr::new("/nonexistent"))).unwrap_err();
        assert_eq!(d.code, "run/clang-missing");
    }

    #[test]
    fn the_newest_on_path_wins_and_an_old_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = Some(folder.path().as_os_str());
        fake_clang(folder.path(), "clang", "clang version 14.0.6");
        let d = find_clang(None, path).unwrap_err();
        assert_eq!(d.code, "run/clang-too-old");
        assert!(d.message.contains("14.0.6"), "{d}");
        fake_clang(folder.path(), "clang-18", "Ubuntu clang version 18.1.3 (1ubuntu1)");
        assert_eq!(find_clang(None, path).unwrap().major, 18);
        fake_clang(folder.path(), "clang-20", "clang version 20.1.0");
        assert_eq!(find_clang(None, path).unwrap().major, 20);
    }

    #[test]
    fn what_does_not_answer_as_clang_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = fake_clang(folder.path(), "cc", "gcc (Debian 12.2.0-14) 12.2.0");
        let d = find_clang(Some(file.as_os_str()), None).unwrap_err();
        assert_eq!(d.code, "run/clang-missing");
        assert_eq!(parse_major("Apple clang version 17.0.0"), None);
        assert_eq!(parse_major("Debian clang version 19.1.7 (3~deb12u1)"), Some(19));
    }
}
