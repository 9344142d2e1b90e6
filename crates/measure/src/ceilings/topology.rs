//! What the operating system says of the machine: its processor, its caches, its memory.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One level of data cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// Capacity of one instance, in bytes.
    pub bytes: u64,
    /// Hardware threads that share one instance.
    pub shared_by: usize,
}

/// What identifies a machine as far as its ceilings go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The processor's own name.
    pub processor: String,
    /// Threads that this process may run at once.
    pub threads: usize,
    /// Data caches, nearest first.
    pub caches: Vec<Cache>,
    /// True where the caches are assumed because the system does not tell.
    pub caches_assumed: bool,
    /// Instruction set extensions that the ceilings use.
    pub features: Vec<String>,
}

impl Host {
    /// The machine at hand.
    pub fn detect() -> Host {
        let caches = caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
        let caches_assumed = caches.is_empty();
        let assumed = |(level, bytes)| Cache { level, bytes, shared_by: 1 };
        Host {
            processor: processor(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            caches: if caches_assumed {
                [(1, 32 << 10), (2, 1 << 20), (3, 16 << 20)].map(assumed).to_vec()
            } else {
                caches
            },
            caches_assumed,
            features: FEATURES.iter().filter(|f| has_feature(f)).map(|f| (*f).to_owned()).collect(),
        }
    }

    /// One line that names the machine; ceilings are cached under it.
    pub fn key(&self) -> String {
        let caches: Vec<String> = self
            .caches
            .iter()
            .map(|c| format!("L{} {} KiB/{}", c.level, c.bytes >> 10, c.shared_by))
            .collect();
        format!(
            "{}; {} threads; {}; {}",
            self.processor,
            self.threads,
            caches.join(", "),
            self.features.join(" ")
        )
    }

    /// Bytes of `cache` that `threads` threads can use together at most: each sits on an instance of its own while
    /// there are enough.
    pub fn capacity(&self, cache: &Cache, threads: usize) -> u64 {
        let instances = self.threads.div_ceil(cache.shared_by.max(1)).max(1);
        cache.bytes * threads.clamp(1, instances) as u64
    }
}

/// Extensions that decide which loop is measured.
const FEATURES: [&str; 11] = [
    "avx2",
    "fma",
    "avxvnni",
    "avx512f",
    "avx512bf16",
    "avx512fp16",
    "avx512vnni",
    "amx_tile",
    "amx_bf16",
    "amx_int8",
    "neon",
];

/// Whether the processor and the system support an extension, by its name in the kernel's list; false for unknown names.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_feature(name: &str) -> bool {
    match name {
        "avx2" => is_x86_feature_detected!("avx2"),
        "fma" => is_x86_feature_detected!("fma"),
        "avxvnni" => is_x86_feature_detected!("avxvnni"),
        "avx512f" => is_x86_feature_detected!("avx512f"),
        "avx512bf16" => is_x86_feature_detected!("avx512bf16"),
        "avx512fp16" => is_x86_feature_detected!("avx512fp16"),
        "avx512vnni" => is_x86_feature_detected!("avx512vnni"),
        // CPUID leaf 7, EDX: bit 22 is AMX-BF16, 24 AMX-TILE, 25 AMX-INT8 (Intel SDM, volume 2, CPUID). Whether the
        // kernel grants the tile state is asked separately.
        "amx_bf16" => leaf7_edx() >> 22 & 1 == 1,
        "amx_tile" => leaf7_edx() >> 24 & 1 == 1,
        "amx_int8" => leaf7_edx() >> 25 & 1 == 1,
        _ => false,
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn has_feature(name: &str) -> bool {
    cfg!(target_arch = "aarch64") && name == "neon"
}

#[cfg(target_arch = "x86_64")]
fn leaf7_edx() -> u32 {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).edx } else { 0 }
}

/// Bytes of memory that the system says are available; `None` where it does not say.
pub(super) fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

fn processor(cpuinfo: &str) -> String {
    let value = |key: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        })
    };
    match value("model name") {
        // Virtual machines often hide the marketing name; family, model and stepping still tell processors apart.
        Some(name) => match (value("cpu family"), value("model"), value("stepping")) {
            (Some(family), Some(model), Some(stepping)) => {
                format!("{name} (family {family}, model {model}, stepping {stepping})")
            }
            _ => name,
        },
        None => format!("unknown {} processor", std::env::consts::ARCH),
    }
}

/// Reads `index*/{level,type,size,shared_cpu_list}`; an unreadable entry is left out.
fn caches(folder: &Path) -> Vec<Cache> {
    let cache = |index: usize| {
        let field = |name: &str| fs::read_to_string(folder.join(format!("index{index}/{name}"))).ok();
        if field("type")?.trim() == "Instruction" {
            return None;
        }
        Some(Cache {
            level: field("level")?.trim().parse().ok()?,
            bytes: size(field("size")?.trim())?,
            shared_by: list_length(field("shared_cpu_list")?.trim())?,
        })
    };
    let mut caches: Vec<Cache> = (0..16).filter_map(cache).collect();
    caches.sort_by_key(|c| c.level);
    caches.dedup_by_key(|c| c.level);
    caches
}

/// `48K`, `2048K`, `105M`.
fn size(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[split..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    Some(text[..split].parse::<u64>().ok()? << unit).filter(|&bytes| bytes > 0)
}

/// How many processors a list like `0-3,8` names.
fn list_length(text: &str) -> Option<usize> {
    text.split(',').try_fold(0, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(sum + last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists_parse() {
        assert_eq!(size("48K"), Some(48 << 10));
        assert_eq!(size("105M"), Some(105 << 20));
        assert_eq!(size("zero"), None);
        assert_eq!(size("0K"), None);
        assert_eq!(list_length("0"), Some(1));
        assert_eq!(list_length("0-3,8,10-11"), Some(7));
        assert_eq!(list_length("3-1"), None);
    }

    #[test]
    fn a_cache_folder_is_read() {
        let folder = std::env::temp_dir().join(format!("tilewright-caches-{}", std::process::id()));
        let entry = |index: u32, level: &str, kind: &str, size: &str, shared: &str| {
            let folder = folder.join(format!("index{index}"));
            fs::create_dir_all(&folder).expect("folder");
            for (name, value) in
                [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)]
            {
                fs::write(folder.join(name), format!("{value}\n")).expect("field");
            }
        };
        entry(0, "1", "Data", "48K", "0,4");
        entry(1, "1", "Instruction", "32K", "0,4");
        entry(2, "2", "Unified", "2048K", "0,4");
        entry(3, "3", "Unified", "30M", "0-7");
        let found = caches(&folder);
        fs::remove_dir_all(&folder).expect("clean up");
        let facts: Vec<_> = found.iter().map(|c| (c.level, c.bytes, c.shared_by)).collect();
        assert_eq!(facts, [(1, 48 << 10, 2), (2, 2 << 20, 2), (3, 30 << 20, 8)]);
        let host = Host {
            processor: String::new(),
            threads: 8,
            caches: found,
            caches_assumed: false,
            features: Vec::new(),
        };
        assert_eq!(host.capacity(&host.caches[0], 1), 48 << 10);
        assert_eq!(host.capacity(&host.caches[1], 8), 8 << 20);
        assert_eq!(host.capacity(&host.caches[2], 8), 30 << 20);
    }

    #[test]
    fn this_machine_is_described() {
        let host = Host::detect();
        assert!(host.threads >= 1 && !host.processor.is_empty());
        assert!(host.caches.windows(2).all(|w| w[0].level < w[1].level && w[0].bytes <= w[1].bytes));
        assert_eq!(host.key(), Host::detect().key());
    }
}
