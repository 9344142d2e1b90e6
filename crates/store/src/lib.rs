//! Records of checks, benchmarks and tuning, in SQLite.
//!
//! A [`Store`] is one file that any number of processes read and append to at once. Nothing is ever overwritten:
//! a new measurement is a new record, so the history of a kernel is its records in order of time.
//!
//! Each record carries its [`Provenance`] and is protected on its own: the row holds a blake3 checksum of the
//! record, so a flipped bit costs that record and no other. Readers get the whole records *and* the list of those that
//! could not be read ([`Reading`]); a file that is damaged beyond that is refused unchanged.
//!
//! Only the module `sqlite` knows the database; everything else works on rows. A second backend is a second module
//! with the same functions (open, insert, visit rows, read one) over the same ordered SQL in `migrations/`.
//!
//! ```
//! # fn main() -> tilewright_diag::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("tilewright-doc-{}", std::process::id()));
//! # let path = folder.join("store.db");
//! use tilewright_store::{Outcome, Problem, Provenance, Query, Store, TuneRecord};
//!
//! let store = Store::open(path.to_str())?;
//! let problem = Problem::parse("m=512 n=512 k=512 dtype=f32")?;
//! store.put_tune(&TuneRecord {
//!     kernel: "matmul".into(),
//!     problem: problem.clone(),
//!     target: "cpu".into(),
//!     machine: "box".into(),
//!     config: [("bm".to_owned(), 64)].into(),
//!     seconds: Some(1.5e-3),
//!     estimate: None,
//!     outcome: Outcome::Measured,
//!     checked: true,
//!     batch_invariant: None,
//!     provenance: Provenance::default(),
//! })?;
//! let best = store.best(&Query::of("matmul", &problem, "cpu", "box"))?.value;
//! assert_eq!(best.map(|b| b.record.config["bm"]), Some(64));
//! # drop(store);
//! # std::fs::remove_dir_all(folder).ok();
//! # Ok(())
//! # }
//! ```

mod fault;
mod header;
mod location;
mod problem;
mod query;
mod record;
mod row;
mod schema;
mod sqlite;
mod store;

pub use location::{ENVIRONMENT, locate};
pub use problem::Problem;
pub use query::Query;
pub use record::{
    BenchRecord, CheckRecord, Config, Outcome, Peer, Provenance, Record, TuneRecord, Verdict, now,
};
pub use store::{Near, Reading, Store, Stored};
