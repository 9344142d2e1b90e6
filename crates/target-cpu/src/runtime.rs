//! The leaf functions that an emitted module asks for: vector math, conversions, dot micro-kernels and packing.
//!
//! A lowering asks a [`Runtime`] for a function, gets its name to call, and appends [`Runtime::text`] to its module once
//! at the end. Only what was asked for is defined, each once, in the order of the names: same requests, same text.
//!
//! Text is for LLVM 17 or newer (opaque pointers). Storage in registers is by bit pattern: [`storage_type`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write};

use tilewright_dtype::DType;

use crate::features::CpuFeatures;

/// Collects the leaf functions of one module.
#[derive(Clone, Debug)]
pub struct Runtime {
    features: CpuFeatures,
    definitions: BTreeMap<String, String>,
    declarations: BTreeSet<String>,
}

impl Runtime {
    /// An empty runtime for code that runs on `features`.
    pub fn new(features: CpuFeatures) -> Self {
        Runtime { features, definitions: BTreeMap::new(), declarations: BTreeSet::new() }
    }

    /// The CPU that the functions are written for.
    pub fn features(&self) -> CpuFeatures {
        self.features
    }

    /// Adds a `declare` line. LLVM refuses a second declaration of one function, so every declaration of a module goes
    /// through here, the lowering's own included.
    pub fn declare(&mut self, line: impl Into<String>) {
        self.declarations.insert(line.into());
    }

    /// Adds the definition of `name` (with its `@`) unless it is there: `text` is called at most once a name.
    pub fn define(&mut self, name: &str, text: impl FnOnce(&mut Runtime) -> String) {
        if !self.definitions.contains_key(name) {
            let text = text(self);
            self.definitions.insert(name.to_string(), text);
        }
    }

    /// All declarations and definitions asked for so far, sorted by name.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in &self.declarations {
            let _ = writeln!(out, "{line}");
        }
        for text in self.definitions.values() {
            let _ = write!(out, "\n{text}");
        }
        out
    }
}

/// The LLVM type in which an element of `dtype` is loaded and stored: floats narrower than 32 bits are integers of
/// their width, i4 (unpacked) and bool take a byte.
pub fn storage_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "double",
        DType::F32 => "float",
        DType::BF16 | DType::F16 => "i16",
        DType::I32 => "i32",
        DType::F8E4M3 | DType::F8E5M2 | DType::I8 | DType::U8 | DType::I4 | DType::Bool => "i8",
    }
}

/// An f32 constant in LLVM's text form, exact: the bits of the f64 of equal value.
pub fn float_constant(value: f32) -> String {
    format!("0x{:016X}", f64::from(value).to_bits())
}

/// `<N x ty> <ty value, …>`: a vector constant whose lanes are all `value`, without its type in front.
pub(crate) fn splat(lanes: usize, ty: &str, value: impl Display) -> String {
    let lane = format!("{ty} {value}");
    format!("<{}>", vec![lane; lanes].join(", "))
}

/// `<i32 first, i32 first + step, …>` with `count` entries: a shuffle mask.
pub(crate) fn mask(indices: impl IntoIterator<Item = usize>) -> String {
    let lanes: Vec<String> = indices.into_iter().map(|i| format!("i32 {i}")).collect();
    format!("<{} x i32> <{}>", lanes.len(), lanes.join(", "))
}

/// The text of one function body: instructions with fresh names.
#[derive(Debug, Default)]
pub(crate) struct Body {
    text: String,
    next: usize,
}

impl Body {
    /// Appends `%tN = instruction` and returns `%tN`.
    pub fn bind(&mut self, instruction: impl Display) -> String {
        let name = format!("%t{}", self.next);
        self.next += 1;
        let _ = writeln!(self.text, "  {name} = {instruction}");
        name
    }

    /// Appends an instruction without a result.
    pub fn line(&mut self, instruction: impl Display) {
        let _ = writeln!(self.text, "  {instruction}");
    }

    /// Starts a block.
    pub fn label(&mut self, name: impl Display) {
        let _ = writeln!(self.text, "{name}:");
    }

    /// The whole function: `header { body }`.
    pub fn finish(self, header: impl Display) -> String {
        format!("{header} {{\n{}}}\n", self.text)
    }
}
