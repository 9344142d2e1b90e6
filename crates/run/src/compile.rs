//! LLVM IR text to a shared object, by clang as a child process, through the [`Cache`].
//!
//! One clang process compiles to an object file (with one job the driver compiles in its own process) and the system's
//! `ld` makes it shared. Against `clang -shared`, which starts a second clang, the driver's start and C's start files
//! are saved: 45 ms instead of 110 ms for a small kernel, of which clang's own start takes 32 ms.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tilewright_diag::{Diagnostic, Result};

use crate::cache::{Cache, Key};
use crate::child::{ChildOutput, ChildStatus, run_child};
use crate::module::ABI_VERSION;
use crate::tools::{self, Clang};

/// No compile may take longer.
pub const COMPILE_LIMIT: Duration = Duration::from_secs(60);

/// Come before the caller's flags, which therefore win.
const FLAGS: [&str; 4] = ["-x", "ir", "-O2", "-fPIC"];
/// Text without a triple, or with a spelling of it that is not clang's own, is compiled for clang's default.
const QUIET: &str = "-Wno-override-module";

/// A compiled shared object.
#[derive(Clone)]
pub struct Object {
    /// The file, in the cache; another process may evict it, which [`Object::restore`] mends.
    pub path: PathBuf,
    /// Whether it was found in the cache.
    pub cached: bool,
    /// Seconds it took to find or to compile.
    pub seconds: f64,
    /// Its key in the cache.
    pub key: Key,
    bytes: Arc<[u8]>,
    cache: Arc<Cache>,
}

impl Object {
    /// Writes the object back to the cache, where it has been evicted since.
    pub fn restore(&self) -> Result<()> {
        self.cache.put(self.key, &self.bytes).map(drop)
    }

    /// Deletes it from the cache: it is no object, and the next compile shall make one.
    pub fn discard(&self) {
        self.cache.remove(self.key);
    }

    /// The bytes of the ELF file, as they were verified.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object")
            .field("path", &self.path)
            .field("cached", &self.cached)
            .field("seconds", &self.seconds)
            .finish_non_exhaustive()
    }
}

/// Compiles `text` with the compiler and the cache that the environment asks for at the first call.
///
/// `flags` are clang's (`-march=sapphirerapids`, `-O1`) and come after `-O2 -fPIC`. Errors (class tool): those of
/// [`tools::clang`] and [`Cache::from_env`]; `run/compile-failed` and `run/compile-timeout` carry clang's own words, the
/// command that repeats them and the path of a kept copy of `text`.
pub fn compile_llvm(text: &str, flags: &[String]) -> Result<Object> {
    Compiler::shared()?.compile(text, flags)
}

/// The assembly that [`compile_llvm`] would assemble; errors as there.
pub fn assembly(text: &str, flags: &[String]) -> Result<String> {
    Compiler::shared()?.assembly(text, flags)
}

/// A clang and a cache.
pub struct Compiler {
    clang: Clang,
    linker: Option<PathBuf>,
    cache: Arc<Cache>,
}

impl Compiler {
    /// A compiler of these parts.
    pub fn new(clang: Clang, cache: Cache) -> Compiler {
        Compiler { clang, linker: tools::linker(), cache: Arc::new(cache) }
    }

    /// The compiler that the environment asked for at the first call in this process.
    pub fn shared() -> Result<&'static Compiler> {
        static SHARED: OnceLock<Result<Compiler>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| Ok(Compiler::new(tools::clang()?, Cache::from_env()?)));
        shared.as_ref().map_err(Clone::clone)
    }

    /// The clang in use.
    pub fn clang(&self) -> &Clang {
        &self.clang
    }

    /// The cache in use.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// As [`compile_llvm`].
    pub fn compile(&self, text: &str, flags: &[String]) -> Result<Object> {
        let start = Instant::now();
        let key = self.key(text, flags);
        let (bytes, cached) = match self.cache.get(key) {
            Some(bytes) => (bytes, true),
            None => {
                let bytes = self.build(key, text, flags)?;
                self.cache.put(key, &bytes)?;
                (bytes, false)
            }
        };
        Ok(Object {
            path: self.cache.path(key),
            cached,
            seconds: start.elapsed().as_secs_f64(),
            key,
            bytes: bytes.into(),
            cache: self.cache.clone(),
        })
    }

    /// As [`assembly`].
    pub fn assembly(&self, text: &str, flags: &[String]) -> Result<String> {
        let output = self.run_clang(self.key(text, flags), text, flags, &["-S"], Path::new("-"))?;
        Ok(output.stdout_text())
    }

    fn key(&self, text: &str, flags: &[String]) -> Key {
        let abi = ABI_VERSION.to_le_bytes();
        let parts = [text.as_bytes(), self.clang.version.as_bytes(), &abi];
        Key::of(parts.into_iter().chain(flags.iter().map(String::as_bytes)))
    }

    fn build(&self, key: Key, text: &str, flags: &[String]) -> Result<Vec<u8>> {
        let scratch = self.cache.scratch()?;
        let (object, shared) = (scratch.path().join("kernel.o"), scratch.path().join("kernel.so"));
        self.run_clang(key, text, flags, &["-c"], &object)?;
        self.link(&object, &shared)?;
        std::fs::read(&shared).map_err(|e| {
            Diagnostic::tool("run/link-failed", format!("cannot read `{}`: {e}", shared.display()))
        })
    }

    fn run_clang(
        &self,
        key: Key,
        text: &str,
        flags: &[String],
        stage: &[&str],
        output: &Path,
    ) -> Result<ChildOutput> {
        let mut command = Command::new(&self.clang.path);
        command.args(FLAGS).arg(QUIET).args(flags).args(stage).arg("-o").arg(output).arg("-");
        let result = run_child(command, text.as_bytes(), COMPILE_LIMIT)?;
        if result.status == ChildStatus::Exited(0) {
            return Ok(result);
        }
        let kept = self.cache.keep(&format!("{key}.ll"), text)?;
        let mut repeat = vec![self.clang.path.to_string_lossy().into_owned()];
        repeat.extend(FLAGS.iter().chain([&QUIET]).map(ToString::to_string));
        repeat.extend(flags.iter().cloned());
        repeat.extend(stage.iter().chain(&["-o", "/dev/null"]).map(ToString::to_string));
        repeat.push(kept.to_string_lossy().into_owned());
        let (code, message) = match &result.status {
            ChildStatus::TimedOut => {
                ("run/compile-timeout", format!("clang was killed after {} s", COMPILE_LIMIT.as_secs()))
            }
            status => ("run/compile-failed", format!("clang did not compile the emitted code: {status}")),
        };
        Err(Diagnostic::tool(code, message)
            .note(result.stderr_text())
            .note(format!("to repeat: {}", shell_line(&repeat)))
            .note(format!("the emitted code: {}", kept.display())))
    }

    fn link(&self, object: &Path, shared: &Path) -> Result<()> {
        let mut command = match &self.linker {
            Some(ld) => Command::new(ld),
            None => {
                let mut clang = Command::new(&self.clang.path);
                clang.arg("-nostdlib");
                clang
            }
        };
        // What the code calls (memset, memcpy, fmaf where there is no FMA) is found in this process when it is loaded.
        command.arg("-shared").arg("-o").arg(shared).arg(object);
        let result = run_child(command, &[], COMPILE_LIMIT)?;
        if result.status == ChildStatus::Exited(0) {
            return Ok(());
        }
        let linker = self.linker.as_deref().unwrap_or(&self.clang.path).display();
        Err(Diagnostic::tool("run/link-failed", format!("`{linker}` did not link: {}", result.status))
            .note(result.stderr_text()))
    }
}

/// A line that a shell splits into `words`.
fn shell_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::shell_line;

    #[test]
    fn a_repeated_command_survives_a_shell() {
        let words = ["clang-19", "-mattr=+avx2,-fma", "a b", "it's", ""].map(String::from);
        assert_eq!(shell_line(&words), r"clang-19 -mattr=+avx2,-fma 'a b' 'it'\''s' ''");
    }
}
