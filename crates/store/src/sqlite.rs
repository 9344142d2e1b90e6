//! Rows in a SQLite file: the only module that runs SQL on them.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};
use tilewright_diag::Result;

use crate::fault;
use crate::header::{self, Found};
use crate::query::Query;
use crate::row::{Keys, NewRow, Row};
use crate::schema::{self, APPLICATION_ID, MIGRATIONS};

/// How long a process waits for another's transaction. One takes milliseconds; a suspended writer takes for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file of this size is checked from end to end in some tens of milliseconds, so at every opening.
const CHEAP_TO_CHECK: u64 = 8 << 20;

const COLUMNS: &str = "id, kind, kernel, problem, target, machine, ir_hash, code_hash, created, outcome, checked, \
                       seconds, payload, checksum";

/// An open store.
#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
    path: PathBuf,
}

/// Which rows to visit.
#[derive(Debug)]
pub(crate) struct Select<'a> {
    pub query: &'a Query,
    /// Of any kind where `None`.
    pub kind: Option<&'static str>,
    pub order: Order,
}

/// In what order to visit them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they were made.
    Time,
    /// Only the measured and checked, fastest first.
    Fastest,
}

impl Database {
    /// Opens the store at `path`, creating it and its folders, or bringing it up to the newest schema.
    ///
    /// A file that is refused is left as it is, byte for byte.
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .map_err(|e| fault::unwritable(&path, &format!("its folder {}: {e}", folder.display())))?;
        }
        let found = header::recognise(&path)?;
        let connection = connect(&path, &found)?;
        Ok(Database { connection, path })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a row, in a transaction of its own, and gives its id.
    pub(crate) fn insert(&self, row: &NewRow) -> Result<i64> {
        let k = &row.keys;
        self.connection
            .prepare_cached(
                "INSERT INTO record (kind, kernel, problem, target, machine, ir_hash, code_hash, created, outcome, \
                 checked, seconds, payload, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )
            .and_then(|mut statement| {
                statement.insert(rusqlite::params![
                    k.kind, k.kernel, k.problem, k.target, k.machine, k.ir_hash, k.code_hash, k.created, k.outcome,
                    k.checked, k.seconds, row.payload, row.checksum
                ])
            })
            .map_err(|e| fault::of(&self.path, &e))
    }

    /// Appends rows in one transaction: all of them or none.
    pub(crate) fn insert_all(&self, rows: &[NewRow]) -> Result<()> {
        let failed = |e| fault::of(&self.path, &e);
        let all = self.connection.unchecked_transaction().map_err(failed)?;
        for row in rows {
            self.insert(row)?;
        }
        all.commit().map_err(failed)
    }

    /// Shows the selected rows to `visitor` until it breaks.
    pub(crate) fn visit(
        &self,
        select: &Select,
        mut visitor: impl FnMut(Row) -> ControlFlow<()>,
    ) -> Result<()> {
        let (sql, values) = statement(select);
        let mut walk = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(&values))?;
            while let Some(row) = rows.next()? {
                if visitor(read(row)?).is_break() {
                    break;
                }
            }
            Ok(())
        };
        walk().map_err(|e| fault::of(&self.path, &e))
    }

    /// The row `id`, if there is one.
    pub(crate) fn row(&self, id: i64) -> Result<Option<Row>> {
        let found = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM record WHERE id = ?1"))
            .and_then(|mut statement| statement.query([id])?.next()?.map(read).transpose());
        found.map_err(|e| fault::of(&self.path, &e))
    }
}

fn connect(path: &Path, found: &Found) -> Result<Connection> {
    let failed = |e: rusqlite::Error| fault::of(path, &e);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    // Until the file is known to be sound, closing it must not move the log into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(failed)?;
    connection.pragma_update(None, "cell_size_check", true).map_err(failed)?;

    identify(&connection, path)?;
    if found.log_left || found.bytes <= CHEAP_TO_CHECK {
        inspect(&connection, path)?;
    }
    write_ahead(&connection).map_err(failed)?;
    // FULL: a record that was put survives a power cut. It may have cost seconds to measure; the flush costs milliseconds.
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    schema::migrate(&mut connection, path, MIGRATIONS)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(failed)?;
    Ok(connection)
}

/// Refuses another program's database and a newer schema.
fn identify(connection: &Connection, path: &Path) -> Result<()> {
    let ask = || -> rusqlite::Result<(i64, i64, i64)> {
        // One transaction: another process may be creating the store.
        let now = connection.unchecked_transaction()?;
        let id = now.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let objects = now.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((id, schema::version(&now)?, objects))
    };
    let known = schema::newest(MIGRATIONS);
    match ask().map_err(|e| fault::of(path, &e))? {
        (0, 0, 0) => Ok(()),
        (APPLICATION_ID, version, _) if version > known => Err(fault::newer(path, version, known)),
        (APPLICATION_ID, version, _) if version >= 1 => Ok(()),
        (APPLICATION_ID, version, _) => {
            Err(fault::corrupt(path, &format!("its schema version is {version}")))
        }
        (id, ..) => Err(fault::not_a_store(path, &format!("its application id is {id:#010x}"))),
    }
}

/// Refuses a file whose structure is damaged; rebuilds an index that disagrees with the records, since it is made of them.
///
/// Damage within one row is let through: reading that row reports it.
fn inspect(connection: &Connection, path: &Path) -> Result<()> {
    let ask = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare("PRAGMA integrity_check")?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    let found = ask().map_err(|e| fault::of(path, &e))?;
    let of_a_row = |line: &str| line.contains(" value in record.");
    let of_an_index =
        |line: &str| line.contains(" missing from index ") || line.contains("wrong # of entries in index ");
    if let Some(line) = found.iter().find(|l| *l != "ok" && !of_a_row(l) && !of_an_index(l)) {
        return Err(fault::corrupt(path, "its structure is broken").note(format!("SQLite says: {line}")));
    }
    if found.iter().any(|line| of_an_index(line)) {
        connection.execute_batch("REINDEX").map_err(|e| fault::of(path, &e))?;
    }
    Ok(())
}

/// Turns the write-ahead log on: readers and the writer do not wait for each other, and a torn write is dropped by its checksum.
///
/// A file system without shared memory (some network ones) keeps SQLite's rollback journal, which is as safe and slower.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // Two processes that create a store would wait for each other here, so SQLite fails at once instead of waiting.
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

fn statement(select: &Select) -> (String, Vec<Value>) {
    let q = select.query;
    let mut wanted = Vec::new();
    let mut values = Vec::new();
    let texts = [
        ("kind", select.kind),
        ("kernel", q.kernel.as_deref()),
        ("problem", q.problem.as_deref()),
        ("target", q.target.as_deref()),
        ("machine", q.machine.as_deref()),
        ("ir_hash", q.ir_hash.as_deref()),
        ("code_hash", q.code_hash.as_deref()),
    ];
    for (column, value) in texts {
        if let Some(value) = value {
            values.push(Value::from(value.to_owned()));
            wanted.push(format!("{column} = ?{}", values.len()));
        }
    }
    if let Some(since) = q.since {
        values.push(Value::from(since));
        wanted.push(format!("created >= ?{}", values.len()));
    }
    let order = match select.order {
        Order::Time => "created, id",
        Order::Fastest => {
            wanted.push("checked AND outcome = 'measured'".to_owned());
            "seconds, id"
        }
    };
    let filter = if wanted.is_empty() { String::new() } else { format!("WHERE {} ", wanted.join(" AND ")) };
    (format!("SELECT {COLUMNS} FROM record {filter}ORDER BY {order}"), values)
}

fn read(row: &rusqlite::Row) -> rusqlite::Result<Row> {
    let bytes = |at| match row.get_ref(at) {
        Ok(ValueRef::Text(bytes)) => bytes.to_vec(),
        _ => Vec::new(),
    };
    Ok(Row { id: row.get(0)?, keys: keys(row), payload: bytes(12), checksum: bytes(13) })
}

/// The columns in the order of [`COLUMNS`], where each is of its type.
fn keys(row: &rusqlite::Row) -> Option<Keys> {
    let text = |at: usize| row.get::<_, String>(at).ok();
    Some(Keys {
        kind: text(1)?,
        kernel: text(2)?,
        problem: text(3)?,
        target: text(4)?,
        machine: text(5)?,
        ir_hash: text(6)?,
        code_hash: text(7)?,
        created: row.get(8).ok()?,
        outcome: text(9)?,
        checked: row.get(10).ok()?,
        seconds: row.get(11).ok()?,
    })
}
