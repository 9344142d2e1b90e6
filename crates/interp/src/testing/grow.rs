//! From a recipe to a kernel: each step is made legal for the tiles it finds.

use tilewright_dtype::DType;
use tilewright_ir::{Array, Builder, Tile, rules::is_arithmetic};

use super::{ARRAYS, CELLS, Recipe, Step, array_name};

/// A larger tile is not grown further.
const MOST_ELEMENTS: usize = 128;
/// The last tiles made are stored.
const OUTPUTS: usize = 4;
const FLOATS: [DType; 4] = [DType::F32, DType::BF16, DType::F16, DType::F64];
const CASTS: [DType; 11] = DType::ALL;

/// Records the recipe's kernel.
pub fn record(recipe: &Recipe, k: &Builder) {
    let dims = recipe.array_dims();
    let tailed = recipe.tail != (0, 0);
    let arrays = ARRAYS.map(|dtype| {
        let name = array_name(dtype);
        if tailed { k.input_padded(&name, dtype, &dims, 1.0) } else { k.input(&name, dtype, &dims) }
    });
    let trips = k.scalar("trips", 0, 3);
    let [i, j] = k.grid([("i", CELLS), ("j", CELLS)]);
    let block = [recipe.tile.0, recipe.tile.1];
    let tiles = arrays.iter().map(|a| a.load((i, j), &block)).collect();
    let mut growth = Growth { k, tiles, arrays: &arrays, trips, cell: [i, j], block };
    for step in &recipe.steps {
        let made = growth.step(step);
        growth.tiles.push(made);
    }
    let made = &growth.tiles[ARRAYS.len()..];
    for (n, &tile) in made.iter().rev().take(OUTPUTS).enumerate() {
        let shape: Vec<usize> = tile.dims().iter().map(|d| d * CELLS).collect();
        let cut = usize::from(tailed && shape[0] > CELLS);
        let out = k.output(&format!("o{n}"), tile.ty().dtype, &[shape[0] - cut, shape[1]]);
        out.store((i, j), tile);
    }
}

struct Growth<'k, 'a> {
    k: &'k Builder,
    tiles: Vec<Tile<'k>>,
    arrays: &'a [Array<'k>],
    trips: Tile<'k>,
    cell: [Tile<'k>; 2],
    block: [usize; 2],
}

impl<'k> Growth<'k, '_> {
    fn step(&self, s: &Step) -> Tile<'k> {
        let x = self.pick(s.a);
        match s.op % 20 {
            0..3 => unary(x, s.b),
            3..6 => self.binary(arithmetic(x), s),
            6 => self.compare(arithmetic(x), s),
            7 => self.choose(x, s),
            8 | 9 => x.cast(CASTS[usize::from(s.b) % CASTS.len()]),
            10 => reduce(arithmetic(x), s),
            11 => x.t(),
            12 => slice(x, s),
            13 => concat(x, s),
            14 | 15 => self.dot(x, s),
            16 => self.dot_of_integers(x, s),
            17 => self.fold(s),
            18 => self.branch(arithmetic(x), s),
            _ => self.mask(x, s),
        }
    }

    fn pick(&self, n: u16) -> Tile<'k> {
        self.tiles[usize::from(n) % self.tiles.len()]
    }

    /// A tile of `x`'s dtype that broadcasts with it.
    fn partner(&self, x: Tile<'k>, n: u16) -> Tile<'k> {
        let joins = |t: &&Tile<'k>| t.dims().iter().zip(x.dims()).all(|(&p, q)| p == q || p == 1 || q == 1);
        let fitting: Vec<&Tile<'k>> = self.tiles.iter().filter(joins).collect();
        let found = if fitting.is_empty() { x } else { *fitting[usize::from(n) % fitting.len()] };
        found.cast(x.ty().dtype)
    }

    fn binary(&self, x: Tile<'k>, s: &Step) -> Tile<'k> {
        let y = self.partner(x, s.b);
        let int = x.ty().dtype == DType::I32;
        match s.c % if int { 8 } else { 6 } {
            0 => x + y,
            1 => x - y,
            2 => x * y,
            // An integer divisor of 0 would be poison.
            3 if int => x / y.abs().max(1),
            3 => x / y,
            4 => x.min(y),
            5 => x.max(y),
            6 => x % y.max(1),
            _ => x & y.xor(x),
        }
    }

    fn compare(&self, x: Tile<'k>, s: &Step) -> Tile<'k> {
        compare(x, self.partner(x, s.b), s.c)
    }

    fn choose(&self, x: Tile<'k>, s: &Step) -> Tile<'k> {
        let x = arithmetic(x);
        let y = self.partner(x, s.b);
        compare(x, y, s.c).select(x, y)
    }

    fn dot(&self, x: Tile<'k>, s: &Step) -> Tile<'k> {
        let y = self.partner(x, s.b).t();
        let (x, y) = if x.dims()[1] == y.dims()[0] { (x, y) } else { (x, x.t()) };
        let (from, acc) = match s.c % 6 {
            0 => (DType::BF16, DType::F32),
            1 => (DType::F16, DType::F32),
            2 => (DType::F64, DType::F64),
            3 => (DType::F8E4M3, DType::F32),
            4 => (DType::F8E5M2, DType::F32),
            _ => (DType::F32, DType::F32),
        };
        let c = self.k.splat(f64::from(s.c % 3) * 0.1, acc, &[x.dims()[0], y.dims()[1]]);
        x.cast(from).dot(y.cast(from), c)
    }

    fn dot_of_integers(&self, x: Tile<'k>, s: &Step) -> Tile<'k> {
        let from = [DType::I8, DType::U8, DType::I4][usize::from(s.c) % 3];
        let c = self.k.splat(f64::from(s.b), DType::I32, &[x.dims()[0], x.dims()[0]]);
        x.cast(from).dot(x.t().cast(DType::I8), c)
    }

    fn fold(&self, s: &Step) -> Tile<'k> {
        let n = usize::from(s.a) % ARRAYS.len();
        let dtype = FLOATS[usize::from(s.b) % FLOATS.len()];
        let start = self.k.splat(0.3, dtype, &self.block);
        let most = self.k.splat(f64::NEG_INFINITY, dtype, &[self.block[0], 1]);
        let hi = if s.c.is_multiple_of(2) { self.trips } else { self.k.int(i32::from(s.c % 3)) };
        let [sum, most] = self.k.fold("k", 0, hi, [start, most], |k, [sum, most]| {
            let x = self.arrays[n].load((k % 2, self.cell[1]), &self.block).cast(dtype);
            [sum * 0.7 + x, most.max(x.max_along(1))]
        });
        if s.c % 4 < 2 { sum } else { sum - most }
    }

    fn branch(&self, x: Tile<'k>, s: &Step) -> Tile<'k> {
        let first = self.cell[usize::from(s.b) % 2].eq(0);
        let data = || x.slice(&[0, 0], &[1, 1]).reshape(&[]).gt(1);
        let condition = if s.c.is_multiple_of(4) { data() } else { first };
        let [r] = self.k.when(condition, || [x + 1], || [-x]);
        r
    }

    fn mask(&self, x: Tile<'k>, s: &Step) -> Tile<'k> {
        let dims = x.dims();
        let at = self.k.iota(usize::from(s.b) % 2, &dims) + self.cell[0] * 3;
        let keep = at.lt(i32::from(s.c % 8));
        let x = arithmetic(x);
        if x.ty().dtype.is_float() && s.c.is_multiple_of(3) {
            keep.select(x, f64::NEG_INFINITY)
        } else {
            keep.select(x, 0)
        }
    }
}

/// `x` in a dtype that has arithmetic.
fn arithmetic(x: Tile<'_>) -> Tile<'_> {
    if is_arithmetic(x.ty().dtype) {
        x
    } else {
        x.cast(if x.ty().dtype.is_float() { DType::F32 } else { DType::I32 })
    }
}

fn unary(x: Tile<'_>, n: u16) -> Tile<'_> {
    if x.ty().dtype == DType::Bool {
        return !x;
    }
    let x = arithmetic(x);
    if x.ty().dtype == DType::I32 {
        return match n % 3 {
            0 => -x,
            1 => x.abs(),
            _ => !x,
        };
    }
    match n % 10 {
        0 => -x,
        1 => x.abs(),
        2 => x.exp(),
        3 => x.log(),
        4 => x.tanh(),
        5 => x.erf(),
        6 => x.sqrt(),
        7 => x.rsqrt(),
        8 => x.floor(),
        _ => x.round(),
    }
}

fn compare<'k>(x: Tile<'k>, y: Tile<'k>, n: u16) -> Tile<'k> {
    match n % 6 {
        0 => x.eq(y),
        1 => x.ne(y),
        2 => x.lt(y),
        3 => x.le(y),
        4 => x.gt(y),
        _ => x.ge(y),
    }
}

fn reduce<'k>(x: Tile<'k>, s: &Step) -> Tile<'k> {
    let dim = usize::from(s.b) % 2;
    match s.c % 4 {
        0 => x.max_along(dim),
        1 => x.min_along(dim),
        _ => x.sum(dim),
    }
}

fn slice<'k>(x: Tile<'k>, s: &Step) -> Tile<'k> {
    let dims = x.dims();
    let size: Vec<usize> = dims.iter().zip([s.b, s.c]).map(|(&d, n)| usize::from(n) % d + 1).collect();
    let start: Vec<usize> = dims.iter().zip(&size).map(|(d, n)| d - n).collect();
    x.slice(&start, &size)
}

fn concat<'k>(x: Tile<'k>, s: &Step) -> Tile<'k> {
    let dims = x.dims();
    if dims[0] * dims[1] * 2 > MOST_ELEMENTS {
        return x;
    }
    let dim = usize::from(s.b) % 2;
    let other = if is_arithmetic(x.ty().dtype) { -x } else { x };
    x.concat(other, dim)
}
