//! Compiles emitted text with clang and loads it, for tests and examples of the leaf emitters.
#![allow(unsafe_code, reason = "calls compiled code")]
#![allow(dead_code, reason = "each user takes a part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a fault of the run ends it")]

pub mod accuracy;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use libloading::Library;
use tilewright_target_cpu::features::CpuFeatures;

/// Every level and extension that the emitters tell apart and this machine runs.
pub fn levels() -> Vec<CpuFeatures> {
    let all = ["baseline", "avx2", "avx2,vnni", "avx512", "avx512,bf16,vnni"];
    let host = CpuFeatures::detect();
    all.iter().map(|name| CpuFeatures::parse(name).unwrap()).filter(|f| f.supported_by(host)).collect()
}

/// The first clang found, or `None` with a word on standard error.
pub fn clang() -> Option<&'static str> {
    let found = ["clang", "clang-20", "clang-19", "clang-18", "clang-17"].into_iter().find(|name| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    });
    if found.is_none() {
        eprintln!("skipped: no clang to compile the emitted text");
    }
    found
}

/// Compiles `text` for `features` and loads it; panics with clang's words where it refuses.
pub fn load(clang: &str, text: &str, features: CpuFeatures) -> Library {
    let (source, object) = (scratch("ll"), scratch("so"));
    std::fs::write(&source, text).unwrap();
    let output = Command::new(clang)
        .args(["-x", "ir", "-O2", "-fPIC", "-shared", "-Wno-override-module"])
        .args(features.clang_flags())
        .arg("-o")
        .arg(&object)
        .arg(&source)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "clang refused {}:\n{}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    if std::env::var_os("LEAF_KEEP").is_none() {
        std::fs::remove_file(&source).unwrap();
    } else {
        eprintln!("{features}: {}", source.display());
    }
    // SAFETY: the object was made from our text and has no initialisers.
    let library = unsafe { Library::new(&object) }.unwrap();
    std::fs::remove_file(&object).unwrap();
    library
}

/// Bytes at a multiple of 64, zeroed, with a guard page's worth of slack on neither side.
pub struct Aligned {
    words: Vec<[u64; 8]>,
    /// Usable bytes.
    pub len: usize,
}

impl Aligned {
    pub fn new(len: usize) -> Self {
        // `Vec<[u64; 8]>` is aligned to 8 only: keep one more block to move the start.
        Aligned { words: vec![[0; 8]; len.div_ceil(64) + 1], len }
    }

    pub fn of(bytes: &[u8]) -> Self {
        let mut new = Self::new(bytes.len());
        new.bytes_mut().copy_from_slice(bytes);
        new
    }

    fn start(&self) -> usize {
        let address = self.words.as_ptr() as usize;
        address.next_multiple_of(64) - address
    }

    pub fn ptr(&self) -> *const u8 {
        self.bytes().as_ptr()
    }

    pub fn bytes(&self) -> &[u8] {
        let start = self.start();
        // SAFETY: u64 has no padding and `start + len` lies within the vector.
        let all =
            unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>(), self.words.len() * 64) };
        &all[start..start + self.len]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let (start, len) = (self.start(), self.len);
        // SAFETY: as above, and `self` is borrowed mutably.
        let all = unsafe {
            std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast::<u8>(), self.words.len() * 64)
        };
        &mut all[start..start + len]
    }
}

fn scratch(extension: &str) -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tilewright-leaf-{}-{number}.{extension}", std::process::id()))
}

/// The exported twin of an internal dot function.
pub const DOT_ARGS: &str = "ptr %a, i64 %a_ts, i64 %a_rs, i64 %a_ks, ptr %b, i64 %b_ps, i64 %k, ptr %c, i64 %c_rs, i64 %m, i64 %n, i1 %zero";
/// The exported twin of an internal packing function.
pub const PACK_ARGS: &str = "ptr %source, i64 %row_stride, i64 %k, i64 %width, i64 %k_valid, i64 %width_valid, ptr %panels, i64 %panel_stride";

/// A dot function as compiled.
pub type Dot =
    unsafe extern "C" fn(*const u8, i64, i64, i64, *const u8, i64, i64, *mut u8, i64, i64, i64, bool);
/// A packing function as compiled.
pub type Pack = unsafe extern "C" fn(*const u8, i64, i64, i64, i64, i64, *mut u8, i64);

/// An exported function `name` that calls `internal` with the same arguments.
pub fn export(name: &str, internal: &str, args: &str) -> String {
    format!("define void @{name}({args}) {{\n  call void {internal}({args})\n  ret void\n}}\n")
}
