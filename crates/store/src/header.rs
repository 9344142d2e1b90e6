//! What a file is by its first bytes and its length.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use tilewright_diag::Result;

use crate::fault;
use crate::schema::APPLICATION_ID;

/// The first bytes of every SQLite file, and the length of its header: <https://sqlite.org/fileformat.html>, section 1.3.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const HEADER: usize = 100;

/// A file that may be a store.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its length; 0 where there is none.
    pub bytes: u64,
    /// Whether a write-ahead log lies beside it: the last process was killed, or another is at work.
    pub log_left: bool,
}

/// Refuses what cannot be a store, without SQLite's help and so without a chance that anything changes: SQLite would
/// take a file cut short before its first page ends for a new one.
pub(crate) fn recognise(path: &Path) -> Result<Found> {
    // The log first: a process that is just creating the store makes it last.
    let log_left = fs::metadata(fault::beside(path, "-wal")).is_ok_and(|m| m.len() > 0);
    let (bytes, header) = read(path)?;
    let found = Found { bytes, log_left };
    if header.is_empty() {
        return match log_left {
            true => Err(fault::corrupt(path, "its log is there and the file itself is gone")),
            false => Ok(found),
        };
    }
    if !MAGIC.starts_with(&header[..header.len().min(MAGIC.len())]) {
        return Err(fault::not_a_store(path, "it does not begin as a SQLite file does"));
    }
    let Some(header) = header.first_chunk::<HEADER>() else {
        return Err(fault::corrupt(path, &format!("it ends after {bytes} bytes")));
    };
    match i64::from(u32::from_be_bytes([header[68], header[69], header[70], header[71]])) {
        // Zero while the first transaction is still in the log.
        0 | APPLICATION_ID => {}
        id => return Err(fault::not_a_store(path, &format!("its application id is {id:#010x}"))),
    }
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65536,
        size => u64::from(size),
    };
    // A log may hold the rest: a kill while it was moved into the file ends in such a file, which SQLite repairs.
    if page == 0 || (bytes % page != 0 && !log_left) {
        return Err(fault::corrupt(
            path,
            &format!("it is {bytes} bytes long, which is no number of whole pages"),
        ));
    }
    Ok(found)
}

/// The file's length and its first bytes, as many of [`HEADER`] as there are; nothing where there is no file.
fn read(path: &Path) -> Result<(u64, Vec<u8>)> {
    match fs::metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok((0, Vec::new())),
        Err(e) => return Err(fault::unwritable(path, &e.to_string())),
        Ok(m) if !m.is_file() => return Err(fault::not_a_store(path, "it is not a file")),
        Ok(_) => {}
    }
    let mut header = Vec::with_capacity(HEADER);
    let length = File::open(path).and_then(|file| {
        let bytes = file.metadata()?.len();
        file.take(HEADER as u64).read_to_end(&mut header)?;
        Ok(bytes)
    });
    length.map(|bytes| (bytes, header)).map_err(|e| fault::unwritable(path, &e.to_string()))
}
