//! The Rust crate `gemm`: f32, f64 and f16 matrix products, compiled in, so that there is always someone to race.
#![allow(unsafe_code)]

use tilewright_diag::Result;
use tilewright_dtype::{DType, Tensor};

use super::session::{self, Call, unsupported};
use super::{Data, Peer, Prepared, Work};

pub(super) struct Gemm;

/// As in Cargo.toml; the crate does not say itself.
const VERSION: &str = "0.19";

impl Gemm {
    fn call(&self, work: &Work, threads: usize) -> Result<Call> {
        self.supports(work).map_err(|reason| unsupported(self.name(), work, reason))?;
        let Work::Matmul { batch, m, n, k, dtype, ta, tb, .. } = *work else {
            return Err(unsupported(self.name(), work, "no product"));
        };
        let shape = Shape { batch, m, n, k, ta, tb, threads };
        let run = move |inputs: &[Tensor], output: &mut Tensor| {
            match dtype {
                DType::F32 => shape.product::<f32>(inputs, output, [0.0, 1.0]),
                DType::F64 => shape.product::<f64>(inputs, output, [0.0, 1.0]),
                _ => shape.product::<gemm::f16>(inputs, output, [gemm::f16::ZERO, gemm::f16::ONE]),
            }
            Ok(())
        };
        Ok(Call { run: Box::new(run), kernel: self.kernel().to_owned() })
    }
}

impl Peer for Gemm {
    fn name(&self) -> &str {
        "gemm"
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn kernel(&self) -> &str {
        // The crate's own order of choice, from its dispatch.
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            return "avx512f kernels";
        } else if is_x86_feature_detected!("fma") {
            return "fma kernels";
        }
        "portable or neon kernels"
    }

    fn supports(&self, work: &Work) -> std::result::Result<(), String> {
        match work {
            Work::Matmul { epilogue, .. } if !epilogue.is_none() => {
                Err("it has no epilogues, and a product alone is less work".to_owned())
            }
            Work::Matmul { dtype: DType::F32 | DType::F64 | DType::F16, .. } => Ok(()),
            Work::Matmul { dtype, .. } => Err(format!("it multiplies f32, f64 and f16, not {dtype}")),
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

#[derive(Clone, Copy)]
struct Shape {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    ta: bool,
    tb: bool,
    threads: usize,
}

impl Shape {
    /// `o = a · b` for each of the batch; `inputs` and `output` have the shapes of the work, and element type `T`.
    fn product<T: Copy + 'static>(self, inputs: &[Tensor], output: &mut Tensor, [zero, one]: [T; 2]) {
        let Shape { batch, m, n, k, ta, tb, threads } = self;
        let parallelism =
            if threads > 1 { gemm::Parallelism::Rayon(threads) } else { gemm::Parallelism::None };
        // Column stride, row stride.
        let strides = |rows: usize, cols: usize, transposed: bool| {
            if transposed { (rows as isize, 1) } else { (1, cols as isize) }
        };
        let ((a_cs, a_rs), (b_cs, b_rs)) = (strides(m, k, ta), strides(k, n, tb));
        let (a, b) = (inputs[0].as_ptr().cast::<T>(), inputs[1].as_ptr().cast::<T>());
        let o = output.as_mut_ptr().cast::<T>();
        for i in 0..batch {
            let (a, b) = (a.wrapping_add(i * m * k), b.wrapping_add(i * k * n));
            let o = o.wrapping_add(i * m * n);
            // SAFETY: the tensors hold `batch` matrices of these sizes and of type `T`, 64-byte aligned, so every element
            // that the dimensions and strides name is inside them; the output overlaps no input.
            unsafe {
                gemm::gemm(
                    m,
                    n,
                    k,
                    o,
                    1,
                    n as isize,
                    false,
                    a,
                    a_cs,
                    a_rs,
                    b,
                    b_cs,
                    b_rs,
                    zero,
                    one,
                    false,
                    false,
                    false,
                    parallelism,
                );
            }
        }
    }
}
