//! oneDNN 3.x, opened at run time from a wheel or a Debian package: matrix products with epilogues, softmax, layer
//! normalisation.
#![allow(unsafe_code)]

mod ffi;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

use tilewright_diag::Result;
use tilewright_dtype::{DType, Tensor};

use super::session::{self, Call, fault, unsupported};
use super::{Activation, Data, Epilogue, Found, Peer, Prepared, Work, environment, locate};
use ffi::{Arg, Dims, Dnnl, Handle, check};

/// Looks for oneDNN.
pub(super) fn find() -> Found {
    environment::before_loading();
    let candidates =
        locate::libraries(&["lib"], "libdnnl.so", &["libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"]);
    match locate::first(candidates, Dnnl::open) {
        Ok(library) => {
            let kernel = format!("{} instructions at most, {} threads", library.isa, library.runtime);
            Found::Ready(Box::new(OneDnn { library: Rc::new(library), kernel }))
        }
        Err(reason) => {
            let help = format!("{}, or install the Debian package libdnnl3", locate::SETUP);
            Found::Absent { name: "onednn", reason, help }
        }
    }
}

struct OneDnn {
    library: Rc<Dnnl>,
    kernel: String,
}

impl OneDnn {
    fn call(&self, work: &Work, threads: usize) -> Result<Call> {
        self.supports(work).map_err(|reason| unsupported(self.name(), work, reason))?;
        let threads = c_int::try_from(threads.max(1)).map_err(|e| fault("onednn", e))?;
        if !self.library.has_thread_control() {
            let all = std::thread::available_parallelism().map_or(1, |n| n.get());
            if threads as usize != all {
                let reason = format!("its {} runtime always uses all {all} threads", self.library.runtime);
                return Err(unsupported(self.name(), work, reason));
            }
        }
        self.library.set_threads(threads);
        let mut primitive = Primitive::new(&self.library, work).map_err(|e| fault("onednn", e))?;
        let kernel = primitive.implementation.clone();
        let run = move |inputs: &[Tensor], output: &mut Tensor| {
            primitive.library.set_threads(threads);
            primitive.execute(inputs, output).map_err(|e| fault("onednn", e))
        };
        Ok(Call { run: Box::new(run), kernel })
    }
}

impl Peer for OneDnn {
    fn name(&self) -> &str {
        "onednn"
    }

    fn version(&self) -> &str {
        &self.library.version
    }

    fn kernel(&self) -> &str {
        &self.kernel
    }

    fn supports(&self, work: &Work) -> std::result::Result<(), String> {
        let (dtype, is_matmul) = (work.dtype(), matches!(work, Work::Matmul { .. }));
        if data_type(dtype).is_none() || (dtype.is_int() && !is_matmul) || dtype == DType::I32 {
            return Err(format!("it has no {} of {dtype}", work.name()));
        }
        match work {
            Work::Matmul { epilogue, .. } if dtype.is_int() && !epilogue.is_none() => {
                Err("its integer products have no epilogue that keeps i32".to_owned())
            }
            Work::Matmul { .. } | Work::Softmax { .. } | Work::LayerNorm { .. } => Ok(()),
            Work::RmsNorm { .. } | Work::Attention { .. } => {
                Err(format!("it has no {} that works in every 3.x", work.name()))
            }
        }
    }

    fn evaluate(&self, work: &Work, threads: usize, inputs: &[Tensor]) -> Result<Tensor> {
        session::evaluate(self.call(work, threads)?, work, inputs)
    }

    fn prepare(&self, work: &Work, threads: usize, data: Data) -> Result<Prepared> {
        session::prepare(self, self.call(work, threads)?, work, data)
    }
}

/// A compiled primitive and a memory object for each of its arguments, the output's last.
struct Primitive {
    library: Rc<Dnnl>,
    primitive: Handle,
    arguments: Vec<Arg>,
    implementation: String,
    /// For arguments that every 3.x takes as f32 only (a layer normalisation's scale and shift): an f32 copy of each
    /// tensor seen, by its address. Parameters do not change, and a conversion at each call would be timed.
    converted: Vec<Option<Vec<(usize, Tensor)>>>,
}

impl Primitive {
    fn new(library: &Rc<Dnnl>, work: &Work) -> std::result::Result<Primitive, String> {
        let mut descs = Descs { library, handles: Vec::new() };
        let mut converted = Vec::new();
        let (desc, indices): (_, &[c_int]) = match *work {
            Work::Matmul { batch, m, n, k, dtype, ta, tb, epilogue } => {
                let weights = if dtype == DType::U8 { DType::I8 } else { dtype };
                descs.matrix(dtype, batch, [m, k], ta)?;
                descs.matrix(weights, batch, [k, n], tb)?;
                if epilogue.bias {
                    // The bias has the rank of the product, and 1 where it is broadcast.
                    let n = n as i64;
                    let (dims, strides) = ([1, 1, n], [n, n, 1]);
                    let skip = usize::from(batch == 1);
                    descs.tensor(DType::F32, &dims[skip..], &strides[skip..])?;
                }
                descs.matrix(work.output().dtype, batch, [m, n], false)?;
                let indices: &[c_int] = if epilogue.bias {
                    &[ffi::ARG_SRC, ffi::ARG_WEIGHTS, ffi::ARG_BIAS, ffi::ARG_DST]
                } else {
                    &[ffi::ARG_SRC, ffi::ARG_WEIGHTS, ffi::ARG_DST]
                };
                (matmul(&descs, epilogue)?, indices)
            }
            Work::Softmax { rows, cols, dtype } => {
                descs.matrix(dtype, 1, [rows, cols], false)?;
                descs.matrix(dtype, 1, [rows, cols], false)?;
                (softmax(&descs)?, &[ffi::ARG_SRC, ffi::ARG_DST])
            }
            Work::LayerNorm { rows, cols, dtype } => {
                descs.matrix(dtype, 1, [rows, cols], false)?;
                descs.tensor(DType::F32, &[cols as i64], &[1])?;
                descs.tensor(DType::F32, &[cols as i64], &[1])?;
                descs.matrix(dtype, 1, [rows, cols], false)?;
                let convert = || (dtype != DType::F32).then(Vec::new);
                converted.extend([None, convert(), convert()]);
                (layer_norm(&descs)?, &[ffi::ARG_SRC, ffi::ARG_SCALE, ffi::ARG_SHIFT, ffi::ARG_DST])
            }
            _ => return Err("no such primitive".to_owned()),
        };
        converted.resize_with(indices.len(), || None);
        let f = &library.f;
        // SAFETY: `desc` is a live primitive descriptor; it is destroyed once, after its last use.
        let (implementation, primitive) = unsafe {
            let implementation = library.implementation(desc);
            let mut primitive = null_mut();
            let made =
                check(f.primitive_create, "dnnl_primitive_create", |create| create(&mut primitive, desc));
            (f.primitive_desc_destroy)(desc);
            made?;
            (implementation, primitive)
        };
        // From here on `drop` frees what was made.
        let mut this = Primitive {
            library: Rc::clone(library),
            primitive,
            arguments: Vec::new(),
            implementation,
            converted,
        };
        for (&index, &desc) in indices.iter().zip(&descs.handles) {
            let mut memory = null_mut();
            // SAFETY: `desc` is live; a memory object without data gets them before each execution.
            check(f.memory_create, "dnnl_memory_create", |create| unsafe {
                create(&mut memory, desc, library.engine, null_mut())
            })?;
            this.arguments.push(Arg { index, memory });
        }
        Ok(this)
    }

    fn execute(&mut self, inputs: &[Tensor], output: &mut Tensor) -> std::result::Result<(), String> {
        let f = &self.library.f;
        let name = "dnnl_memory_set_data_handle";
        for (i, argument) in self.arguments.iter().enumerate() {
            let data: *mut c_void = match (inputs.get(i), &mut self.converted[i]) {
                (None, _) => output.as_mut_ptr().cast(),
                (Some(input), None) => input.as_ptr().cast_mut().cast(),
                (Some(input), Some(copies)) => {
                    let address = input.as_ptr().addr();
                    let known = copies.iter().position(|copy| copy.0 == address);
                    let index = match known {
                        Some(index) => index,
                        None => {
                            copies.push((address, input.cast(DType::F32).map_err(|e| e.message)?));
                            copies.len() - 1
                        }
                    };
                    copies[index].1.as_ptr().cast_mut().cast()
                }
            };
            // SAFETY: the tensor has the shape and type that the memory's descriptor states, and outlives the execution
            // below; the library only reads inputs.
            check(f.memory_set_data_handle, name, |set| unsafe { set(argument.memory, data) })?;
        }
        let count = self.arguments.len() as c_int;
        // SAFETY: the arguments are those of this primitive, each with its data.
        unsafe {
            check(f.primitive_execute, "dnnl_primitive_execute", |execute| {
                execute(self.primitive, self.library.stream, count, self.arguments.as_ptr())
            })?;
            check(f.stream_wait, "dnnl_stream_wait", |wait| wait(self.library.stream))
        }
    }
}

impl Drop for Primitive {
    fn drop(&mut self) {
        // SAFETY: made by this value, destroyed once.
        unsafe {
            for argument in &self.arguments {
                (self.library.f.memory_destroy)(argument.memory);
            }
            (self.library.f.primitive_destroy)(self.primitive);
        }
    }
}

/// Memory descriptors of a primitive's arguments, in order.
struct Descs<'a> {
    library: &'a Rc<Dnnl>,
    handles: Vec<Handle>,
}

impl Descs<'_> {
    fn tensor(&mut self, dtype: DType, dims: &[i64], strides: &[i64]) -> std::result::Result<(), String> {
        let data_type = data_type(dtype).ok_or_else(|| format!("no type {dtype}"))?;
        let padded =
            |values: &[i64]| -> Dims { std::array::from_fn(|i| values.get(i).copied().unwrap_or(0)) };
        let (dims_array, strides) = (padded(dims), padded(strides));
        let mut handle = null_mut();
        // SAFETY: both arrays have the twelve elements of `dnnl_dims_t`, of which the first `dims.len()` are read.
        check(self.library.f.memory_desc_create, "dnnl_memory_desc_create_with_strides", |create| unsafe {
            create(&mut handle, dims.len() as c_int, dims_array.as_ptr(), data_type, strides.as_ptr())
        })?;
        self.handles.push(handle);
        Ok(())
    }

    /// `[rows,cols]`, or `[batch,rows,cols]`; stored as `[cols,rows]` when transposed.
    fn matrix(
        &mut self,
        dtype: DType,
        batch: usize,
        [rows, cols]: [usize; 2],
        transposed: bool,
    ) -> std::result::Result<(), String> {
        let (rows, cols) = (rows as i64, cols as i64);
        let (row, col) = if transposed { (1, rows) } else { (cols, 1) };
        if batch > 1 {
            self.tensor(dtype, &[batch as i64, rows, cols], &[rows * cols, row, col])
        } else {
            self.tensor(dtype, &[rows, cols], &[row, col])
        }
    }

    fn pop(&mut self) {
        if let Some(handle) = self.handles.pop() {
            // SAFETY: made by `tensor`, destroyed once.
            unsafe { (self.library.f.memory_desc_destroy)(handle) };
        }
    }
}

impl Drop for Descs<'_> {
    fn drop(&mut self) {
        while !self.handles.is_empty() {
            self.pop();
        }
    }
}

fn matmul(descs: &Descs, epilogue: Epilogue) -> std::result::Result<Handle, String> {
    let f = &descs.library.f;
    let [src, weights, rest @ ..] = descs.handles.as_slice() else { return Err("two operands".to_owned()) };
    let (bias, dst) = match rest {
        [bias, dst] => (*bias, *dst),
        [dst] => (null_mut(), *dst),
        _ => return Err("one output".to_owned()),
    };
    let (mut attr, mut post_ops, mut desc) = (null_mut(), null_mut(), null_mut());
    // SAFETY: every handle is live where it is used: the attribute copies the post-operations and the descriptor the
    // attribute, and both are destroyed once; destroying a null handle is allowed.
    unsafe {
        let made = check(f.attr_create, "dnnl_primitive_attr_create", |create| create(&mut attr))
            .and_then(|()| check(f.post_ops_create, "dnnl_post_ops_create", |create| create(&mut post_ops)))
            .and_then(|()| match epilogue.activation.map(eltwise) {
                None => Ok(()),
                Some((kind, alpha)) => {
                    check(f.post_ops_append_eltwise, "dnnl_post_ops_append_eltwise", |append| {
                        append(post_ops, kind, alpha, 0.0)
                    })
                }
            })
            .and_then(|()| {
                check(f.attr_set_post_ops, "dnnl_primitive_attr_set_post_ops", |set| set(attr, post_ops))
            })
            .and_then(|()| {
                check(f.matmul_desc_create, "dnnl_matmul_primitive_desc_create", |create| {
                    create(&mut desc, descs.library.engine, *src, *weights, bias, dst, attr)
                })
            });
        (f.post_ops_destroy)(post_ops);
        (f.attr_destroy)(attr);
        made.map(|()| desc)
    }
}

fn softmax(descs: &Descs) -> std::result::Result<Handle, String> {
    let f = &descs.library.f;
    let [src, dst] = descs.handles.as_slice() else { return Err("one input, one output".to_owned()) };
    let mut desc = null_mut();
    // SAFETY: the descriptors are live; a null attribute stands for the defaults.
    check(f.softmax_desc_create, "dnnl_softmax_forward_primitive_desc_create", |create| unsafe {
        let (prop, alg) = (ffi::FORWARD_INFERENCE, ffi::SOFTMAX_ACCURATE);
        create(&mut desc, descs.library.engine, prop, alg, *src, *dst, 1, null_mut())
    })?;
    Ok(desc)
}

fn layer_norm(descs: &Descs) -> std::result::Result<Handle, String> {
    const EPSILON: f32 = 1e-5;
    let f = &descs.library.f;
    let [src, _, _, dst] = descs.handles.as_slice() else { return Err("three inputs".to_owned()) };
    let mut desc = null_mut();
    // SAFETY: the descriptors are live; null stands for the default statistics and attributes.
    check(
        f.layer_norm_desc_create,
        "dnnl_layer_normalization_forward_primitive_desc_create",
        |create| unsafe {
            let (prop, flags) = (ffi::FORWARD_INFERENCE, ffi::USE_SCALE_AND_SHIFT);
            create(&mut desc, descs.library.engine, prop, *src, *dst, null_mut(), EPSILON, flags, null_mut())
        },
    )?;
    Ok(desc)
}

/// The algorithm and its alpha.
fn eltwise(activation: Activation) -> (c_int, f32) {
    match activation {
        Activation::Relu => (ffi::ELTWISE_RELU, 0.0),
        Activation::Gelu => (ffi::ELTWISE_GELU_TANH, 0.0),
        Activation::GeluErf => (ffi::ELTWISE_GELU_ERF, 0.0),
        Activation::Silu => (ffi::ELTWISE_SWISH, 1.0),
    }
}

fn data_type(dtype: DType) -> Option<c_int> {
    Some(match dtype {
        DType::F32 => ffi::F32,
        DType::F16 => ffi::F16,
        DType::BF16 => ffi::BF16,
        DType::I8 => ffi::S8,
        DType::U8 => ffi::U8,
        DType::I32 => ffi::S32,
        _ => return None,
    })
}
