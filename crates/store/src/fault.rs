//! What can be wrong with a store's file, as diagnostics.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use tilewright_diag::{Class, Diagnostic, Span};

/// The diagnostic of what SQLite reported about the store at `path`.
pub(crate) fn of(path: &Path, error: &rusqlite::Error) -> Box<Diagnostic> {
    use ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, PermissionDenied, ReadOnly,
        SystemIoFailure,
    };
    let shown = path.display();
    let found = match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked) => Diagnostic::new(
            Class::Tool,
            "store/busy",
            format!("another process has kept the store {shown} locked"),
        )
        .help("wait for it to end, or use another store: --store FILE"),
        Some(ReadOnly | CannotOpen | PermissionDenied) => unwritable(path, "SQLite cannot write to it"),
        Some(DiskFull) => {
            Diagnostic::new(Class::Tool, "store/full", format!("no space is left for the store {shown}"))
                .help("free some space; what was recorded before is kept")
        }
        Some(SystemIoFailure | OutOfMemory) => Diagnostic::new(
            Class::Tool,
            "store/io",
            format!("the system failed to read or write the store {shown}"),
        ),
        // The statements are constant and fit the schema, so that anything else means that the file does not.
        _ => corrupt(path, "its content is not what a store holds"),
    };
    found.at(span(path)).note(format!("SQLite says: {error}"))
}

/// The file is a damaged store.
pub(crate) fn corrupt(path: &Path, why: &str) -> Box<Diagnostic> {
    Diagnostic::request("store/corrupt", format!("the store {} is damaged: {why}", path.display()))
        .at(span(path))
        .rule("a damaged store is neither read nor changed: its records may not be what was written")
        .note("nothing in it was changed")
        .help(format!("move it aside, and the next run starts a new one: {}", move_aside(path)))
}

/// The file is something else.
pub(crate) fn not_a_store(path: &Path, why: &str) -> Box<Diagnostic> {
    Diagnostic::request("store/not-a-store", format!("{} is not a Tilewright store: {why}", path.display()))
        .at(span(path))
        .note("nothing in it was changed")
        .help("name another file: --store FILE")
}

/// The store cannot be created or written.
pub(crate) fn unwritable(path: &Path, why: &str) -> Box<Diagnostic> {
    Diagnostic::request("store/unwritable", format!("the store {} cannot be used: {why}", path.display()))
        .at(span(path))
        .rule("the store's file and its folder can be written")
        .help("name a file in a folder of yours: --store FILE")
}

/// A newer Tilewright made the store.
pub(crate) fn newer(path: &Path, found: i64, known: i64) -> Box<Diagnostic> {
    let shown = path.display();
    let message =
        format!("the store {shown} has schema version {found}; this Tilewright knows versions up to {known}");
    Diagnostic::request("store/newer-schema", message)
        .at(span(path))
        .note("nothing in it was changed")
        .help("use the newer Tilewright that made it, or another store: --store FILE")
}

/// The file that SQLite keeps beside the store at `path`: `suffix` is `-wal` or `-shm`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn span(path: &Path) -> Span {
    Span::file(path.display().to_string())
}

fn aside(path: &Path, suffix: &str) -> PathBuf {
    beside(&beside(path, ".damaged"), suffix)
}

/// The commands that move the store and what belongs to it; without its `-wal` file, its last records would be lost.
fn move_aside(path: &Path) -> String {
    let present = ["", "-wal", "-shm"].into_iter().filter(|suffix| beside(path, suffix).exists());
    let moves: Vec<String> = present
        .map(|suffix| format!("mv -n {} {}", quoted(&beside(path, suffix)), quoted(&aside(path, suffix))))
        .collect();
    moves.join(" && ")
}

/// `path` as one word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_can_be_pasted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my store's.db");
        std::fs::write(&path, "db").unwrap();
        std::fs::write(beside(&path, "-wal"), "log").unwrap();
        let help = corrupt(&path, "why").help.unwrap();
        let (_, command) = help.split_once(": ").unwrap();
        assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success());
        assert_eq!(std::fs::read(aside(&path, "")).unwrap(), b"db");
        assert_eq!(std::fs::read(aside(&path, "-wal")).unwrap(), b"log");
        assert!(!path.exists());
    }
}
