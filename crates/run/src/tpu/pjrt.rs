//! The part of the PJRT C API that compiles a program without a device, bound by hand.
//!
//! The API is a struct of function pointers behind one exported symbol, `GetPjrtApi`. Each function takes one argument
//! struct that begins with its own size, by which a library tells callers of older headers; new fields and functions
//! come only at the end (OpenXLA, `xla/pjrt/c/pjrt_c_api.h`, versions 0.33 to 0.117).
#![allow(unsafe_code, reason = "calls a C library")]

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::ptr::{null, null_mut};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use serde::{Deserialize, Serialize};
use tilewright_diag::{Diagnostic, Result, Span};

/// A status that a call of the library ended with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The library's code, as `absl::StatusCode` numbers it; 0 where it gave none.
    pub code: i32,
    /// The library's words.
    pub message: String,
}

/// Bytes of device memory that a compiled program takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStats {
    /// Machine code.
    pub code: i64,
    /// Arguments.
    pub arguments: i64,
    /// Results.
    pub results: i64,
    /// Arguments whose memory results take over.
    pub aliased: i64,
    /// Temporaries.
    pub temporaries: i64,
}

/// The library, loaded for the life of the process: it has threads of its own and cannot be unloaded.
pub struct Pjrt {
    api: *const Api,
}

/// A compiled program.
pub struct Executable<'a> {
    pjrt: &'a Pjrt,
    raw: *mut Opaque,
}

#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

/// The version's fields, and of the functions that follow those up to the last used here.
#[repr(C)]
struct Api {
    struct_size: usize,
    extension_start: *const c_void,
    version_struct_size: usize,
    version_extension_start: *const c_void,
    major: i32,
    minor: i32,
    functions: [*const c_void; LAST_FUNCTION + 1],
}

/// Places of the functions behind the version, counted from 0.
const ERROR_MESSAGE: usize = 1;
const ERROR_GET_CODE: usize = 2;
const PLUGIN_INITIALIZE: usize = 3;
const EXECUTABLE_DESTROY: usize = 40;
const EXECUTABLE_COST_ANALYSIS: usize = 46;
const EXECUTABLE_OPTIMIZED_PROGRAM: usize = 48;
const TOPOLOGY_CREATE: usize = 82;
const COMPILE: usize = 89;
const EXECUTABLE_MEMORY_STATS: usize = 96;
const LAST_FUNCTION: usize = EXECUTABLE_MEMORY_STATS;

/// What every argument struct begins with.
#[repr(C)]
struct Head {
    struct_size: usize,
    extension_start: *const c_void,
}

impl Head {
    fn of<T>() -> Head {
        Head { struct_size: size_of::<T>(), extension_start: null() }
    }
}

#[repr(C)]
struct ErrorMessage {
    head: Head,
    error: *const Opaque,
    message: *const c_char,
    message_size: usize,
}

#[repr(C)]
struct ErrorCode {
    head: Head,
    error: *const Opaque,
    code: i32,
}

#[repr(C)]
struct Initialize {
    head: Head,
}

#[repr(C)]
struct TopologyCreate {
    head: Head,
    name: *const c_char,
    name_size: usize,
    options: *const c_void,
    option_count: usize,
    topology: *mut Opaque,
}

#[repr(C)]
struct Program {
    head: Head,
    code: *mut c_char,
    code_size: usize,
    format: *const c_char,
    format_size: usize,
}

#[repr(C)]
struct Compile {
    head: Head,
    topology: *const Opaque,
    program: *const Program,
    options: *const c_char,
    options_size: usize,
    client: *mut Opaque,
    executable: *mut Opaque,
}

#[repr(C)]
struct ExecutableDestroy {
    head: Head,
    executable: *mut Opaque,
}

#[repr(C)]
struct OptimizedProgram {
    head: Head,
    executable: *mut Opaque,
    program: *mut Program,
}

#[repr(C)]
struct CostAnalysis {
    head: Head,
    executable: *mut Opaque,
    count: usize,
    properties: *const NamedValue,
}

#[repr(C)]
struct NamedValue {
    head: Head,
    name: *const c_char,
    name_size: usize,
    kind: i32,
    value: [u8; 8],
    value_size: usize,
}

#[repr(C)]
struct Stats {
    head: Head,
    executable: *mut Opaque,
    code: i64,
    arguments: i64,
    results: i64,
    aliased: i64,
    temporaries: i64,
    /// The host's five, the peak and the total; older libraries write fewer.
    rest: [i64; 7],
}

impl Pjrt {
    /// Loads the library and starts it. `LIBTPU_INIT_ARGS` and the like must be set by now: they are read once.
    ///
    /// # Errors
    /// `run/libtpu-unusable` (class tool), with the loader's or the library's words.
    pub fn load(path: &Path) -> Result<Pjrt> {
        let unusable = |why: String| {
            Diagnostic::tool("run/libtpu-unusable", format!("the TPU compiler cannot be used: {why}"))
                .at(Span::file(path.display().to_string()))
                .rule("a library that exports `GetPjrtApi`, of the PJRT C API's major version 0")
        };
        // SAFETY: the user's own installation of the vendor's library; its initialisers are the vendor's.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|e| unusable(e.to_string()))?;
        // SAFETY: every PJRT plugin exports this function under this type.
        let get = unsafe { library.get::<unsafe extern "C" fn() -> *const Api>(b"GetPjrtApi") };
        let get = *get.map_err(|e| unusable(e.to_string()))?;
        // SAFETY: it takes nothing and returns a struct of static life, or null.
        let api = unsafe { get() };
        std::mem::forget(library);
        // SAFETY: a struct of at least the fields up to the version, which no version of the API moves.
        let Some(head) = (unsafe { api.as_ref() }) else { return Err(unusable("it has no API".into())) };
        let needed = offset_of!(Api, functions) + (LAST_FUNCTION + 1) * size_of::<*const c_void>();
        if head.major != 0 || head.struct_size < needed {
            return Err(unusable(format!(
                "its API is {}.{} of {} bytes",
                head.major, head.minor, head.struct_size
            )));
        }
        let pjrt = Pjrt { api };
        let mut args = Initialize { head: Head::of::<Initialize>() };
        pjrt.call(PLUGIN_INITIALIZE, &mut args).map_err(|fault| unusable(fault.message))?;
        Ok(pjrt)
    }

    /// The API's version, as `(major, minor)`.
    pub fn version(&self) -> (i32, i32) {
        // SAFETY: checked by `load`.
        unsafe { ((*self.api).major, (*self.api).minor) }
    }

    /// Compiles a StableHLO module (text or bytecode) for the chips of `topology`, such as `v5e:1x1`, with a serialized
    /// `CompileOptionsProto`.
    ///
    /// # Errors
    /// The library's.
    pub fn compile(
        &self,
        topology: &str,
        module: &[u8],
        options: &[u8],
    ) -> std::result::Result<Executable<'_>, Fault> {
        let mut chips = TopologyCreate {
            head: Head::of::<TopologyCreate>(),
            name: topology.as_ptr().cast(),
            name_size: topology.len(),
            options: null(),
            option_count: 0,
            topology: null_mut(),
        };
        self.call(TOPOLOGY_CREATE, &mut chips)?;
        let format = "mlir";
        let program = Program {
            head: Head::of::<Program>(),
            code: module.as_ptr().cast_mut().cast(),
            code_size: module.len(),
            format: format.as_ptr().cast(),
            format_size: format.len(),
        };
        let mut args = Compile {
            head: Head::of::<Compile>(),
            topology: chips.topology,
            program: &program,
            options: options.as_ptr().cast(),
            options_size: options.len(),
            client: null_mut(),
            executable: null_mut(),
        };
        // The topology is not destroyed: the process ends soon after.
        self.call(COMPILE, &mut args)?;
        Ok(Executable { pjrt: self, raw: args.executable })
    }

    /// Calls the function at `place`, whose argument struct is `A`.
    fn call<A>(&self, place: usize, args: &mut A) -> std::result::Result<(), Fault> {
        type Function = unsafe extern "C" fn(*mut c_void) -> *mut Opaque;
        // SAFETY: `load` has seen that the struct reaches to the last place used.
        let pointer = unsafe { (*self.api).functions[place] };
        if pointer.is_null() {
            return Err(Fault {
                code: 12,
                message: format!("the library lacks function {place} of the PJRT C API"),
            });
        }
        // SAFETY: all functions that go through here have this type, and `A` is the struct of the one at `place`.
        let error = unsafe {
            let function: Function = std::mem::transmute(pointer);
            function(std::ptr::from_mut(args).cast())
        };
        if error.is_null() { Ok(()) } else { Err(self.fault(error)) }
    }

    /// What a status says. It is not freed: the process ends soon after.
    fn fault(&self, error: *const Opaque) -> Fault {
        let mut message =
            ErrorMessage { head: Head::of::<ErrorMessage>(), error, message: null(), message_size: 0 };
        let mut code = ErrorCode { head: Head::of::<ErrorCode>(), error, code: 0 };
        type Message = unsafe extern "C" fn(*mut ErrorMessage);
        type Code = unsafe extern "C" fn(*mut ErrorCode) -> *mut Opaque;
        // SAFETY: the functions at these places have these types; `error` is a status of this library.
        unsafe {
            let words: Message = std::mem::transmute((*self.api).functions[ERROR_MESSAGE]);
            let number: Code = std::mem::transmute((*self.api).functions[ERROR_GET_CODE]);
            words(&mut message);
            number(&mut code);
        }
        // SAFETY: the text lives as long as the status.
        Fault { code: code.code, message: unsafe { text(message.message, message.message_size) } }
    }
}

impl Executable<'_> {
    /// What the program takes of the device's memory.
    ///
    /// # Errors
    /// The library's.
    pub fn memory(&self) -> std::result::Result<MemoryStats, Fault> {
        let mut s = Stats {
            head: Head::of::<Stats>(),
            executable: self.raw,
            code: 0,
            arguments: 0,
            results: 0,
            aliased: 0,
            temporaries: 0,
            rest: [0; 7],
        };
        self.pjrt.call(EXECUTABLE_MEMORY_STATS, &mut s)?;
        Ok(MemoryStats {
            code: s.code,
            arguments: s.arguments,
            results: s.results,
            aliased: s.aliased,
            temporaries: s.temporaries,
        })
    }

    /// The compiler's own account of the whole program (`flops`, `bytes accessed`, …), as far as it is numbers.
    ///
    /// # Errors
    /// The library's.
    pub fn cost(&self) -> std::result::Result<BTreeMap<String, f64>, Fault> {
        const INT: i32 = 1;
        const FLOAT: i32 = 3;
        let mut args = CostAnalysis {
            head: Head::of::<CostAnalysis>(),
            executable: self.raw,
            count: 0,
            properties: null(),
        };
        self.pjrt.call(EXECUTABLE_COST_ANALYSIS, &mut args)?;
        let mut costs = BTreeMap::new();
        for i in 0..args.count {
            // SAFETY: the library gives an array of `count` values that lives as long as the executable.
            let value = unsafe { &*args.properties.add(i) };
            // SAFETY: likewise its name.
            let name = unsafe { text(value.name, value.name_size) };
            let number = match value.kind {
                INT => i64::from_ne_bytes(value.value) as f64,
                FLOAT => f64::from(f32::from_ne_bytes([
                    value.value[0],
                    value.value[1],
                    value.value[2],
                    value.value[3],
                ])),
                _ => continue,
            };
            costs.insert(name, number);
        }
        Ok(costs)
    }

    /// The optimised program, a serialized `HloModuleProtoWithConfig`.
    ///
    /// # Errors
    /// The library's.
    pub fn optimized(&self) -> std::result::Result<Vec<u8>, Fault> {
        let mut program = Program {
            head: Head::of::<Program>(),
            code: null_mut(),
            code_size: 0,
            format: null(),
            format_size: 0,
        };
        let mut args = OptimizedProgram {
            head: Head::of::<OptimizedProgram>(),
            executable: self.raw,
            program: &mut program,
        };
        // Asked without a buffer, it tells the size.
        self.pjrt.call(EXECUTABLE_OPTIMIZED_PROGRAM, &mut args)?;
        let mut code = vec![0u8; program.code_size];
        program.code = code.as_mut_ptr().cast();
        args.program = &mut program;
        self.pjrt.call(EXECUTABLE_OPTIMIZED_PROGRAM, &mut args)?;
        Ok(code)
    }
}

impl Drop for Executable<'_> {
    fn drop(&mut self) {
        let mut args = ExecutableDestroy { head: Head::of::<ExecutableDestroy>(), executable: self.raw };
        // Nothing can be done about a failure.
        let _ = self.pjrt.call(EXECUTABLE_DESTROY, &mut args);
    }
}

/// Text that the library points to; bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `start` is null, or `size` bytes from it can be read.
unsafe fn text(start: *const c_char, size: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: by the caller's word.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) };
    String::from_utf8_lossy(bytes).into_owned()
}
