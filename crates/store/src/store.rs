//! The store's operations.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;
use tilewright_diag::{Diagnostic, Result};

use crate::fault;
use crate::location;
use crate::problem::Problem;
use crate::query::Query;
use crate::record::{BenchRecord, CheckRecord, Config, Outcome, Record, Sourced, Storable, TuneRecord};
use crate::row::{self, Row};
use crate::sqlite::{Database, Order, Select};

/// An open store. One per thread; any number of threads and processes may have the same file open.
#[derive(Debug)]
pub struct Store {
    database: Database,
}

/// A record and its id in the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stored<T> {
    /// Its id: unique in this store, larger for a later record.
    pub id: i64,
    /// The record, as it was put.
    #[serde(flatten)]
    pub record: T,
}

/// What was read, and what could not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading<T> {
    /// What the whole records say.
    pub value: T,
    /// One diagnostic for each record on the way that could not be read: `store/torn-record`, `store/unreadable-record`, or
    /// `store/corrupt` where the index led to another record.
    pub torn: Vec<Box<Diagnostic>>,
}

/// The record of the nearest problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// How far its problem is, in the caller's measure.
    pub distance: f64,
    /// The fastest checked record of that problem.
    pub stored: Stored<TuneRecord>,
}

impl Store {
    /// Opens the store at `location`, else at `$TILEWRIGHT_STORE`, else in the user's data folder (see
    /// [`locate`](crate::locate)); creates it and its folders where they are missing.
    ///
    /// # Errors
    /// `store/not-a-store`, `store/newer-schema` and `store/corrupt` for a file that is left as it is; `store/unwritable`,
    /// `store/busy` (after 10 s), `store/full` and `store/io` where the system refuses.
    pub fn open(location: Option<&str>) -> Result<Self> {
        Ok(Store { database: Database::open(location::locate(location)?)? })
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// Keeps a tuning record and gives its id. It is on the disk when this returns.
    ///
    /// # Errors
    /// `store/bad-record` for one that could not be read back; those of [`Store::open`] where the file fails.
    pub fn put_tune(&self, record: &TuneRecord) -> Result<i64> {
        self.put(record)
    }

    /// Keeps several tuning records, all or none: one flush to the disk for all of them.
    ///
    /// # Errors
    /// As [`Store::put_tune`].
    pub fn put_tunes(&self, records: &[TuneRecord]) -> Result<()> {
        let rows: Vec<_> = records.iter().map(row::encode).collect::<Result<_>>()?;
        self.database.insert_all(&rows)
    }

    /// Keeps a benchmark and gives its id, as [`Store::put_tune`] does.
    ///
    /// # Errors
    /// As [`Store::put_tune`].
    pub fn put_bench(&self, record: &BenchRecord) -> Result<i64> {
        self.put(record)
    }

    /// Keeps a check and gives its id, as [`Store::put_tune`] does.
    ///
    /// # Errors
    /// As [`Store::put_tune`].
    pub fn put_check(&self, record: &CheckRecord) -> Result<i64> {
        self.put(record)
    }

    /// The tuning records in order of time.
    ///
    /// # Errors
    /// `store/corrupt` and those of the system; a damaged record is no error but listed.
    pub fn tunes(&self, query: &Query) -> Result<Reading<Vec<Stored<TuneRecord>>>> {
        self.all(query)
    }

    /// The benchmarks in order of time.
    ///
    /// # Errors
    /// As [`Store::tunes`].
    pub fn benches(&self, query: &Query) -> Result<Reading<Vec<Stored<BenchRecord>>>> {
        self.all(query)
    }

    /// The checks in order of time.
    ///
    /// # Errors
    /// As [`Store::tunes`].
    pub fn checks(&self, query: &Query) -> Result<Reading<Vec<Stored<CheckRecord>>>> {
        self.all(query)
    }

    /// The records of every kind in order of time. With [`Query::new`], all that the store holds: a check of the whole file.
    ///
    /// # Errors
    /// As [`Store::tunes`].
    pub fn history(&self, query: &Query) -> Result<Reading<Vec<Stored<Record>>>> {
        self.collect(&Select { query, kind: None, order: Order::Time }, any_kind)
    }

    /// The record `id`.
    ///
    /// # Errors
    /// `store/unknown-record`, `store/torn-record`, `store/unreadable-record`, and as [`Store::tunes`].
    pub fn record(&self, id: i64) -> Result<Record> {
        match self.database.row(id)? {
            Some(row) => any_kind(&row),
            None => Err(Diagnostic::request("store/unknown-record", format!("there is no record {id}"))),
        }
    }

    /// The fastest measured *and checked* tuning record that `query` admits. Times of different problems do not compare, so
    /// the query should name the problem, as [`Query::of`] does.
    ///
    /// # Errors
    /// As [`Store::tunes`].
    pub fn best(&self, query: &Query) -> Result<Reading<Option<Stored<TuneRecord>>>> {
        let mut best = None;
        let mut torn = Vec::new();
        self.database.visit(&fastest(query), |row| {
            match self.whole(&row, query, row::decode::<TuneRecord>) {
                Ok(found) => best = found,
                Err(d) => torn.push(d),
            }
            if best.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(Reading { value: best, torn })
    }

    /// The fastest measured and checked tuning record of the problem nearest by `distance`, which gives `None` for a problem
    /// that does not compare. The query's own problem is not looked at. Among problems equally near, the fastest record's.
    ///
    /// # Errors
    /// As [`Store::tunes`].
    pub fn nearest(
        &self,
        query: &Query,
        distance: impl Fn(&Problem) -> Option<f64>,
    ) -> Result<Reading<Option<Near>>> {
        let query = query.clone().any_problem();
        let mut near: Option<Near> = None;
        let mut torn = Vec::new();
        // Fastest first: the first whole record of a problem is its best, and only what is nearer need be decoded.
        self.database.visit(&fastest(&query), |row| {
            let problem = row.keys.as_ref().and_then(|k| Problem::parse(&k.problem).ok());
            let far = problem.as_ref().map(|p| distance(p).filter(|d| !d.is_nan()));
            let nearer = match far {
                Some(Some(far)) => near.as_ref().is_none_or(|n| far < n.distance),
                Some(None) => false,
                // Its key cannot be read: decoding it says why.
                None => true,
            };
            if nearer {
                match (self.whole(&row, &query, row::decode::<TuneRecord>), far.flatten()) {
                    (Ok(Some(stored)), Some(distance)) => near = Some(Near { distance, stored }),
                    (Ok(_), _) => {}
                    (Err(d), _) => torn.push(d),
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(Reading { value: near, torn })
    }

    /// The latest tuning record of each configuration that was tried, so that a resumed search measures only what is new.
    ///
    /// [`Outcome::Pruned`] is no trial: what pruned it may have changed. Whether a record still speaks of the code that a
    /// configuration yields today is the caller's to compare, by its [`Provenance`](crate::Provenance).
    ///
    /// # Errors
    /// As [`Store::tunes`].
    pub fn measured_configs(&self, query: &Query) -> Result<Reading<BTreeMap<Config, Stored<TuneRecord>>>> {
        let Reading { value, torn } = self.tunes(query)?;
        let tried = value.into_iter().filter(|t| !matches!(t.record.outcome, Outcome::Pruned { .. }));
        // In order of time, so that the latest wins.
        Ok(Reading { value: tried.map(|t| (t.record.config.clone(), t)).collect(), torn })
    }

    fn put<R: Storable>(&self, record: &R) -> Result<i64> {
        self.database.insert(&row::encode(record)?)
    }

    fn all<R: Storable>(&self, query: &Query) -> Result<Reading<Vec<Stored<R>>>> {
        self.collect(&Select { query, kind: Some(R::KIND), order: Order::Time }, row::decode)
    }

    fn collect<T: Sourced>(
        &self,
        select: &Select,
        decode: impl Fn(&Row) -> Result<T>,
    ) -> Result<Reading<Vec<Stored<T>>>> {
        let mut reading = Reading { value: Vec::new(), torn: Vec::new() };
        self.database.visit(select, |row| {
            match self.whole(&row, select.query, &decode) {
                Ok(found) => reading.value.extend(found),
                Err(d) => reading.torn.push(d),
            }
            ControlFlow::Continue(())
        })?;
        Ok(reading)
    }

    /// The record in `row`, if the query admits it.
    fn whole<T: Sourced>(
        &self,
        row: &Row,
        query: &Query,
        decode: impl Fn(&Row) -> Result<T>,
    ) -> Result<Option<Stored<T>>> {
        let record = decode(row)?;
        if row.keys.as_ref().is_some_and(|keys| !query.finds(keys)) {
            return Err(fault::corrupt(
                self.path(),
                &format!("its index leads to record {} by another's key", row.id),
            ));
        }
        Ok(query.admits(&record).then_some(Stored { id: row.id, record }))
    }
}

fn fastest(query: &Query) -> Select<'_> {
    Select { query, kind: Some(TuneRecord::KIND), order: Order::Fastest }
}

fn any_kind(row: &Row) -> Result<Record> {
    match row.keys.as_ref().map(|k| k.kind.as_str()) {
        Some(TuneRecord::KIND) => row::decode(row).map(Record::Tune),
        Some(BenchRecord::KIND) => row::decode(row).map(Record::Bench),
        Some(CheckRecord::KIND) => row::decode(row).map(Record::Check),
        _ => Err(row::torn(row.id, "its kind is none that is known")),
    }
}
