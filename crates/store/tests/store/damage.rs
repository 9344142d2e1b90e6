use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rusqlite::Connection;
use tilewright_diag::Diagnostic;
use tilewright_store::{Query, Store, TuneRecord};

use crate::{open, problem, tune};

const KEY: &str = "m=64 n=64";
const COUNT: i64 = 12;

/// A closed store with [`COUNT`] records, the later the faster.
fn filled() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    for record in records() {
        store.put_tune(&record).unwrap();
    }
    (folder, path)
}

fn records() -> impl Iterator<Item = TuneRecord> {
    (1..=COUNT).map(|i| tune(KEY, i, 1.0 / i as f64))
}

/// The refusal of the file at `path`, which must leave it as it is.
fn refusal(path: &Path) -> Box<Diagnostic> {
    let before = fs::read(path).unwrap();
    let d = Store::open(path.to_str()).unwrap_err();
    assert_eq!(fs::read(path).unwrap(), before, "the refused file was changed");
    assert!(d.message.contains(path.to_str().unwrap()), "{d}");
    d
}

/// Replaces the one place in the file that reads `from`.
fn rewrite(path: &Path, from: &str, to: &str) {
    let mut bytes = fs::read(path).unwrap();
    let at: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i..].starts_with(from.as_bytes())).collect();
    assert_eq!(at.len(), 1, "{from} occurs at {at:?}");
    bytes[at[0]..][..to.len()].copy_from_slice(to.as_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_flipped_byte_costs_its_record_alone() {
    let (_folder, path) = filled();
    // In the payload of the fastest record.
    rewrite(&path, &format!(r#""created":{COUNT}"#), r#""created":13"#);
    let store = open(&path);
    let read = store.tunes(&Query::new()).unwrap();
    assert_eq!(read.torn.len(), 1);
    assert_eq!(read.torn[0].code, "store/torn-record");
    assert!(read.torn[0].message.contains(&format!("record {COUNT} ")), "{}", read.torn[0]);
    assert!(read.value.into_iter().map(|s| s.record).eq(records().take(COUNT as usize - 1)));

    let best = store.best(&Query::of("matmul", &problem(KEY), "cpu", "box")).unwrap();
    assert_eq!((best.value.unwrap().id, best.torn.len()), (COUNT - 1, 1));
    let near = store.nearest(&Query::new().kernel("matmul"), |_| Some(0.0)).unwrap();
    assert_eq!((near.value.unwrap().stored.id, near.torn.len()), (COUNT - 1, 1));
    assert_eq!(store.record(COUNT).unwrap_err().code, "store/torn-record");
    assert!(store.record(1).is_ok());
}

#[test]
fn a_changed_column_is_noticed() {
    for change in
        ["seconds = 1e-9", "checked = 0", "seconds = 'x'", "kind = 'tone'", "problem = 'm'", "kernel = x'ff'"]
    {
        let (_folder, path) = filled();
        Connection::open(&path)
            .unwrap()
            .execute(&format!("UPDATE record SET {change} WHERE id = 5"), [])
            .unwrap();
        let read = open(&path).history(&Query::new()).unwrap();
        assert_eq!(read.value.len() as i64, COUNT - 1, "{change}");
        assert_eq!(read.torn.len(), 1, "{change}");
        assert!(read.torn[0].message.contains("record 5 "), "{}", read.torn[0]);
    }
}

#[test]
fn a_whole_record_that_is_not_understood_is_told_from_a_torn_one() {
    let (_folder, path) = filled();
    let payload = r#"{"kernel":"from the future"}"#;
    let checksum = blake3::hash(payload.as_bytes()).to_hex().to_string();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute("UPDATE record SET payload = ?1, checksum = ?2 WHERE id = 5", (payload, checksum))
        .unwrap();
    let read = open(&path).tunes(&Query::new()).unwrap();
    assert_eq!(read.torn[0].code, "store/unreadable-record");
    assert_eq!(read.value.len() as i64, COUNT - 1);
}

#[test]
fn a_truncated_file_is_refused_with_the_way_out() {
    let (_folder, path) = filled();
    let whole = fs::read(&path).unwrap();
    for length in [1, 15, 16, 50, 99, 100, 512, 1000, 4096, 5000, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let d = refusal(&path);
        assert_eq!(d.code, "store/corrupt", "{length} bytes: {d}");
        assert!(d.help.as_ref().unwrap().contains("mv -n "), "{d}");
        assert!(d.notes.iter().any(|n| n == "nothing in it was changed"), "{d}");
    }
    // Moved aside as the help says, a new store takes its place.
    fs::rename(&path, path.with_extension("db.damaged")).unwrap();
    assert!(open(&path).tunes(&Query::new()).unwrap().value.is_empty());
}

#[test]
fn a_refused_file_keeps_its_log() {
    let (_folder, path) = filled();
    let log = PathBuf::from(format!("{}-wal", path.display()));
    let store = open(&path);
    store.put_tune(&tune(KEY, COUNT + 1, 1e-3)).unwrap();
    let (kept_log, mut damaged) = (fs::read(&log).unwrap(), fs::read(&path).unwrap());
    drop(store);
    // As after a kill, and a page lost from the middle of the file.
    damaged[4096..8192].fill(0xa5);
    fs::write(&path, damaged).unwrap();
    fs::write(&log, &kept_log).unwrap();
    let d = refusal(&path);
    assert_eq!(d.code, "store/corrupt", "{d}");
    assert!(d.help.unwrap().contains("store.db-wal"));
    assert_eq!(fs::read(&log).unwrap(), kept_log);
}

#[test]
fn a_log_without_its_file_is_kept() {
    let (_folder, path) = filled();
    let log = PathBuf::from(format!("{}-wal", path.display()));
    fs::write(&path, "").unwrap();
    fs::write(&log, "the last records").unwrap();
    let d = refusal(&path);
    assert_eq!(d.code, "store/corrupt");
    assert_eq!(fs::read(&log).unwrap(), b"the last records");
}

#[test]
fn a_torn_log_loses_only_what_was_being_written() {
    let (_folder, path) = filled();
    let log = PathBuf::from(format!("{}-wal", path.display()));
    let store = open(&path);
    for i in 1..=3 {
        store.put_tune(&tune(KEY, COUNT + i, 1e-3)).unwrap();
    }
    let (torn_log, file) = (fs::read(&log).unwrap(), fs::read(&path).unwrap());
    drop(store);
    fs::write(&path, file).unwrap();
    fs::write(&log, &torn_log[..torn_log.len() - 700]).unwrap();
    let read = open(&path).tunes(&Query::new()).unwrap();
    assert_eq!((read.value.len() as i64, read.torn.len()), (COUNT + 2, 0));
}

#[test]
fn a_newer_schema_is_refused_by_its_version() {
    let (_folder, path) = filled();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 77).unwrap();
    let d = refusal(&path);
    assert_eq!(d.code, "store/newer-schema");
    assert!(d.message.contains("version 77") && d.message.contains("up to 2"), "{d}");
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "dear diary").unwrap();
    let unmarked = folder.path().join("unmarked.db");
    Connection::open(&unmarked).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let marked = folder.path().join("marked.db");
    Connection::open(&marked)
        .unwrap()
        .execute_batch("PRAGMA application_id = 7; PRAGMA user_version = 1")
        .unwrap();
    for path in [&text, &unmarked, &marked] {
        assert_eq!(refusal(path).code, "store/not-a-store", "{}", path.display());
    }
    assert_eq!(Store::open(folder.path().to_str()).unwrap_err().code, "store/not-a-store");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, "").unwrap();
    assert_eq!(open(&path).put_tune(&tune(KEY, 1, 1.0)).unwrap(), 1);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let below_a_file = file.join("store.db");
    // No user may create files in /proc, the superuser included.
    let places = [below_a_file.as_path(), Path::new("/proc/store.db")];
    for place in places.into_iter().filter(|p| p.parent().is_some_and(Path::exists)) {
        let d = Store::open(place.to_str()).unwrap_err();
        assert_eq!(d.code, "store/unwritable", "{d}");
        assert!(d.message.contains(place.to_str().unwrap()), "{d}");
    }
}

#[test]
fn a_locked_store_is_waited_for() {
    let (_folder, path) = filled();
    let store = open(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let put = scope.spawn(move || store.put_tune(&tune(KEY, 99, 1.0)));
        std::thread::sleep(std::time::Duration::from_millis(100));
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(put.join().unwrap().unwrap(), COUNT + 1);
    });
}

#[test]
fn a_damaged_index_is_rebuilt_from_the_records() {
    let (_folder, path) = filled();
    let root: u32 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'record_lookup'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let page = &mut bytes[(root as usize - 1) * 4096..root as usize * 4096];
    let at = (0..page.len()).find(|&i| page[i..].starts_with(b"matmul")).unwrap();
    page[at] = b'M';
    fs::write(&path, bytes).unwrap();
    let read = open(&path).tunes(&Query::new().kernel("matmul")).unwrap();
    assert_eq!((read.value.len() as i64, read.torn), (COUNT, vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Wherever bits flip, the file is refused or each record is read as it was written or listed as torn.
    #[test]
    fn no_flipped_bit_changes_a_record(place in any::<prop::sample::Index>(), mask in 1u8..) {
        let (_folder, path) = sample();
        let mut bytes = fs::read(&path).unwrap();
        let at = place.index(bytes.len());
        bytes[at] ^= mask;
        fs::write(&path, bytes).unwrap();
        match Store::open(path.to_str()) {
            Err(d) => prop_assert!(d.code.starts_with("store/")),
            Ok(store) => match store.history(&Query::new()) {
                Err(d) => prop_assert_eq!(d.code, "store/corrupt"),
                Ok(read) => {
                    prop_assert_eq!((read.value.len() + read.torn.len()) as i64, COUNT, "byte {} ^ {}", at, mask);
                    for s in read.value {
                        let tilewright_store::Record::Tune(record) = s.record else { panic!("another kind") };
                        prop_assert!(records().any(|r| r == record), "byte {} ^ {}", at, mask);
                    }
                }
            },
        }
    }
}

/// A copy of a filled store that is made once.
fn sample() -> (tempfile::TempDir, PathBuf) {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let bytes = BYTES.get_or_init(|| {
        let (_folder, path) = filled();
        fs::read(path).unwrap()
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}
