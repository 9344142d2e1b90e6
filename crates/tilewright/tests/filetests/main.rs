//! Runs `filetests/`: tile programs as text, each with the tests that its header names and what they must yield.
//!
//! One test for each file and mode, so `cargo test --test filetests -- ops/cast` runs what its names contain. The format
//! is described in `filetests/README.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test without the harness is still a test"
)]

mod coverage;
mod file;
mod ignore;
mod inputs;
mod modes;
mod native;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Failed, Trial};
use similar::TextDiff;

use file::File;
use ignore::Ignored;
use modes::Mode;

/// Set to 1, takes what the tests yield for what they must yield. What a compiled program computes is never taken.
const BLESS_ENV: &str = "TILEWRIGHT_BLESS";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [command, name] = args.as_slice()
        && command == native::CHILD_COMMAND
    {
        return native::child(&load(&root(), name));
    }
    let mut trials = Vec::new();
    let ignored = Ignored::read(&root().join("ignore-cpu.toml")).unwrap_or_else(|e| panic!("{e}"));
    let names = names(&root());
    let ignored_check = (ignored.clone(), names.clone());
    trials
        .push(Trial::test("ignored files exist", move || Ok(ignored_check.0.all_exist(&ignored_check.1)?)));
    let loaded: Vec<File> = names.iter().map(|name| load(&root(), name)).collect();
    trials
        .push(Trial::test("every op and every dtype is interpreted", move || Ok(coverage::check(&loaded)?)));
    for name in names {
        // Blessing rewrites a file that another of its modes may be reading.
        let lock = Arc::new(Mutex::new(()));
        let file = load(&root(), &name);
        for mode in file.modes() {
            trials.push(trial(&name, mode, &ignored, lock.clone()));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(name: &str, mode: Result<Mode, String>, ignored: &Ignored, lock: Arc<Mutex<()>>) -> Trial {
    let mode = match mode {
        Ok(mode) => mode,
        Err(message) => return Trial::test(format!("{name} header"), move || Err(message.into())),
    };
    let skipped = mode.missing_tool().or(ignored.reason(name, mode));
    let file = name.to_string();
    let test = Trial::test(format!("{name} {mode}"), move || {
        let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
        run(&load(&root(), &file), mode)
    });
    match skipped {
        Some(reason) => {
            eprintln!("skipped: {name} {mode}: {reason}");
            test.with_ignored_flag(true)
        }
        None => test,
    }
}

fn run(file: &File, mode: Mode) -> Result<(), Failed> {
    let actual = mode.run(file)?;
    let expected = file.section(mode.name());
    if actual == expected {
        return Ok(());
    }
    if mode.can_bless() && std::env::var_os(BLESS_ENV).is_some_and(|v| v == "1") {
        return file.with_section(mode.name(), &actual).write().map_err(|e| e.to_string().into());
    }
    let diff = TextDiff::from_lines(&expected, &actual);
    let diff = diff.unified_diff().header("expected", "actual").context_radius(3).to_string();
    let hint = if mode.can_bless() {
        format!(
            "\nif this is right: {BLESS_ENV}=1 cargo test -p tilewright --test filetests -- {}",
            file.name
        )
    } else {
        String::new()
    };
    Err(format!("filetests/{}, {mode}\n{diff}{hint}", file.name).into())
}

fn load(root: &Path, name: &str) -> File {
    File::read(root, name).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests")
}

/// The corpus, sorted.
fn names(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "tw") {
                all.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    all.sort();
    all
}
