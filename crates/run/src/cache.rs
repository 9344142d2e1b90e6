//! The content-addressed cache of compiled objects, in the user's cache folder.
//!
//! An entry is one file named by its key. Its payload is followed by a trailer (length, hash, magic), which a loader
//! of ELF files ignores and [`Cache::get`] verifies: a truncated, altered or misplaced file is named, deleted and
//! compiled anew, never trusted. Entries are written aside and renamed into place, so any number of processes may
//! share the folder; the last of two that write the same key wins, with the same content.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tilewright_diag::{Diagnostic, Result, Span};

/// The environment variable that names the cache folder.
pub const CACHE_ENV: &str = "TILEWRIGHT_CACHE";

/// The environment variable that bounds the cache, in bytes.
pub const CACHE_BYTES_ENV: &str = "TILEWRIGHT_CACHE_BYTES";

/// The bound where none is set: 1 GiB.
pub const DEFAULT_CACHE_BYTES: u64 = 1 << 30;

const MAGIC: [u8; 8] = *b"TWOBJ\0\0\x01";
const TRAILER: usize = 8 + 32 + MAGIC.len();
const SCRATCH_PREFIX: &str = ".tmp-";
/// No compile lives this long, so scratch this old belongs to a process that was killed.
const STALE: Duration = Duration::from_secs(3600);

/// Names an entry by everything its content depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of a sequence of parts; where one part ends and the next begins counts.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Key(hasher.finalize())
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

/// Receives one line about each thing a user should know of: a damaged entry, a failed sweep.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// A cache folder with a size bound.
pub struct Cache {
    folder: PathBuf,
    max_bytes: u64,
    log: Log,
    /// Bytes written since the folder was last measured; starts full, so that the first write measures.
    unswept: AtomicU64,
}

impl Cache {
    /// The cache that the environment asks for: `TILEWRIGHT_CACHE`, else `$XDG_CACHE_HOME/tilewright`, else
    /// `~/.cache/tilewright`; bounded by `TILEWRIGHT_CACHE_BYTES`, else by 1 GiB. Logs to standard error.
    ///
    /// Errors: `run/no-cache-folder`, `run/bad-cache-bytes`, and those of [`Cache::open`].
    pub fn from_env() -> Result<Cache> {
        let var = |name| std::env::var_os(name).filter(|v| !v.is_empty());
        let folder = var(CACHE_ENV)
            .map(PathBuf::from)
            .or_else(|| {
                // The XDG specification has relative paths ignored.
                let xdg = var("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
                xdg.or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
                    .map(|p| p.join("tilewright"))
            })
            .ok_or_else(|| {
                Diagnostic::tool("run/no-cache-folder", "there is no home folder to keep compiled kernels in")
                    .help(format!("set {CACHE_ENV} to a folder"))
            })?;
        let max_bytes = match var(CACHE_BYTES_ENV) {
            None => DEFAULT_CACHE_BYTES,
            Some(text) => text.to_str().and_then(|t| t.trim().parse().ok()).ok_or_else(|| {
                Diagnostic::request(
                    "run/bad-cache-bytes",
                    format!("{CACHE_BYTES_ENV} is `{}`", text.to_string_lossy()),
                )
                .rule("it is a whole number of bytes")
                .help(format!("{CACHE_BYTES_ENV}={DEFAULT_CACHE_BYTES}"))
            })?,
        };
        Cache::open(folder, max_bytes)
    }

    /// A cache in `folder`, created where absent (readable by its owner alone: code is loaded from it), of at most
    /// about `max_bytes`. The bound is enforced when entries are written; the entry just written always stays.
    ///
    /// Errors: `run/cache-unwritable` (class tool).
    pub fn open(folder: impl Into<PathBuf>, max_bytes: u64) -> Result<Cache> {
        let folder = folder.into();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|e| unwritable(&folder, &e))?;
        // A loader searches for a bare file name; an absolute path is opened as it is.
        let folder = folder.canonicalize().map_err(|e| unwritable(&folder, &e))?;
        let log: Log = Arc::new(|line| eprintln!("{line}"));
        Ok(Cache { folder, max_bytes, log, unswept: AtomicU64::new(u64::MAX) })
    }

    /// Sends log lines to `log`.
    pub fn with_log(mut self, log: Log) -> Cache {
        self.log = log;
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that holds, or would hold, the entry of `key`.
    pub fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{key}.so"))
    }

    /// The verified payload of an entry, which becomes the most recently used. A damaged entry is logged by name and
    /// deleted, and counts as absent.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        // Reading what is no file, such as a pipe, might never end.
        if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            (self.log)(&format!("cache: `{}` is no file; compiling again", path.display()));
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
            return None;
        }
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return None,
            Err(e) => {
                (self.log)(&format!("cache: cannot read `{}` ({e}); compiling again", path.display()));
                return None;
            }
        };
        match verified_length(key, &bytes) {
            Ok(length) => {
                bytes.truncate(length);
                // Losing the touch only makes the entry an earlier victim.
                let _ = File::open(&path).and_then(|f| f.set_modified(SystemTime::now()));
                Some(bytes)
            }
            Err(damage) => {
                (self.log)(&format!("cache: `{}` is damaged ({damage}); compiling again", path.display()));
                let _ = fs::remove_file(&path);
                None
            }
        }
    }

    /// Deletes an entry, where it is.
    pub fn remove(&self, key: Key) {
        // An entry that cannot be deleted is one that another process deleted.
        let _ = fs::remove_file(self.path(key));
    }

    /// Writes an entry and returns its path; then evicts the least recently used entries beyond the bound.
    ///
    /// Errors: `run/cache-unwritable` (class tool).
    pub fn put(&self, key: Key, payload: &[u8]) -> Result<PathBuf> {
        let path = self.path(key);
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::Builder::new().prefix(SCRATCH_PREFIX).tempfile_in(&self.folder)?;
            file.write_all(payload)?;
            file.write_all(&trailer(key, payload))?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(|e| unwritable(&path, &e))?;
        self.account((payload.len() + TRAILER) as u64, &path);
        Ok(path)
    }

    /// Keeps `text` beside the entries, for a user to look at; it ages like an entry.
    pub fn keep(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|e| unwritable(&path, &e))?;
        self.account(text.len() as u64, &path);
        Ok(path)
    }

    /// A folder for a compile's intermediate files, deleted when dropped.
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        tempfile::Builder::new()
            .prefix(SCRATCH_PREFIX)
            .tempdir_in(&self.folder)
            .map_err(|e| unwritable(&self.folder, &e))
    }

    /// Counts what was written and measures the folder only once that could matter: listing it costs more than a write.
    fn account(&self, bytes: u64, just_written: &Path) {
        let before = self.unswept.load(Ordering::Relaxed);
        let unswept = before.saturating_add(bytes);
        if unswept < self.max_bytes / 64 {
            self.unswept.store(unswept, Ordering::Relaxed);
            return;
        }
        self.unswept.store(0, Ordering::Relaxed);
        if let Err(e) = self.sweep(just_written) {
            (self.log)(&format!("cache: cannot bound `{}`: {e}", self.folder.display()));
        }
    }

    /// Deletes the least recently used files until nine tenths of the bound are left. Another process may sweep at the
    /// same time: a file that has vanished is a file deleted.
    fn sweep(&self, keep: &Path) -> std::io::Result<()> {
        let now = SystemTime::now();
        let mut files = Vec::new();
        for item in fs::read_dir(&self.folder)? {
            let path = item?.path();
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let Ok(used) = meta.modified() else { continue };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(SCRATCH_PREFIX) {
                if now.duration_since(used).is_ok_and(|age| age > STALE) {
                    let _ = if meta.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                }
            } else if meta.is_file() {
                files.push((used, meta.len(), path));
            }
        }
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        if total <= self.max_bytes {
            return Ok(());
        }
        files.sort();
        for (_, bytes, path) in files.iter().filter(|(_, _, path)| path != keep) {
            if total <= self.max_bytes / 10 * 9 {
                break;
            }
            match fs::remove_file(path) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
            total -= bytes;
        }
        Ok(())
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Box<Diagnostic> {
    let d = Diagnostic::tool("run/cache-unwritable", format!("cannot keep compiled kernels: {error}"))
        .at(Span::file(path.display().to_string()));
    if path.extension().is_some() && path.is_dir() {
        return d.help("remove the folder that stands there: a compiled kernel belongs in its place");
    }
    d.help(format!("set {CACHE_ENV} to a folder that can be written and has room"))
}

/// The key is hashed with the payload, so that an entry under another's name is found out.
fn hash(key: Key, payload: &[u8]) -> blake3::Hash {
    blake3::Hasher::new_keyed(key.0.as_bytes()).update(payload).finalize()
}

fn trailer(key: Key, payload: &[u8]) -> [u8; TRAILER] {
    let mut trailer = [0; TRAILER];
    trailer[..8].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    trailer[8..40].copy_from_slice(hash(key, payload).as_bytes());
    trailer[40..].copy_from_slice(&MAGIC);
    trailer
}

/// The payload's length, or what is wrong.
fn verified_length(key: Key, bytes: &[u8]) -> std::result::Result<usize, &'static str> {
    let Some((payload, found)) = bytes.split_last_chunk::<TRAILER>() else { return Err("truncated") };
    if found[40..] != MAGIC {
        return Err("truncated, or of another format");
    }
    if found[..8] != (payload.len() as u64).to_le_bytes() {
        return Err("of another length than it states");
    }
    if *found != trailer(key, payload) {
        return Err("altered");
    }
    Ok(payload.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn logged(max_bytes: u64) -> (tempfile::TempDir, Cache, Arc<Mutex<Vec<String>>>) {
        let folder = tempfile::tempdir().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = lines.clone();
        let cache = Cache::open(folder.path().join("cache"), max_bytes).unwrap();
        let cache = cache.with_log(Arc::new(move |line| sink.lock().unwrap().push(line.to_string())));
        (folder, cache, lines)
    }

    fn key(n: u32) -> Key {
        Key::of([&n.to_le_bytes()[..]])
    }

    #[test]
    fn an_entry_comes_back() {
        let (_folder, cache, lines) = logged(1 << 20);
        assert_eq!(cache.get(key(1)), None);
        cache.put(key(1), b"payload").unwrap();
        assert_eq!(cache.get(key(1)).as_deref(), Some(&b"payload"[..]));
        assert!(lines.lock().unwrap().is_empty());
        assert_ne!(Key::of([&b"ab"[..], b"c"]), Key::of([&b"a"[..], b"bc"]));
    }

    #[test]
    fn every_truncation_and_every_flipped_byte_is_found() {
        let (_folder, cache, lines) = logged(1 << 20);
        let path = cache.put(key(1), b"some payload").unwrap();
        let whole = fs::read(&path).unwrap();
        let mut damaged: Vec<Vec<u8>> = (0..whole.len()).map(|n| whole[..n].to_vec()).collect();
        damaged.extend((0..whole.len()).map(|n| {
            let mut bytes = whole.clone();
            bytes[n] ^= 0x10;
            bytes
        }));
        for (n, bytes) in damaged.iter().enumerate() {
            fs::write(&path, bytes).unwrap();
            assert_eq!(cache.get(key(1)), None, "damage {n}");
            assert!(!path.exists());
            assert!(lines.lock().unwrap()[n].contains(&*path.to_string_lossy()));
        }
        fs::write(cache.path(key(2)), &whole).unwrap();
        assert_eq!(cache.get(key(2)), None, "an entry under another's name");
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let (_folder, cache, _) = logged(10_000);
        let age = |n: u32, seconds: u64| {
            let then = SystemTime::now() - Duration::from_secs(seconds);
            File::options().append(true).open(cache.path(key(n))).unwrap().set_modified(then).unwrap();
        };
        for n in 0..9 {
            cache.put(key(n), &[0; 1000]).unwrap();
            age(n, 1000 - u64::from(n));
        }
        assert!(cache.get(key(0)).is_some(), "using the oldest makes it the newest");
        cache.put(key(9), &[0; 1000]).unwrap();
        let left: Vec<u32> = (0..10).filter(|&n| cache.path(key(n)).exists()).collect();
        assert!(left.contains(&0) && left.contains(&9) && !left.contains(&1), "{left:?}");
        let bytes: u64 = left.iter().map(|&n| fs::metadata(cache.path(key(n))).unwrap().len()).sum();
        assert!(bytes <= 10_000);
        cache.put(key(10), &[0; 20_000]).unwrap();
        assert!(cache.get(key(10)).is_some(), "the entry just written stays, whatever its size");
        assert!(!cache.path(key(9)).exists());
    }

    #[test]
    fn scratch_left_by_a_killed_process_is_swept() {
        let (_folder, cache, _) = logged(1000);
        let stale = cache.scratch().unwrap().keep();
        fs::write(stale.join("k.o"), b"x").unwrap();
        let live = cache.scratch().unwrap();
        File::open(&stale).unwrap().set_modified(SystemTime::now() - STALE * 2).unwrap();
        cache.put(key(1), b"payload").unwrap();
        assert!(!stale.exists() && live.path().exists());
    }

    #[test]
    fn a_folder_that_cannot_be_is_a_tool_diagnostic() {
        let d = Cache::open("/proc/none/cache", 1).err().unwrap();
        assert_eq!((d.code, d.class.exit_status()), ("run/cache-unwritable", 3));
    }
}
