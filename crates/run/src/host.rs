//! This machine's processor, as the system describes it.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The processor that kernels run on here. What the system does not say is `None` or empty, never guessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The processor's model name.
    pub model: Option<String>,
    /// Logical cores that this process may use.
    pub logical_cores: usize,
    /// The caches that the first core sees, innermost first.
    pub caches: Vec<CacheLevel>,
    /// Bytes in a page of memory.
    pub page_bytes: usize,
    /// Features that kernels can use, by the names that LLVM gives them, sorted.
    pub features: Vec<String>,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheLevel {
    /// 1 is the innermost.
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub kind: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes in a line.
    pub line_bytes: Option<u64>,
    /// Ways of associativity.
    pub ways: Option<u64>,
    /// How many logical cores share it.
    pub shared_by: Option<usize>,
}

impl Host {
    /// Asks the system.
    pub fn detect() -> Host {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Host {
            model: field(&cpuinfo, "model name").map(str::to_string),
            logical_cores: std::thread::available_parallelism().map_or(1, Into::into),
            caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
            page_bytes: rustix::param::page_size(),
            features: features(&cpuinfo),
        }
    }

    /// Whether the processor, and the system under it, offer the feature of this LLVM name.
    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|f| f == feature)
    }

    /// The size in bytes of the data or unified cache of a level.
    pub fn data_cache(&self, level: u32) -> Option<u64> {
        self.caches.iter().find(|c| c.level == level && c.kind != "instruction").map(|c| c.bytes)
    }
}

/// The value of the first `name : value` line.
fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn features(cpuinfo: &str) -> Vec<String> {
    let mut found = detected();
    // Tiles need the system's leave besides the processor's; the kernel lists them where it can give it.
    let listed = field(cpuinfo, "flags").unwrap_or_default();
    let amx = [
        ("amx_tile", "amx-tile"),
        ("amx_bf16", "amx-bf16"),
        ("amx_int8", "amx-int8"),
        ("amx_fp16", "amx-fp16"),
    ];
    found.extend(amx.iter().filter(|(flag, _)| listed.split(' ').any(|f| f == *flag)).map(|(_, name)| *name));
    found.sort_unstable();
    found.into_iter().map(str::to_string).collect()
}

#[cfg(target_arch = "x86_64")]
fn detected() -> Vec<&'static str> {
    macro_rules! detect {
        ($($feature:tt)*) => {
            [$(($feature, std::is_x86_feature_detected!($feature))),*]
        };
    }
    let all = detect!(
        "sse4.1" "avx" "avx2" "fma" "f16c" "avxvnni" "avx512f" "avx512bw" "avx512vl" "avx512dq" "avx512bf16"
        "avx512vnni" "avx512fp16" "avx512vbmi"
    );
    all.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> Vec<&'static str> {
    Vec::new()
}

fn caches(folder: &Path) -> Vec<CacheLevel> {
    let mut found: Vec<CacheLevel> =
        (0..16).map_while(|n| cache(&folder.join(format!("index{n}")))).collect();
    found.sort_by(|a, b| (a.level, &a.kind).cmp(&(b.level, &b.kind)));
    found
}

fn cache(folder: &Path) -> Option<CacheLevel> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok().map(|s| s.trim().to_string());
    Some(CacheLevel {
        level: read("level")?.parse().ok()?,
        kind: read("type")?.to_lowercase(),
        bytes: parse_size(&read("size")?)?,
        line_bytes: read("coherency_line_size").and_then(|s| s.parse().ok()),
        ways: read("ways_of_associativity").and_then(|s| s.parse().ok()),
        shared_by: read("shared_cpu_list").and_then(|s| count_list(&s)),
    })
}

/// `48K` is 49152.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (
            digits,
            if text.ends_with('K') {
                10
            } else if text.ends_with('M') {
                20
            } else {
                30
            },
        ),
        None => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_shl(shift)
}

/// How many numbers a list such as `0-3,8` names.
fn count_list(text: &str) -> Option<usize> {
    text.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described_and_survives_json() {
        let host = Host::detect();
        assert!(host.logical_cores >= 1 && host.page_bytes >= 4096);
        assert!(host.features.is_sorted());
        let text = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&text).unwrap(), host);
    }

    #[test]
    fn the_systems_spellings_are_read() {
        assert_eq!(
            (parse_size("48K"), parse_size("2M"), parse_size("64"), parse_size("?")),
            (Some(49152), Some(2 << 20), Some(64), None)
        );
        assert_eq!((count_list("0-3,8"), count_list("5"), count_list("x")), (Some(5), Some(1), None));
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU: fast\nflags\t\t: fpu amx_tile amx_int8\n";
        assert_eq!(field(cpuinfo, "model name"), Some("Some CPU: fast"));
        let found = features(cpuinfo);
        assert!(found.contains(&"amx-tile".to_string()) && !found.contains(&"amx-bf16".to_string()));
    }

    #[test]
    fn caches_are_read_from_their_folders() {
        let folder = tempfile::tempdir().unwrap();
        for (index, level, kind, size) in
            [(0, "1", "Data", "48K"), (1, "1", "Instruction", "32K"), (2, "2", "Unified", "2048K")]
        {
            let at = folder.path().join(format!("index{index}"));
            fs::create_dir(&at).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", "0-1")]
            {
                fs::write(at.join(name), format!("{text}\n")).unwrap();
            }
        }
        let host = Host { caches: caches(folder.path()), ..Host::detect() };
        assert_eq!(host.caches.len(), 3);
        assert_eq!(
            (host.data_cache(1), host.data_cache(2), host.data_cache(3)),
            (Some(49152), Some(2 << 20), None)
        );
        assert_eq!(host.caches[2].shared_by, Some(2));
    }
}
