//! Reads and writes of operands and buffers, one vector at a time, with their bounds.

use tilewright_dtype::DType;
use tilewright_ir::{Op, OpKind, OperandId, Role, Value};

use super::{At, Cell, Reg, is_literal};
use crate::features::Isa;
use crate::layout::element_bytes;
use crate::runtime::storage_type;

impl<'a> Cell<'a> {
    /// `a + b` of i64 values.
    pub(super) fn add(&mut self, a: &str, b: &str) -> String {
        match (is_literal(a), is_literal(b)) {
            (Some(x), Some(y)) => (x + y).to_string(),
            (Some(0), None) => b.to_string(),
            (None, Some(0)) => a.to_string(),
            _ => self.t.bind(format!("add nsw i64 {a}, {b}")),
        }
    }

    /// `a * by` of an i64 value.
    pub(super) fn times(&mut self, a: &str, by: usize) -> String {
        match is_literal(a) {
            Some(x) => (x * by as i64).to_string(),
            None if by == 0 => "0".to_string(),
            None if by == 1 => a.to_string(),
            None => self.t.bind(format!("mul nsw i64 {a}, {by}")),
        }
    }

    /// The greater of an i64 value and a constant.
    pub(super) fn at_least(&mut self, a: &str, least: i64) -> String {
        if let Some(x) = is_literal(a) {
            return x.max(least).to_string();
        }
        self.rt.declare("declare i64 @llvm.smax.i64(i64, i64)");
        self.t.bind(format!("call i64 @llvm.smax.i64(i64 {a}, i64 {least})"))
    }

    /// The lesser of an i64 value and a constant.
    pub(super) fn at_most(&mut self, a: &str, most: usize) -> String {
        if let Some(x) = is_literal(a) {
            return x.min(most as i64).to_string();
        }
        self.rt.declare("declare i64 @llvm.smin.i64(i64, i64)");
        self.t.bind(format!("call i64 @llvm.smin.i64(i64 {a}, i64 {most})"))
    }

    /// An i64 value brought into `0 ..= most`.
    pub(super) fn clamped(&mut self, a: &str, most: usize) -> String {
        let above = self.at_least(a, 0);
        self.at_most(&above, most)
    }

    /// An i32 scalar as i64.
    pub(super) fn index(&mut self, v: Value) -> String {
        if let Some(index) = self.indices.get(&v) {
            return index.clone();
        }
        let text = self.scalars.get(&v).map(|r| r.text.clone()).unwrap_or_default();
        match is_literal(&text) {
            Some(x) => x.to_string(),
            None => self.t.bind(format!("sext i32 {text} to i64")),
        }
    }

    /// First element of a block along each dimension of its array.
    fn origin(&mut self, indices: &[Value], tile: &[usize]) -> Vec<String> {
        indices
            .iter()
            .zip(tile)
            .map(|(&v, &n)| {
                let index = self.index(v);
                self.times(&index, n)
            })
            .collect()
    }

    /// Per dimension of a load's block: how many of its elements lie in the array, where that may be fewer than all.
    pub(super) fn bounds(&mut self, load: &Op) -> Vec<Option<String>> {
        let OpKind::Load { array } = load.kind else { return Vec::new() };
        let tile = self.kernel.ty(load.results[0]).shape;
        self.block_bounds(array, &load.operands, tile.dims())
    }

    /// See [`Cell::bounds`], for the block of `tile` at `indices`.
    pub(super) fn block_bounds(
        &mut self,
        array: OperandId,
        indices: &[Value],
        tile: &[usize],
    ) -> Vec<Option<String>> {
        let shape = self.kernel.operand(array).shape;
        let mut all = Vec::new();
        for (d, (&v, &n)) in indices.iter().zip(tile).enumerate() {
            let size = shape.dims()[d] as i64;
            let range = self.plan.ranges.interval(v);
            if range.lo >= 0 && (range.hi + 1).saturating_mul(n as i64) <= size {
                all.push(None);
                continue;
            }
            let index = self.index(v);
            let start = self.times(&index, n);
            let left = self.t.bind(format!("sub i64 {size}, {start}"));
            let mut valid = self.clamped(&left, n);
            if range.lo < 0 {
                let negative = self.t.bind(format!("icmp slt i64 {start}, 0"));
                valid = self.t.bind(format!("select i1 {negative}, i64 0, i64 {valid}"));
            }
            all.push(Some(valid));
        }
        all
    }

    /// The place of the element at `coords` of a block, in elements from the array's start.
    fn array_offset(
        &mut self,
        array: OperandId,
        indices: &[Value],
        tile: &[usize],
        coords: &[String],
    ) -> String {
        let strides = self.kernel.operand(array).shape.strides();
        let origin = self.origin(indices, tile);
        let mut offset = "0".to_string();
        for (d, first) in origin.iter().enumerate() {
            let at = self.add(first, &coords[d]);
            let step = self.times(&at, strides[d]);
            offset = self.add(&offset, &step);
        }
        offset
    }

    /// One vector of a load.
    pub(super) fn load(&mut self, op: &Op, at: &At) -> Reg {
        let OpKind::Load { array } = op.kind else { return self.reg("poison".into(), DType::F32, false) };
        let operand = self.kernel.operand(array);
        let (dtype, strides) = (operand.dtype, operand.shape.strides());
        let pad = match operand.role {
            Role::Input { pad: Some(c) } => c.as_f64(),
            _ => 0.0,
        };
        let tile = self.kernel.ty(op.results[0]).shape;
        let mask = self.load_mask(op, at);
        let offset = self.array_offset(array, &op.operands, tile.dims(), &at.coords);
        let base = self.arrays.get(&array).cloned().unwrap_or_default();
        let stride = at.vector.map_or(0, |d| strides[d]);
        let fill = self.storage_constant(dtype, pad);
        self.read(dtype, &base, &offset, stride, mask.as_deref(), &fill)
    }

    /// The lanes of a load that lie in its array and matter; `None` where all do.
    fn load_mask(&mut self, op: &Op, at: &At) -> Option<String> {
        if !self.checked {
            return at.mask.clone();
        }
        let mut mask = at.mask.clone();
        for (d, valid) in self.bounds(op).into_iter().enumerate() {
            let Some(valid) = valid else { continue };
            let lanes = if at.vector == Some(d) {
                let left = self.t.bind(format!("sub i64 {valid}, {}", at.coords[d]));
                self.lanes_below(&left)
            } else {
                let inside = self.t.bind(format!("icmp slt i64 {}, {valid}", at.coords[d]));
                self.splat("i1", &inside)
            };
            mask = Some(match mask {
                None => lanes,
                Some(before) => self.t.bind(format!("and <{} x i1> {before}, {lanes}", self.lanes)),
            });
        }
        mask
    }

    /// `lanes` elements of `dtype` at `base + offset + lane * stride`; masked lanes read `fill` and touch no memory.
    fn read(
        &mut self,
        dtype: DType,
        base: &str,
        offset: &str,
        stride: usize,
        mask: Option<&str>,
        fill: &str,
    ) -> Reg {
        if dtype == DType::I4 {
            return self.read_nibbles(base, offset, stride, mask, fill);
        }
        let (element, bytes, lanes) = (storage_type(dtype), element_bytes(dtype), self.lanes);
        let place = self.t.bind(format!("getelementptr {element}, ptr {base}, i64 {offset}"));
        let ty = format!("<{lanes} x {element}>");
        let text = match (stride, mask) {
            (0, None) => {
                let one = self.t.bind(format!("load {element}, ptr {place}, align {bytes}"));
                self.splat(element, &one)
            }
            (0, Some(mask)) => {
                // All lanes hold one element: it is read if any lane wants it.
                let any = self.t.bind(format!("bitcast <{lanes} x i1> {mask} to i{lanes}"));
                let some = self.t.bind(format!("icmp ne i{lanes} {any}, 0"));
                let one = self.t.bind(format!("insertelement <1 x i1> poison, i1 {some}, i32 0"));
                let filler =
                    fill.trim_start_matches('<').split(',').next().unwrap_or_default().trim_end_matches('>');
                let read = self.masked_load(element, 1, &place, bytes, &one, &format!("<{filler}>"));
                let value = self.t.bind(format!("extractelement <1 x {element}> {read}, i32 0"));
                self.splat(element, &value)
            }
            (1, None) => self.t.bind(format!("load {ty}, ptr {place}, align {bytes}")),
            (1, Some(mask)) => self.masked_load(element, lanes, &place, bytes, mask, fill),
            (_, mask) => {
                let places = self.lane_places(element, &place, stride);
                let mask = mask.map_or_else(|| self.all_lanes(), str::to_string);
                let name = format!("@llvm.masked.gather.v{lanes}{}.v{lanes}p0", mangled(element));
                self.rt.declare(format!("declare {ty} {name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {ty})"));
                self.t.bind(format!(
                    "call {ty} {name}(<{lanes} x ptr> {places}, i32 {bytes}, <{lanes} x i1> {mask}, {ty} {fill})"
                ))
            }
        };
        self.loaded(dtype, text)
    }

    /// A vector as it lies in memory, as a register.
    fn loaded(&mut self, dtype: DType, text: String) -> Reg {
        if dtype == DType::Bool {
            let zero = "zeroinitializer";
            let text = self.t.bind(format!("icmp ne <{} x i8> {text}, {zero}", self.lanes));
            return self.reg(text, dtype, false);
        }
        self.reg(text, dtype, true)
    }

    fn masked_load(
        &mut self,
        element: &str,
        lanes: usize,
        place: &str,
        align: usize,
        mask: &str,
        fill: &str,
    ) -> String {
        let ty = format!("<{lanes} x {element}>");
        let name = format!("@llvm.masked.load.v{lanes}{}.p0", mangled(element));
        self.rt.declare(format!("declare {ty} {name}(ptr, i32, <{lanes} x i1>, {ty})"));
        self.t.bind(format!("call {ty} {name}(ptr {place}, i32 {align}, <{lanes} x i1> {mask}, {ty} {fill})"))
    }

    fn all_lanes(&self) -> String {
        format!("<{}>", vec!["i1 true"; self.lanes].join(", "))
    }

    fn lane_places(&mut self, element: &str, place: &str, stride: usize) -> String {
        let steps: Vec<String> = (0..self.lanes).map(|i| format!("i64 {}", i * stride)).collect();
        let lanes = self.lanes;
        self.t.bind(format!("getelementptr {element}, ptr {place}, <{lanes} x i64> <{}>", steps.join(", ")))
    }

    /// i4 elements, two a byte: the byte of each lane's element is gathered, its nibble sign-extended.
    fn read_nibbles(
        &mut self,
        base: &str,
        offset: &str,
        stride: usize,
        mask: Option<&str>,
        fill: &str,
    ) -> Reg {
        let lanes = self.lanes;
        let steps: Vec<String> = (0..lanes).map(|i| format!("i64 {}", i * stride)).collect();
        let first = self.splat("i64", offset);
        let v = format!("<{lanes} x i64>");
        let elements = self.t.bind(format!("add {v} {first}, <{}>", steps.join(", ")));
        let one = vec!["i64 1"; lanes].join(", ");
        let bytes = self.t.bind(format!("ashr {v} {elements}, <{one}>"));
        let places = self.t.bind(format!("getelementptr i8, ptr {base}, {v} {bytes}"));
        let mask = mask.map_or_else(|| self.all_lanes(), str::to_string);
        let ty = format!("<{lanes} x i8>");
        let name = format!("@llvm.masked.gather.v{lanes}i8.v{lanes}p0");
        self.rt.declare(format!("declare {ty} {name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {ty})"));
        let read = self.t.bind(format!(
            "call {ty} {name}(<{lanes} x ptr> {places}, i32 1, <{lanes} x i1> {mask}, {ty} {fill})"
        ));
        let odd = self.t.bind(format!("trunc {v} {elements} to <{lanes} x i1>"));
        let four = format!("<{}>", vec!["i8 4"; lanes].join(", "));
        let lowered = self.t.bind(format!("shl {ty} {read}, {four}"));
        let high = self.t.bind(format!("select <{lanes} x i1> {odd}, {ty} {read}, {ty} {lowered}"));
        let value = self.t.bind(format!("ashr {ty} {high}, {four}"));
        // A masked lane's fill is the element itself, not a byte of two.
        let text = self.t.bind(format!("select <{lanes} x i1> {mask}, {ty} {value}, {ty} {fill}"));
        self.reg(text, DType::I4, false)
    }

    /// The place of the element at `coords` of buffer `b`, and the stride along lanes.
    fn buffer_place(&mut self, b: usize, at: &At) -> (String, DType, usize) {
        let buffer = self.plan.buffers[b].clone();
        let mut offset = "0".to_string();
        for d in 0..buffer.ty.shape.rank() {
            if buffer.ty.shape.dims()[d] > 1 {
                let step = self.times(&at.coords[d], buffer.strides[d]);
                offset = self.add(&offset, &step);
            }
        }
        let bytes = self.times(&offset, element_bytes(buffer.ty.dtype));
        let bytes = self.add(&bytes, &buffer.offset.to_string());
        let place = self.t.bind(format!("getelementptr i8, ptr %arena, i64 {bytes}"));
        let stride =
            at.vector.map_or(0, |d| if buffer.ty.shape.dims()[d] > 1 { buffer.strides[d] } else { 0 });
        (place, buffer.ty.dtype, stride)
    }

    /// One vector of a buffer. Lanes past the tile's edge hold anything.
    pub(super) fn read_buffer(&mut self, b: usize, at: &At) -> Reg {
        let (place, dtype, stride) = self.buffer_place(b, at);
        let fill = self.storage_constant(dtype, 0.0);
        let mask = if stride > 1 { at.mask.clone() } else { None };
        self.read(dtype, &place, "0", stride, mask.as_deref(), &fill)
    }

    /// Writes one vector to a buffer. Where rows are padded, lanes past the tile's edge are written too, unless `exact`.
    pub(super) fn write_buffer(&mut self, b: usize, at: &At, value: &Reg, exact: bool) {
        let (place, dtype, stride) = self.buffer_place(b, at);
        let exact = exact || self.plan.buffers[b].dense;
        let mask = if exact || stride != 1 { at.mask.clone() } else { None };
        self.write(dtype, &place, "0", stride, mask.as_deref(), value);
    }

    /// Writes one vector to a block of an output; `at.mask` holds the lanes inside.
    pub(super) fn write_array(
        &mut self,
        array: OperandId,
        indices: &[Value],
        tile: &[usize],
        at: &At,
        value: &Reg,
    ) {
        let operand = self.kernel.operand(array);
        let (dtype, strides) = (operand.dtype, operand.shape.strides());
        let offset = self.array_offset(array, indices, tile, &at.coords);
        let base = self.arrays.get(&array).cloned().unwrap_or_default();
        let stride = at.vector.map_or(0, |d| strides[d]);
        self.write(dtype, &base, &offset, stride, at.mask.as_deref(), value);
    }

    /// One vector of an output, for writes that combine.
    pub(super) fn read_array(&mut self, array: OperandId, indices: &[Value], tile: &[usize], at: &At) -> Reg {
        let operand = self.kernel.operand(array);
        let (dtype, strides) = (operand.dtype, operand.shape.strides());
        let offset = self.array_offset(array, indices, tile, &at.coords);
        let base = self.arrays.get(&array).cloned().unwrap_or_default();
        let fill = self.storage_constant(dtype, 0.0);
        let stride = at.vector.map_or(0, |d| strides[d]);
        self.read(dtype, &base, &offset, stride, at.mask.as_deref(), &fill)
    }

    fn write(
        &mut self,
        dtype: DType,
        base: &str,
        offset: &str,
        stride: usize,
        mask: Option<&str>,
        value: &Reg,
    ) {
        let text = self.in_storage(value, dtype);
        let (element, bytes, lanes) = (storage_type(dtype), element_bytes(dtype), self.lanes);
        let ty = format!("<{lanes} x {element}>");
        if dtype == DType::I4 {
            return self.write_nibbles(base, offset, mask, &text);
        }
        let place = self.t.bind(format!("getelementptr {element}, ptr {base}, i64 {offset}"));
        match (stride, mask) {
            (0, _) => {
                let one = self.t.bind(format!("extractelement {ty} {text}, i32 0"));
                self.t.line(format!("store {element} {one}, ptr {place}, align {bytes}"));
            }
            (1, None) => self.t.line(format!("store {ty} {text}, ptr {place}, align {bytes}")),
            (1, Some(mask)) => {
                if let Some(count) = self.part_of_vector(mask, bytes) {
                    return self.write_part(element, &place, &text, count);
                }
                let name = format!("@llvm.masked.store.v{lanes}{}.p0", mangled(element));
                self.rt.declare(format!("declare void {name}({ty}, ptr, i32, <{lanes} x i1>)"));
                self.t.line(format!(
                    "call void {name}({ty} {text}, ptr {place}, i32 {bytes}, <{lanes} x i1> {mask})"
                ));
            }
            (_, mask) => {
                let places = self.lane_places(element, &place, stride);
                let mask = mask.map_or_else(|| self.all_lanes(), str::to_string);
                let name = format!("@llvm.masked.scatter.v{lanes}{}.v{lanes}p0", mangled(element));
                self.rt.declare(format!("declare void {name}({ty}, <{lanes} x ptr>, i32, <{lanes} x i1>)"));
                self.t.line(format!(
                    "call void {name}({ty} {text}, <{lanes} x ptr> {places}, i32 {bytes}, <{lanes} x i1> {mask})"
                ));
            }
        }
    }

    /// The number of leading lanes of a constant mask, where the CPU has no masked store for elements of `bytes`.
    fn part_of_vector(&self, mask: &str, bytes: usize) -> Option<usize> {
        let masked = match self.options.features.isa {
            Isa::Avx512 => true,
            Isa::Avx2 => bytes == 4,
            Isa::Baseline => false,
        };
        (!masked && mask.starts_with('<')).then(|| mask.matches("true").count())
    }

    /// Stores the first `count` lanes in parts of 8, 4, 2 and 1.
    fn write_part(&mut self, element: &str, place: &str, text: &str, count: usize) {
        let ty = format!("<{} x {element}>", self.lanes);
        let bytes = if element == "i8" {
            1
        } else if element == "i16" {
            2
        } else {
            4
        };
        let mut at = 0;
        while at < count {
            let size = 1 << (count - at).ilog2();
            let to = self.t.bind(format!("getelementptr {element}, ptr {place}, i64 {at}"));
            if size == 1 {
                let one = self.t.bind(format!("extractelement {ty} {text}, i32 {at}"));
                self.t.line(format!("store {element} {one}, ptr {to}, align {bytes}"));
            } else {
                let lanes: Vec<String> = (at..at + size).map(|lane| format!("i32 {lane}")).collect();
                let part = self.t.bind(format!(
                    "shufflevector {ty} {text}, {ty} poison, <{size} x i32> <{}>",
                    lanes.join(", ")
                ));
                self.t.line(format!("store <{size} x {element}> {part}, ptr {to}, align {bytes}"));
            }
            at += size;
        }
    }

    /// i4 elements along the last dimension, two a byte; their number is even.
    fn write_nibbles(&mut self, base: &str, offset: &str, mask: Option<&str>, text: &str) {
        let (lanes, half) = (self.lanes, self.lanes / 2);
        let pack = self.rt.pack_i4(lanes);
        let packed = self.t.bind(format!("call <{half} x i8> {pack}(<{lanes} x i8> {text})"));
        let byte = self.t.bind(format!("lshr i64 {offset}, 1"));
        let place = self.t.bind(format!("getelementptr i8, ptr {base}, i64 {byte}"));
        let Some(mask) = mask else {
            self.t.line(format!("store <{half} x i8> {packed}, ptr {place}, align 1"));
            return;
        };
        let even: Vec<String> = (0..half).map(|i| format!("i32 {}", 2 * i)).collect();
        let pairs = self.t.bind(format!(
            "shufflevector <{lanes} x i1> {mask}, <{lanes} x i1> poison, <{half} x i32> <{}>",
            even.join(", ")
        ));
        let name = format!("@llvm.masked.store.v{half}i8.p0");
        self.rt.declare(format!("declare void {name}(<{half} x i8>, ptr, i32, <{half} x i1>)"));
        self.t.line(format!(
            "call void {name}(<{half} x i8> {packed}, ptr {place}, i32 1, <{half} x i1> {pairs})"
        ));
    }

    /// A vector constant in storage bits.
    fn storage_constant(&self, dtype: DType, value: f64) -> String {
        let element = storage_type(dtype);
        let text = match dtype {
            DType::F32 => crate::runtime::float_constant(value as f32),
            d if d.is_float() => d.encode(value).to_string(),
            _ => (value as i64).to_string(),
        };
        format!("<{}>", vec![format!("{element} {text}"); self.lanes].join(", "))
    }
}

/// An LLVM type in the name of an overloaded intrinsic.
fn mangled(element: &str) -> &str {
    match element {
        "float" => "f32",
        "double" => "f64",
        other => other,
    }
}
