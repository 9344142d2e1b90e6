//! The part of oneDNN's C API, version 3, that the peer calls: `oneapi/dnnl/dnnl.h` and the headers that it includes.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::{Library, Symbol};

use crate::peers::locate::words;

/// An opaque object of the library.
pub(super) type Handle = *mut c_void;
type Status = c_int;
pub(super) type Dims = [i64; 12];

pub(super) const F16: c_int = 1;
pub(super) const BF16: c_int = 2;
pub(super) const F32: c_int = 3;
pub(super) const S32: c_int = 4;
pub(super) const S8: c_int = 5;
pub(super) const U8: c_int = 6;

pub(super) const ARG_SRC: c_int = 1;
pub(super) const ARG_DST: c_int = 17;
pub(super) const ARG_WEIGHTS: c_int = 33;
pub(super) const ARG_BIAS: c_int = 41;
pub(super) const ARG_SCALE: c_int = 51;
pub(super) const ARG_SHIFT: c_int = 52;

pub(super) const FORWARD_INFERENCE: c_int = 96;
pub(super) const SOFTMAX_ACCURATE: c_int = 0x30000;
pub(super) const ELTWISE_RELU: c_int = 0x20;
pub(super) const ELTWISE_GELU_TANH: c_int = 43;
pub(super) const ELTWISE_SWISH: c_int = 44;
pub(super) const ELTWISE_GELU_ERF: c_int = 49;
pub(super) const USE_SCALE_AND_SHIFT: c_uint = 0x2 | 0x4;

const CPU: c_int = 1;
const IN_ORDER: c_uint = 1;
const QUERY_IMPL_INFO_STR: c_int = 8;

/// One argument of an execution.
#[repr(C)]
pub(super) struct Arg {
    pub index: c_int,
    pub memory: Handle,
}

/// `dnnl_version_t`.
#[repr(C)]
struct Version {
    major: c_int,
    minor: c_int,
    patch: c_int,
    hash: *const c_char,
    cpu_runtime: c_uint,
    gpu_runtime: c_uint,
}

macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($arg:ty),*);)*) => {
        /// The functions that return a status, by their names without prefix.
        #[derive(Clone, Copy)]
        pub(super) struct Functions {
            $(pub $field: unsafe extern "C" fn($($arg),*) -> Status,)*
        }

        impl Functions {
            fn load(library: &Library) -> Result<Functions, libloading::Error> {
                $(
                    // SAFETY: the signature is the header's, for every 3.x.
                    let $field = unsafe { get(library, $symbol)? };
                )*
                Ok(Functions { $($field),* })
            }
        }
    };
}

functions! {
    engine_create = "dnnl_engine_create": fn(*mut Handle, c_int, usize);
    stream_create = "dnnl_stream_create": fn(*mut Handle, Handle, c_uint);
    stream_wait = "dnnl_stream_wait": fn(Handle);
    memory_desc_create = "dnnl_memory_desc_create_with_strides": fn(*mut Handle, c_int, *const i64, c_int, *const i64);
    memory_desc_destroy = "dnnl_memory_desc_destroy": fn(Handle);
    memory_create = "dnnl_memory_create": fn(*mut Handle, Handle, Handle, *mut c_void);
    memory_set_data_handle = "dnnl_memory_set_data_handle": fn(Handle, *mut c_void);
    memory_destroy = "dnnl_memory_destroy": fn(Handle);
    post_ops_create = "dnnl_post_ops_create": fn(*mut Handle);
    post_ops_append_eltwise = "dnnl_post_ops_append_eltwise": fn(Handle, c_int, f32, f32);
    post_ops_destroy = "dnnl_post_ops_destroy": fn(Handle);
    attr_create = "dnnl_primitive_attr_create": fn(*mut Handle);
    attr_set_post_ops = "dnnl_primitive_attr_set_post_ops": fn(Handle, Handle);
    attr_destroy = "dnnl_primitive_attr_destroy": fn(Handle);
    matmul_desc_create = "dnnl_matmul_primitive_desc_create":
        fn(*mut Handle, Handle, Handle, Handle, Handle, Handle, Handle);
    softmax_desc_create = "dnnl_softmax_forward_primitive_desc_create":
        fn(*mut Handle, Handle, c_int, c_int, Handle, Handle, c_int, Handle);
    layer_norm_desc_create = "dnnl_layer_normalization_forward_primitive_desc_create":
        fn(*mut Handle, Handle, c_int, Handle, Handle, Handle, f32, c_uint, Handle);
    primitive_desc_query = "dnnl_primitive_desc_query": fn(Handle, c_int, c_int, *mut c_void);
    primitive_desc_destroy = "dnnl_primitive_desc_destroy": fn(Handle);
    primitive_create = "dnnl_primitive_create": fn(*mut Handle, Handle);
    primitive_execute = "dnnl_primitive_execute": fn(Handle, Handle, c_int, *const Arg);
    primitive_destroy = "dnnl_primitive_destroy": fn(Handle);
}

/// The opened library with its one engine and stream, which live as long as the process: oneDNN's threads do too.
pub(super) struct Dnnl {
    pub f: Functions,
    pub engine: Handle,
    pub stream: Handle,
    pub version: String,
    pub runtime: &'static str,
    pub isa: String,
    set_threads: Option<unsafe extern "C" fn(c_int)>,
    /// Keeps the functions valid. Never closed: its threads may still be in its code.
    _library: ManuallyDrop<Library>,
}

impl Dnnl {
    pub(super) fn open(path: &Path) -> Result<Dnnl, String> {
        // SAFETY: oneDNN's initialisers read the environment, which `find` has prepared.
        let library = unsafe { Library::new(path) }.map_err(|e| words(&e))?;
        let version = {
            // SAFETY: the function exists with this signature since 1.0; it returns a static structure, whose first
            // five fields have stayed.
            let version: unsafe extern "C" fn() -> *const Version =
                unsafe { get(&library, "dnnl_version") }.map_err(|e| words(&e))?;
            // SAFETY: as above.
            unsafe { version().as_ref() }.ok_or("it states no version")?
        };
        let number = format!("{}.{}.{}", version.major, version.minor, version.patch);
        if version.major != 3 {
            return Err(format!("version {number} is not one of the 3.x whose interface is known"));
        }
        let runtime = match version.cpu_runtime {
            1 => "sequential",
            2 => "OpenMP",
            4 => "TBB",
            8 => "thread pool",
            512 => "SYCL",
            _ => "unknown",
        };
        let f = Functions::load(&library).map_err(|e| words(&e))?;
        // SAFETY: the symbol is looked up in the library and what it depends on: its own OpenMP runtime's.
        let set_threads = unsafe { get(&library, "omp_set_num_threads") }.ok();
        // SAFETY: exists since 2.0, takes nothing and returns an enumeration's value.
        let isa: Option<unsafe extern "C" fn() -> c_int> =
            unsafe { get(&library, "dnnl_get_effective_cpu_isa") }.ok();
        // SAFETY: as above.
        let isa = isa.map_or_else(String::new, |isa| isa_name(unsafe { isa() }));
        let (mut engine, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: writes one handle each.
        unsafe {
            check(f.engine_create, "dnnl_engine_create", |create| create(&mut engine, CPU, 0))?;
            check(f.stream_create, "dnnl_stream_create", |create| create(&mut stream, engine, IN_ORDER))?;
        }
        Ok(Dnnl {
            f,
            engine,
            stream,
            version: number,
            runtime,
            isa,
            set_threads,
            _library: ManuallyDrop::new(library),
        })
    }

    /// Whether the number of threads can be chosen.
    pub(super) fn has_thread_control(&self) -> bool {
        self.set_threads.is_some()
    }

    /// Sets the number of threads for what this thread creates and runs from here on.
    pub(super) fn set_threads(&self, threads: c_int) {
        if let Some(set) = self.set_threads {
            // SAFETY: `omp_set_num_threads`, with a positive number.
            unsafe { set(threads) }
        }
    }

    /// The name of the implementation that a primitive descriptor chose, such as `brg:avx512_core_amx`.
    ///
    /// # Safety
    /// `desc` is a live primitive descriptor.
    pub(super) unsafe fn implementation(&self, desc: Handle) -> String {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: this query writes a pointer to a string that lives as long as `desc`.
        let status = unsafe {
            (self.f.primitive_desc_query)(desc, QUERY_IMPL_INFO_STR, 0, (&raw mut text).cast::<c_void>())
        };
        if status != 0 || text.is_null() {
            return String::new();
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// Calls `function` through `call`, and words the status it returns.
pub(super) fn check<F>(function: F, name: &str, call: impl FnOnce(F) -> Status) -> Result<(), String> {
    // `dnnl_status_t`.
    let meaning = match call(function) {
        0 => return Ok(()),
        1 => "out of memory",
        2 => "invalid arguments",
        3 => "not implemented for these types and shapes on this processor",
        5 => "runtime error",
        6 => "not required",
        _ => "unknown status",
    };
    Err(format!("{name}: {meaning}"))
}

/// # Safety
/// The symbol, where it exists, has type `T`; it must not outlive the library.
unsafe fn get<T: Copy>(library: &Library, name: &str) -> Result<T, libloading::Error> {
    // SAFETY: the caller's promise.
    let symbol: Symbol<'_, T> = unsafe { library.get(name.as_bytes())? };
    Ok(*symbol)
}

/// `dnnl_cpu_isa_t`.
fn isa_name(isa: c_int) -> String {
    match isa {
        0x1 => "sse41",
        0x3 => "avx",
        0x7 => "avx2",
        0xf => "avx2_vnni",
        0x1f => "avx2_vnni_2",
        0x27 => "avx512_core",
        0x67 => "avx512_core_vnni",
        0xe7 => "avx512_core_bf16",
        0x1ef => "avx512_core_fp16",
        0xfef => "avx512_core_amx",
        0x1fef => "avx512_core_amx_fp16",
        other => return format!("isa {other:#x}"),
    }
    .to_owned()
}
