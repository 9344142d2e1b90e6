//! For tests that need a tool: they skip visibly where it is absent, or fail where it is required.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tools::{Clang, clang};
use crate::tpu::{Libtpu, libtpu};

/// The environment variable that turns a skipped test into a failed one.
pub const REQUIRE_ENV: &str = "TILEWRIGHT_REQUIRE_TOOLS";

/// The clang to test with, or `None` after a line that says the test is skipped.
///
/// Panics where clang is missing and `TILEWRIGHT_REQUIRE_TOOLS=1`: a machine that should have it must not skip.
pub fn clang_or_skip() -> Option<Clang> {
    match clang() {
        Ok(clang) => Some(clang),
        Err(d) => {
            refuse_if_required(&d.to_string());
            eprintln!("skipped: clang missing");
            None
        }
    }
}

/// The TPU compiler to test with; as [`clang_or_skip`].
pub fn libtpu_or_skip() -> Option<Libtpu> {
    match libtpu() {
        Ok(libtpu) => Some(libtpu),
        Err(d) => {
            refuse_if_required(&d.to_string());
            eprintln!("skipped: libtpu missing");
            None
        }
    }
}

/// Writes an executable shell script `folder/name` that stands in for a tool, and returns its path.
///
/// Another process writes it: were it this one, a child forked by another test meanwhile could still hold the file open
/// for writing, and running it would fail with "text file busy".
pub fn write_script(folder: &Path, name: &str, body: &str) -> Result<PathBuf> {
    use std::io::Write;
    let path = folder.join(name);
    let mut writer = Command::new("/bin/sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = writer.stdin.take() {
        writeln!(stdin, "#!/bin/sh\n{body}")?;
    }
    if writer.wait()?.success() { Ok(path) } else { Err(Error::other("the script was not written")) }
}

#[expect(clippy::panic, reason = "only tests call this, and a panic is how a test fails")]
fn refuse_if_required(why: &str) {
    if std::env::var_os(REQUIRE_ENV).is_some_and(|v| v == "1") {
        panic!("{REQUIRE_ENV}=1, but: {why}");
    }
}
