//! OpenBLAS, opened at run time from a wheel or a Debian package: f32 and f64 matrix products.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;

use libloading::{Library, Symbol};
use tilewright_diag::Result;
use tilewright_dtype::{DType, Tensor};

use super::session::{self, Call, fault, unsupported};
use super::{Data, Found, Peer, Prepared, Work, environment, locate};

/// Looks for OpenBLAS.
pub(super) fn find() -> Found {
    environment::before_loading();
    let candidates = locate::libraries(
        &["scipy_openblas64/lib", "scipy_openblas32/lib", "numpy.libs", "lib"],
        "libscipy_openblas",
        &["libopenblas.so.0", "libopenblas64.so.0", "libopenblas.so"],
    );
    match locate::first(candidates, OpenBlas::open) {
        Ok(library) => Found::Ready(Box::new(library)),
        Err(reason) => {
            let help = format!("{}, or install the Debian package libopenblas0-pthread", locate::SETUP);
            Found::Absent { name: "openblas", reason, help }
        }
    }
}

struct OpenBlas {
    functions: Arc<Functions>,
    version: String,
    kernel: String,
}

/// `cblas_?gemm(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)`; `I` is OpenBLAS's `blasint`.
type CblasGemm<I, T> =
    unsafe extern "C" fn(c_int, c_int, c_int, I, I, I, T, *const T, I, *const T, I, T, *mut T, I);

/// The width of `blasint` is part of a build, told by its symbols' suffix.
enum Gemm<T> {
    Narrow(CblasGemm<i32, T>),
    Wide(CblasGemm<i64, T>),
}

struct Functions {
    sgemm: Gemm<f32>,
    dgemm: Gemm<f64>,
    set_num_threads: unsafe extern "C" fn(c_int),
    get_config: unsafe extern "C" fn() -> *const c_char,
    get_corename: unsafe extern "C" fn() -> *const c_char,
    /// Keeps the functions valid. Never closed: its threads may still be in its code.
    _library: ManuallyDrop<Library>,
}

impl OpenBlas {
    fn open(path: &Path) -> std::result::Result<OpenBlas, String> {
        let functions = Functions::load(path).map_err(|e| locate::words(&e))?;
        // SAFETY: both return a NUL-terminated string that lives as long as the library.
        let (config, core) = unsafe { (text((functions.get_config)()), text((functions.get_corename)())) };
        // "OpenBLAS 0.3.34 USE64BITINT DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64"
        let version = config.split_whitespace().nth(1).unwrap_or("of unknown version").to_owned();
        let kernel = format!("{core} kernels; {config}");
        Ok(OpenBlas { functions: Arc::new(functions), version, kernel })
    }

    fn call(&self, work: &Work, threads: usize) -> Result<Call> {
        self.supports(work).map_err(|reason| unsupported(self.name(), work, reason))?;
        let shape = Shape::of(work).ok_or_else(|| unsupported(self.name(), work, "no product"))?;
        let functions = Arc::clone(&self.functions);
        let threads = c_int::try_from(threads.max(1)).map_err(|e| fault("openblas", e))?;
        let dtype = work.dtype();
        let run = move |inputs: &[Tensor], output: &mut Tensor| {
            // SAFETY: a plain setter; the count is positive.
            unsafe { (functions.set_num_threads)(threads) }
            match dtype {
                DType::F32 => shape.product(&functions.sgemm, inputs, output, [1.0, 0.0]),
                _ => shape.product(&functions.dgemm, inputs, output, [1.0, 0.0]),
            }
            Ok(())
        };
        Ok(Call { run: Box::new(run), kernel: self.kernel.clone() })
    }
}

impl Peer for OpenBlas {
    fn name(&self) -> &str {
        "openblas"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn kernel(&self) -> &str {
        &self.kernel
    }

    fn supports(&self, work: &Work) -> std::result::Result<(), String> {
        match work {
            Work::Matmul { epilogue, .. } if !epilogue.is_none() => {
                Err("it has no epilogues, and a product alone is less work".to_owned())
            }
            Work::Matmul { dtype: DType::F32 | DType::F64, m, n, k, .. } => {
                let fits = |&d: &usize| i32::try_from(d).is_ok();
                if [m, n, k].into_iter().all(fits) {
                    Ok(())
                } else {
                    Err("a dimension exceeds 2³¹".to_owned())
                }
            }
            Work::Matmul { dtype, .. } => Err(format!("it multiplies f32 and f64, not {dtype}")),
            _ => Err("it only multiplies matrices".to_owned()),
        }
    }

    fn evaluate(&self, work: &Work, threads: usize, inputs: &[Tensor]) -> Result<Tensor> {
        session::evaluate(self.call(work, threads)?, work, inputs)
    }

    fn prepare(&self, work: &Work, threads: usize, data: Data) -> Result<Prepared> {
        session::prepare(self, self.call(work, threads)?, work, data)
    }
}

impl Functions {
    fn load(path: &Path) -> std::result::Result<Functions, libloading::Error> {
        // SAFETY: OpenBLAS's initialisers start its threads and read the environment, which `find` has prepared.
        let library = unsafe { Library::new(path)? };
        // Wheels of scipy-openblas prefix every symbol, and builds with 64-bit integers add a suffix.
        let styles = [("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", "")];
        let gemm = |(prefix, suffix): (&str, &str)| format!("{prefix}cblas_sgemm{suffix}");
        let (prefix, suffix) = styles
            .into_iter()
            .find(|&style| {
                // SAFETY: the symbol is only looked up, never called through this type.
                unsafe { library.get::<unsafe extern "C" fn()>(gemm(style).as_bytes()) }.is_ok()
            })
            .unwrap_or(("", ""));
        let name = |base: &str| format!("{prefix}{base}{suffix}");
        // SAFETY: the signatures are those of OpenBLAS's cblas.h; the suffix tells the width of its integers.
        unsafe {
            let (sgemm, dgemm) = if suffix == "64_" {
                (
                    Gemm::Wide(get(&library, &name("cblas_sgemm"))?),
                    Gemm::Wide(get(&library, &name("cblas_dgemm"))?),
                )
            } else {
                let narrow = get(&library, &name("cblas_sgemm"))?;
                (Gemm::Narrow(narrow), Gemm::Narrow(get(&library, &name("cblas_dgemm"))?))
            };
            Ok(Functions {
                sgemm,
                dgemm,
                set_num_threads: get(&library, &name("openblas_set_num_threads"))?,
                get_config: get(&library, &name("openblas_get_config"))?,
                get_corename: get(&library, &name("openblas_get_corename"))?,
                _library: ManuallyDrop::new(library),
            })
        }
    }
}

/// # Safety
/// The symbol, where it exists, has type `T`; it must not outlive the library.
unsafe fn get<T: Copy>(library: &Library, name: &str) -> std::result::Result<T, libloading::Error> {
    // SAFETY: the caller's promise.
    let symbol: Symbol<'_, T> = unsafe { library.get(name.as_bytes())? };
    Ok(*symbol)
}

/// # Safety
/// `text` is null or a NUL-terminated string.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
}

/// A product's dimensions, each of which fits an `i32`.
#[derive(Clone, Copy)]
struct Shape {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    ta: bool,
    tb: bool,
}

impl Shape {
    fn of(work: &Work) -> Option<Shape> {
        match *work {
            Work::Matmul { batch, m, n, k, ta, tb, .. } => Some(Shape { batch, m, n, k, ta, tb }),
            _ => None,
        }
    }

    /// `o = a · b` for each of the batch; `inputs` and `output` have the shapes of the work, and element type `T`.
    fn product<T: Copy>(self, gemm: &Gemm<T>, inputs: &[Tensor], output: &mut Tensor, [one, zero]: [T; 2]) {
        const ROW_MAJOR: c_int = 101;
        let transposed = |t: bool| if t { 112 } else { 111 };
        let Shape { batch, m, n, k, ta, tb } = self;
        let (lda, ldb) = (if ta { m } else { k }, if tb { k } else { n });
        let (a, b) = (inputs[0].as_ptr().cast::<T>(), inputs[1].as_ptr().cast::<T>());
        let o = output.as_mut_ptr().cast::<T>();
        for i in 0..batch {
            let (a, b) = (a.wrapping_add(i * m * k), b.wrapping_add(i * k * n));
            let o = o.wrapping_add(i * m * n);
            macro_rules! gemm {
                ($f:expr, $int:ty) => {
                    // SAFETY: the tensors hold `batch` matrices of these sizes, so every element that the dimensions
                    // and leading dimensions name is inside them; `supports` has seen to it that all fit the integers.
                    unsafe {
                        $f(
                            ROW_MAJOR,
                            transposed(ta),
                            transposed(tb),
                            m as $int,
                            n as $int,
                            k as $int,
                            one,
                            a,
                            lda.max(1) as $int,
                            b,
                            ldb.max(1) as $int,
                            zero,
                            o,
                            n.max(1) as $int,
                        )
                    }
                };
            }
            match gemm {
                Gemm::Narrow(f) => gemm!(f, i32),
                Gemm::Wide(f) => gemm!(f, i64),
            }
        }
    }
}
