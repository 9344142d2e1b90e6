//! The program in a sandbox: a store of its own, a cache that the tests share, nothing of the user's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What a run left behind.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let status = output.status.code().expect("no signal");
        Ran { status, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Standard output as one JSON object.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", self.stdout, self.stderr))
    }
}

/// A folder for everything that the program keeps.
pub struct Sandbox {
    folder: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        let variables = [
            // Shared, so that the machine's ceilings are measured once.
            ("TILEWRIGHT_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache").to_string()),
            ("TILEWRIGHT_STORE", at("store.db")),
            ("TW", env!("CARGO_BIN_EXE_tilewright").to_string()),
            ("COLUMNS", "110".to_string()),
        ];
        Sandbox { variables: variables.map(|(n, v)| (n.to_string(), v)).into(), folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn store(&self) -> PathBuf {
        self.folder().join("store.db")
    }

    /// Sets an environment variable of later runs.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_string(), value.to_string());
    }

    /// Runs the program with these words.
    pub fn run(&self, words: &[&str]) -> Ran {
        self.finish(Command::new(env!("CARGO_BIN_EXE_tilewright")).args(words))
    }

    /// Runs a line of bash, in which `$TW` is the program.
    pub fn shell(&self, line: &str) -> Ran {
        self.finish(Command::new("bash").args(["-c", line]))
    }

    fn finish(&self, command: &mut Command) -> Ran {
        let ready = command.envs(&self.variables).stdin(Stdio::null()).current_dir(self.folder());
        Ran::of(ready.output().expect("it starts"))
    }
}

/// No line is wider than the window.
pub fn lines_fit(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= width, "wider than {width}: {line}");
    }
}
