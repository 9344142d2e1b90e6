//! A record as a row: the columns it is found by, its JSON and the checksum of that.

use tilewright_diag::{Diagnostic, Result};

use crate::record::Storable;

/// The columns that lookups ask for. Each is derived from the record, so a reader can tell when one was damaged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Keys {
    pub kind: String,
    pub kernel: String,
    pub problem: String,
    pub target: String,
    pub machine: String,
    pub ir_hash: String,
    pub code_hash: String,
    pub created: i64,
    pub outcome: String,
    pub checked: bool,
    pub seconds: Option<f64>,
}

/// A row to be written.
#[derive(Debug)]
pub(crate) struct NewRow {
    pub keys: Keys,
    pub payload: String,
    pub checksum: String,
}

/// A row as read: of any content, since the file may be damaged.
#[derive(Debug)]
pub(crate) struct Row {
    pub id: i64,
    /// `None` where a column is not of its type.
    pub keys: Option<Keys>,
    pub payload: Vec<u8>,
    pub checksum: Vec<u8>,
}

/// The row of `record`.
///
/// # Errors
/// `store/bad-record` when a number is not finite or out of range, or a name is missing: such a record could not be read back
/// as it was, or would win every comparison.
pub(crate) fn encode<R: Storable>(record: &R) -> Result<NewRow> {
    let keys = record.keys();
    let nameless = [("kernel", &keys.kernel), ("target", &keys.target), ("machine", &keys.machine)]
        .into_iter()
        .find(|(_, value)| value.is_empty())
        .map(|(name, _)| format!("its {name} is empty"));
    let senseless = record
        .numbers()
        .into_iter()
        .find(|(_, x, above_zero)| !x.is_finite() || *x < 0.0 || (*above_zero && *x == 0.0))
        .map(|(name, x, _)| format!("{name} is {x}"));
    if let Some(why) = nameless.or(senseless).or_else(|| record.fault()) {
        return Err(refused(&keys, &why));
    }
    let payload = serde_json::to_string(record).map_err(|e| refused(&keys, &e.to_string()))?;
    let checksum = checksum(payload.as_bytes());
    Ok(NewRow { keys, payload, checksum })
}

/// The record in `row`.
///
/// # Errors
/// `store/torn-record` when the row is not what was written, `store/unreadable-record` when it is but this version cannot
/// understand it. Both name the row.
pub(crate) fn decode<R: Storable>(row: &Row) -> Result<R> {
    if checksum(&row.payload).as_bytes() != row.checksum {
        return Err(torn(row.id, "its checksum does not match"));
    }
    let record: R = serde_json::from_slice(&row.payload).map_err(|e| {
        Diagnostic::request(
            "store/unreadable-record",
            format!("{} record {} is whole, but: {e}", R::KIND, row.id),
        )
        .rule("a record holds what this version's records hold")
        .help("a newer Tilewright may have written it; every other record can be read")
    })?;
    if row.keys.as_ref() != Some(&record.keys()) {
        return Err(torn(row.id, "its columns do not match its content"));
    }
    Ok(record)
}

/// A row that is not what was written.
pub(crate) fn torn(id: i64, why: &str) -> Box<Diagnostic> {
    Diagnostic::request("store/torn-record", format!("record {id} is damaged: {why}"))
        .rule("a record is read as it was written, or not at all")
        .help("every other record can be read; measure again what this one held")
}

fn checksum(payload: &[u8]) -> String {
    blake3::hash(payload).to_hex().to_string()
}

fn refused(keys: &Keys, why: &str) -> Box<Diagnostic> {
    let Keys { kind, kernel, problem, .. } = keys;
    Diagnostic::request(
        "store/bad-record",
        format!("the {kind} record of {kernel} {problem} was not kept: {why}"),
    )
    .rule("a record's numbers are finite and not below zero, its times above zero, its names not empty")
}
