//! Ceilings on disk, so that a machine is measured once in a while and not at every start.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tilewright_diag::{Diagnostic, Result, Span};

use super::{Ceilings, Host};

/// Where ceilings came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The file held them.
    Cached,
    /// Measured now, and why.
    Measured {
        /// The reason, as a clause: `no earlier measurement of this machine`.
        because: String,
    },
}

/// How long a measurement takes at most, apart from its least number of samples.
const BUDGET: Duration = Duration::from_secs(3);

#[derive(Default, Serialize, Deserialize)]
struct File {
    schema: u32,
    hosts: BTreeMap<String, Ceilings>,
}

const SCHEMA: u32 = 1;

/// The ceilings of the machine at hand from the JSON file at `path`, or measured and added to it when the file has none
/// that are younger than `max_age`. Other machines' entries stay. A damaged file is set aside as `<path>.damaged`. What
/// was measured on a busy machine ([`Ceilings::disturbance`]) is returned but not kept.
///
/// # Errors
/// `measure/ceilings-file` when the file cannot be read or written, and those of [`Ceilings::measure`].
pub fn load_or_measure(path: &Path, max_age: Duration) -> Result<(Ceilings, Origin)> {
    load_or(path, max_age, || Ceilings::measure(BUDGET))
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

fn load_or(
    path: &Path,
    max_age: Duration,
    measure: impl FnOnce() -> Result<Ceilings>,
) -> Result<(Ceilings, Origin)> {
    let key = Host::detect().key();
    let (mut file, damage) = read(path)?;
    let because = match (file.hosts.get(&key), damage) {
        (Some(known), _) => {
            let age = now().saturating_sub(known.measured_at);
            if age <= max_age.as_secs() {
                return Ok((known.clone(), Origin::Cached));
            }
            format!("the last measurement is {} days old", age / 86_400)
        }
        (None, Some(damage)) => damage,
        (None, None) => "no earlier measurement of this machine".to_owned(),
    };
    let measured = measure()?;
    if let Some(disturbance) = measured.disturbance() {
        let because = format!("{because}; not kept, since the machine was busy: {disturbance}");
        return Ok((measured, Origin::Measured { because }));
    }
    file.schema = SCHEMA;
    file.hosts.insert(key, measured.clone());
    write(path, &file)?;
    Ok((measured, Origin::Measured { because }))
}

/// The file's content, and what was wrong with it when it had to be set aside.
fn read(path: &Path) -> Result<(File, Option<String>)> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok((File::default(), None)),
        Err(e) if e.kind() == std::io::ErrorKind::InvalidData => String::new(),
        Err(e) => return Err(fault(path, format!("cannot read the ceilings: {e}"))),
    };
    let damage = match serde_json::from_str::<File>(&text) {
        Ok(file) if file.schema == SCHEMA => return Ok((file, None)),
        Ok(file) => format!("has schema {} instead of {SCHEMA}", file.schema),
        Err(e) => format!("is damaged ({e})"),
    };
    let aside = path.with_added_extension("damaged");
    fs::rename(path, &aside)
        .map_err(|e| fault(path, format!("the file {damage} and cannot be set aside: {e}")))?;
    Ok((File::default(), Some(format!("{} {damage}; kept as {}", path.display(), aside.display()))))
}

/// Writes beside the file and renames, so that a reader never sees half of it.
fn write(path: &Path, file: &File) -> Result<()> {
    let failed = |e: std::io::Error| fault(path, format!("cannot write the ceilings: {e}"));
    let text = serde_json::to_string_pretty(file)
        .map_err(|e| fault(path, format!("cannot write the ceilings: {e}")))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let beside = path.with_added_extension(format!("{}.tmp", std::process::id()));
    fs::write(&beside, text).map_err(failed)?;
    fs::rename(&beside, path).map_err(failed)
}

fn fault(path: &Path, message: String) -> Box<Diagnostic> {
    Diagnostic::tool("measure/ceilings-file", message).at(Span::file(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceilings::{Peak, PeakClass, Rate};
    use crate::stats::Interval;

    fn some(measured_at: u64) -> Ceilings {
        Ceilings { host: Host::detect(), measured_at, peaks: Vec::new(), levels: Vec::new() }
    }

    #[test]
    fn measured_once_then_cached_then_aged_and_damage_is_kept() {
        let folder = std::env::temp_dir().join(format!("tilewright-ceilings-{}", std::process::id()));
        let path = folder.join("deep/ceilings.json");
        let month = Duration::from_secs(30 * 86_400);
        let must_not_measure = || -> Result<Ceilings> { panic!("measured again") };

        let (_, origin) = load_or(&path, month, || Ok(some(now()))).expect("measures");
        assert!(matches!(origin, Origin::Measured { because } if because.contains("no earlier")));
        assert_eq!(load_or(&path, month, must_not_measure).expect("cached").1, Origin::Cached);

        let old = File { schema: SCHEMA, hosts: [(Host::detect().key(), some(now() - 90 * 86_400))].into() };
        write(&path, &old).expect("writes");
        let (_, origin) = load_or(&path, month, || Ok(some(now()))).expect("measures");
        assert_eq!(origin, Origin::Measured { because: "the last measurement is 90 days old".into() });

        fs::write(&path, "{\"schema\": 1, \"hos").expect("tears");
        let (_, origin) = load_or(&path, month, || Ok(some(now()))).expect("measures");
        assert!(matches!(origin, Origin::Measured { because } if because.contains("damaged")));
        let kept = fs::read_to_string(folder.join("deep/ceilings.json.damaged")).expect("kept");
        assert!(kept.ends_with("\"hos"));

        let noisy = || {
            let rate =
                Rate { median: 1.0, ci: Interval { lo: 0.5, hi: 1.5, coverage: 0.95 }, best: 1.5, n: 9 };
            let peak = Peak { class: PeakClass::F32, isa: String::new(), one: rate, all: rate };
            Ok(Ceilings { peaks: vec![peak], ..some(now()) })
        };
        fs::remove_file(&path).expect("starts afresh");
        let (_, origin) = load_or(&path, month, noisy).expect("measures");
        assert!(matches!(origin, Origin::Measured { because } if because.contains("busy")));
        assert!(!path.exists());
        fs::remove_dir_all(&folder).expect("clean up");
    }
}
