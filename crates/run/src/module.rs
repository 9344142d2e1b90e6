//! Compiled objects in this process, and the binary interface of their entries.
#![allow(unsafe_code, reason = "loads compiled code and takes the addresses of its functions")]

use std::sync::{Arc, OnceLock};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use tilewright_diag::{Diagnostic, Result, Span};

use crate::compile::Object;

/// Changes with [`EntryFn`] or with what is promised of its arguments; part of an object's key in the cache.
pub const ABI_VERSION: u32 = 1;

/// The binary interface of an entry: runs the grid cells `begin .. end` (never empty) in linear order, the last grid
/// dimension fastest.
///
/// - `args`: one pointer per operand, inputs then outputs, in declaration order; a table is an i32 input. Each is
///   aligned to its element at least. Inputs are only read; the outputs' blocks of other cells are left alone.
/// - `scalars`: the i32 scalars, in declaration order.
/// - `arena`: scratch of the size that the lowering states, aligned to 64 bytes, for this thread alone. Its content is
///   not initialised; it persists from call to call within a launch on the same thread.
pub type EntryFn =
    unsafe extern "C" fn(args: *const *mut u8, scalars: *const i32, begin: i64, end: i64, arena: *mut u8);

/// A loaded object.
///
/// **What is trusted.** Loading and launching are safe functions on this condition: the text that the object was
/// compiled from honours [`EntryFn`], that is, it reads and writes nothing but its operands within the sizes its
/// signature states, its scalars, and its arena; it returns; and it does not unwind. No check here can prove that of
/// machine code. It holds for what the lowerings emit from a verified kernel; a caller with text from elsewhere takes the
/// condition upon itself, or runs the code in a child process ([`crate::isolate`]).
#[derive(Clone, Debug)]
pub struct Module {
    library: Arc<Library>,
    path: String,
}

impl Module {
    /// Loads an object. It stays loaded while the module or any of its entries lives.
    ///
    /// Errors: `run/load-failed` (class tool), with the loader's words, e.g. an undefined symbol. The object is then deleted
    /// from the cache.
    pub fn load(object: &Object) -> Result<Module> {
        provide_libm();
        let open = || {
            // SAFETY: kernels have no initialisers or finalisers; what else the code does is the condition above.
            unsafe { Library::open(Some(&object.path), RTLD_NOW | RTLD_LOCAL) }
        };
        let path = object.path.display().to_string();
        let opened = match open() {
            // Another process may have evicted the entry since it was verified.
            Err(_) if !object.path.exists() => {
                object.restore()?;
                open()
            }
            opened => opened,
        };
        match opened {
            Ok(library) => Ok(Module { library: Arc::new(library), path }),
            Err(e) => {
                object.discard();
                Err(Diagnostic::tool("run/load-failed", "the system's loader refused the object")
                    .at(Span::file(path))
                    .rule("what the compiler made is a shared object of this machine")
                    .note(words(&e))
                    .help("run it again: the object is deleted and compiled anew; if that fails too, the compiler is broken"))
            }
        }
    }

    /// The entry called `name`.
    ///
    /// Errors: `run/no-such-entry` (class request).
    pub fn entry(&self, name: &str) -> Result<Entry> {
        // SAFETY: by the condition above, a function of this name has the type `EntryFn`.
        let symbol = unsafe { self.library.get::<Option<EntryFn>>(name.as_bytes()) };
        match symbol.map(|symbol| *symbol) {
            Ok(Some(function)) => Ok(Entry { function, _module: self.clone() }),
            found => {
                let d = Diagnostic::request("run/no-such-entry", format!("the object has no entry `{name}`"))
                    .at(Span::file(self.path.clone()));
                Err(if let Err(e) = found { d.note(words(&e)) } else { d })
            }
        }
    }
}

/// An entry of a loaded module, which it keeps loaded. Launch it with [`crate::launch::Pool`].
#[derive(Clone, Debug)]
pub struct Entry {
    pub(crate) function: EntryFn,
    _module: Module,
}

/// Where the target has no instruction for it, code calls `fmaf`, `floorf` and their like: makes the C library's
/// mathematics visible to objects that name no library. The rest of C's library is already there. Without it, an object
/// that needs it fails to load and says so.
fn provide_libm() {
    static LIBM: OnceLock<Option<Library>> = OnceLock::new();
    LIBM.get_or_init(|| {
        // SAFETY: the initialisers of the C library's own mathematics are sound to run at any time.
        unsafe { Library::open(Some("libm.so.6"), RTLD_NOW | RTLD_GLOBAL) }.ok()
    });
}

/// The loader's own message, which `libloading` keeps as the error's source in some versions.
fn words(error: &libloading::Error) -> String {
    use std::error::Error;
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}
