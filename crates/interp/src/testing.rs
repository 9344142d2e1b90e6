//! Random verified programs and inputs, to hold executors against the interpreter.
//!
//! A [`Recipe`] is plain data that shrinks well: a list of [`Step`]s, each of which adds an op on tiles made before.
//! Whatever its numbers are, it builds a verified program.
//!
//! ```
//! use proptest::prelude::*;
//! use tilewright_interp::testing::recipes;
//! use tilewright_interp::{Domain, Options, run};
//!
//! proptest!(ProptestConfig::with_cases(4), |(recipe in recipes(8))| {
//!     let (program, inputs) = (recipe.program().unwrap(), recipe.inputs().unwrap());
//!     prop_assert!(run(&program, &inputs, Domain::Exact, &Options::default()).is_ok());
//! });
//! ```

mod data;
mod grow;
mod wide;

use proptest::collection::vec;
use proptest::prelude::*;
use tilewright_diag::Result;
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::{Builder, Program};

use crate::inputs::Inputs;
pub use data::Family;
pub use wide::{Limits, wide};

/// One op to add; the numbers choose it, its operands and its attributes, and each is taken modulo what there is.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Chooses the kind of op.
    pub op: u8,
    /// Chooses the first operand among the tiles so far.
    pub a: u16,
    /// Chooses the second operand, or an attribute.
    pub b: u16,
    /// Chooses an attribute.
    pub c: u16,
}

/// A program and its inputs.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Rows and columns of the loaded blocks.
    pub tile: (usize, usize),
    /// Rows and columns that the last blocks of each array lack.
    pub tail: (usize, usize),
    /// The run-time trip count of folds.
    pub trips: u8,
    /// The ops between loads and stores.
    pub steps: Vec<Step>,
    /// What the inputs are like.
    pub family: Family,
    /// Seed of the inputs.
    pub seed: u64,
}

/// Recipes of up to `steps` steps.
pub fn recipes(steps: usize) -> impl Strategy<Value = Recipe> {
    let step = (any::<u8>(), any::<u16>(), any::<u16>(), any::<u16>()).prop_map(|(op, a, b, c)| Step {
        op,
        a,
        b,
        c,
    });
    let family = prop::sample::select(Family::ALL);
    let tile = (1..8usize, 1..8usize);
    (tile, (0..3usize, 0..3usize), 0..4u8, vec(step, 1..=steps.max(1)), family, any::<u64>()).prop_map(
        |(tile, tail, trips, steps, family, seed)| {
            let tail = (tail.0.min(tile.0 - 1), tail.1.min(tile.1 - 1));
            Recipe { tile, tail, trips, steps, family, seed }
        },
    )
}

/// The element types of the program's arrays, one array each.
pub const ARRAYS: [DType; 8] =
    [DType::F32, DType::BF16, DType::F16, DType::I32, DType::F64, DType::I8, DType::F8E5M2, DType::F8E4M3];

/// Grid cells along each of the two dimensions.
const CELLS: usize = 2;

impl Recipe {
    /// The program: one kernel over a grid of 2 by 2.
    pub fn program(&self) -> Result<Program> {
        let k = Builder::new("random");
        grow::record(self, &k);
        k.finish().map(Program::single)
    }

    /// Its inputs.
    pub fn inputs(&self) -> Result<Inputs> {
        let mut random = data::Random::new(self.seed);
        let dims = self.array_dims();
        let mut inputs = Inputs::new();
        for dtype in ARRAYS {
            let values: Vec<f64> =
                (0..dims[0] * dims[1]).map(|_| self.family.value(dtype, &mut random)).collect();
            inputs.insert(array_name(dtype), Tensor::from_f64(dtype, &dims, &values)?);
        }
        inputs.insert("trips".into(), Tensor::from_f64(DType::I32, &[], &[f64::from(self.trips % 4)])?);
        Ok(inputs)
    }

    fn array_dims(&self) -> [usize; 2] {
        [CELLS * self.tile.0 - self.tail.0, CELLS * self.tile.1 - self.tail.1]
    }
}

fn array_name(dtype: DType) -> String {
    format!("x_{dtype}")
}
