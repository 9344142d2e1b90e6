//! The schema: one list of migrations, in order.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use tilewright_diag::Result;

use crate::fault;

/// One step of the schema.
#[derive(Debug)]
pub(crate) struct Migration {
    /// The schema's version once it is done; versions count up by one from 1.
    pub version: i64,
    /// What it does, in one sentence.
    pub sentence: &'static str,
    /// Its statements.
    pub sql: &'static str,
}

/// Every migration, oldest first. A released one never changes: stores that hold it exist.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        sentence: "Keep records of every kind in one table.",
        sql: include_str!("../migrations/1.sql"),
    },
    Migration {
        version: 2,
        sentence: "Find the records of a kernel's problem without reading all.",
        sql: include_str!("../migrations/2.sql"),
    },
];

/// `TWST` in ASCII, at offset 68 of the file: tells our stores from other SQLite files.
pub(crate) const APPLICATION_ID: i64 = 0x5457_5354;

/// The newest version that `migrations` lead to.
pub(crate) fn newest(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |m| m.version)
}

/// Brings the store up to the newest of `migrations`, each in a transaction of its own, so that a crash leaves a whole version.
///
/// # Errors
/// What [`fault::of`] makes of the database's own, naming the migration; the store keeps the version before it.
pub(crate) fn migrate(connection: &mut Connection, path: &Path, migrations: &[Migration]) -> Result<()> {
    for m in migrations {
        apply(connection, m).map_err(|e| {
            fault::of(path, &e).note(format!("this was migration {}: {}", m.version, m.sentence))
        })?;
    }
    Ok(())
}

/// The version of the store that `connection` has open.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn apply(connection: &mut Connection, m: &Migration) -> rusqlite::Result<()> {
    if version(connection)? >= m.version {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have just done it.
    if version(&transaction)? >= m.version {
        return Ok(());
    }
    transaction.execute_batch(m.sql)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", m.version)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn versions_count_up_by_one() {
        for (at, m) in MIGRATIONS.iter().enumerate() {
            assert_eq!(m.version, at as i64 + 1);
            assert!(m.sentence.ends_with('.'), "{}", m.sentence);
        }
    }

    #[test]
    fn a_failed_migration_leaves_the_version_before_it() {
        let mut connection = Connection::open_in_memory().unwrap();
        let broken = [
            Migration { version: 1, sentence: "Fine.", sql: "CREATE TABLE a (x)" },
            Migration { version: 2, sentence: "Broken.", sql: "CREATE TABLE b (x); CREATE TABLE a (x)" },
        ];
        let d = migrate(&mut connection, Path::new("s.db"), &broken).unwrap_err();
        assert!(d.notes.iter().any(|n| n == "this was migration 2: Broken."), "{d}");
        assert_eq!(version(&connection).unwrap(), 1);
        assert_eq!(tables(&connection), 1);
    }

    #[test]
    fn a_migrated_store_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("s.db"), MIGRATIONS).unwrap();
        let before = tables(&connection);
        migrate(&mut connection, Path::new("s.db"), MIGRATIONS).unwrap();
        assert_eq!(tables(&connection), before);
        assert_eq!(version(&connection).unwrap(), newest(MIGRATIONS));
    }
}
