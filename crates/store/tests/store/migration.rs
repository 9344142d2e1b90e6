use std::path::Path;

use rusqlite::Connection;
use tilewright_store::{Query, Store};

use crate::{open, problem, tune};

/// A store of schema version 1 with two records, as SQL.
const V1: &str = include_str!("fixtures/v1.sql");

fn make(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn version(path: &Path) -> i64 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn a_version_1_store_is_brought_up_with_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    make(&path, V1);
    let store = open(&path);
    let read = store.tunes(&Query::new()).unwrap();
    assert_eq!(read.torn, []);
    let records: Vec<_> = read.value.into_iter().map(|s| (s.id, s.record)).collect();
    assert_eq!(records, [(1, tune("m=64 n=64", 1, 3e-3)), (2, tune("m=64 n=64", 2, 2e-3))]);
    assert_eq!(store.put_tune(&tune("m=64 n=64", 3, 1e-3)).unwrap(), 3);
    let best = store.best(&Query::of("matmul", &problem("m=64 n=64"), "cpu", "box")).unwrap();
    assert_eq!(best.value.map(|b| b.id), Some(3));
    drop(store);
    assert_eq!(version(&path), 2);
}

#[test]
fn a_migrated_store_has_the_schema_of_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old.db"), folder.path().join("new.db"));
    make(&old, V1);
    let schema = |path: &Path| -> Vec<(String, String)> {
        drop(open(path));
        let connection = Connection::open(path).unwrap();
        let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(schema(&old), schema(&new));
}

#[test]
fn a_migration_that_cannot_be_done_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    make(&path, &format!("{V1}\nCREATE TABLE record_lookup (x);"));
    let d = Store::open(path.to_str()).unwrap_err();
    assert_eq!(d.code, "store/corrupt");
    assert!(d.notes.iter().any(|n| n.starts_with("this was migration 2:")), "{d}");
    assert_eq!(version(&path), 1);
}
