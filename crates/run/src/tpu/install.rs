//! Installing the TPU compiler for the user, by the usual Python client.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tilewright_diag::{Diagnostic, Result};

use super::libtpu::{Libtpu, PINNED, folder, libtpu_at};
use crate::child::{ChildStatus, run_child};

/// What the user is told before anything is fetched.
pub const LICENCE: &str = "libtpu is Google's proprietary TPU compiler and runtime. It is installed for you alone, from the \
Python package index, under the Google Cloud Platform Terms of Service (https://cloud.google.com/terms); it is no part of \
Tilewright.";

/// 137 MB over a slow line.
const LIMIT: Duration = Duration::from_secs(1800);

/// Installs the pinned version into the user's data folder, unless it is there; `announce` is called before anything is
/// fetched.
///
/// # Errors
/// Class tool: `run/no-data-folder`; `run/setup-failed`, with the client's own words.
pub fn install(announce: impl FnOnce()) -> Result<Libtpu> {
    let Some(folder) = folder() else {
        return Err(Diagnostic::tool("run/no-data-folder", "there is no home folder to install into")
            .help("set HOME or XDG_DATA_HOME"));
    };
    if let Some(found) = libtpu_at(&folder) {
        return Ok(found);
    }
    announce();
    let parent = folder.parent().unwrap_or(Path::new("."));
    let io = |e: std::io::Error| failed(format!("{}: {e}", parent.display()), "");
    std::fs::create_dir_all(parent).map_err(io)?;
    // Beside its place, so that an interrupted installation is never taken for a whole one.
    let scratch = tempfile::Builder::new().prefix(".libtpu-").tempdir_in(parent).map_err(io)?;
    let target = scratch.path().join("packages");
    let python = client(scratch.path())?;
    let mut command = Command::new(&python);
    command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target"]);
    command.arg(&target).arg(format!("libtpu=={PINNED}"));
    run(command, "pip install")?;
    if libtpu_at(&target).is_none() {
        return Err(failed("the package holds no libtpu.so".to_string(), ""));
    }
    match std::fs::rename(&target, &folder) {
        Ok(()) => {}
        // Another process was faster.
        Err(_) if libtpu_at(&folder).is_some() => {}
        Err(e) => return Err(io(e)),
    }
    libtpu_at(&folder).ok_or_else(|| failed("the installed library is gone".to_string(), ""))
}

/// A Python that has pip: the one on `PATH`, else one in an environment made for this.
fn client(scratch: &Path) -> Result<PathBuf> {
    let mut probe = Command::new("python3");
    probe.args(["-m", "pip", "--version"]);
    if run_child(probe, &[], Duration::from_secs(60)).is_ok_and(|o| o.status == ChildStatus::Exited(0)) {
        return Ok(PathBuf::from("python3"));
    }
    let environment = scratch.join("venv");
    let mut command = Command::new("python3");
    command.args(["-m", "venv"]).arg(&environment);
    run(command, "python3 -m venv")?;
    Ok(environment.join("bin").join("python"))
}

fn run(command: Command, what: &str) -> Result<()> {
    let output = run_child(command, &[], LIMIT)
        .map_err(|d| failed(d.message.clone(), "`apt-get install python3 python3-venv`"))?;
    if output.status == ChildStatus::Exited(0) {
        return Ok(());
    }
    let words = output.stderr_text();
    let help = if what == "pip install" { "" } else { "`apt-get install python3 python3-venv`" };
    let d = failed(format!("`{what}` ended with {}", output.status), help);
    Err(words.lines().filter(|l| !l.trim().is_empty()).take(8).fold(d, |d, l| d.note(l.to_string())))
}

fn failed(why: String, help: &str) -> Box<Diagnostic> {
    let d = Diagnostic::tool("run/setup-failed", format!("libtpu {PINNED} could not be installed: {why}"));
    if help.is_empty() { d } else { d.help(help.to_string()) }
}
