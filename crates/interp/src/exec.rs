//! The walk of one grid cell over a kernel's body.

use std::sync::Arc;

use tilewright_diag::{Diagnostic, Result};
use tilewright_ir::{Block, Const, Kernel, Loc, Op, OpKind, OperandId, Role, Shape, TileType, Value};

use crate::domain::Domain;
use crate::memory::Source;
use crate::output::Write;
use crate::tile::{Poison, Tile, constant};
use crate::{cast, dot, elementwise, reduce, select, shape};

/// What a cell reads beside its own index.
pub(crate) struct Context<'a> {
    pub kernel: &'a Kernel,
    /// Arrays and tables by operand; `None` for scalars and outputs.
    pub sources: Vec<Option<Source<'a>>>,
    /// Scalars in declaration order.
    pub scalars: Vec<i64>,
    pub domain: Domain,
}

/// What a cell did.
#[derive(Default)]
pub(crate) struct Effects {
    pub writes: Vec<Write>,
    /// Each `if` whose condition was unknown.
    pub undecided: Vec<Loc>,
}

/// Runs one cell of a verified kernel.
pub(crate) fn cell(context: &Context<'_>, cell: usize) -> Result<Effects> {
    let kernel = context.kernel;
    let mut walk = Walk {
        context,
        tiles: vec![None; kernel.values.len()],
        effects: Effects::default(),
        unknown: false,
        poisoned: None,
    };
    let indices = kernel.cell_index(cell).into_iter().map(|i| i as i64);
    for (&arg, x) in kernel.body.args.iter().zip(indices.chain(context.scalars.iter().copied())) {
        walk.set(arg, Arc::new(Tile::index(x)));
    }
    walk.block(&kernel.body)?;
    Ok(walk.effects)
}

struct Walk<'a> {
    context: &'a Context<'a>,
    tiles: Vec<Option<Arc<Tile>>>,
    effects: Effects,
    /// Whether an enclosing `if` may have run its other body.
    unknown: bool,
    /// The origin of the poison that decided that the current ops run.
    poisoned: Option<Loc>,
}

impl<'a> Walk<'a> {
    fn set(&mut self, v: Value, tile: Arc<Tile>) {
        self.tiles[v.0 as usize] = Some(tile);
    }

    fn get(&self, v: Value) -> Result<Arc<Tile>> {
        let tile = self.tiles.get(v.0 as usize).and_then(Option::as_ref);
        tile.cloned().ok_or_else(|| {
            Diagnostic::request("interp/undefined", format!("value {} is used before it is defined", v.0))
        })
    }

    fn all(&self, values: &[Value]) -> Result<Vec<Arc<Tile>>> {
        values.iter().map(|&v| self.get(v)).collect()
    }

    fn block(&mut self, block: &'a Block) -> Result<()> {
        for op in &block.ops {
            self.op(op).map_err(|d| d.at_if_absent(Some(op.loc.span())))?;
        }
        Ok(())
    }

    fn op(&mut self, op: &'a Op) -> Result<()> {
        let operands = self.all(&op.operands)?;
        match &op.kind {
            OpKind::Fold => self.fold(op, &operands),
            OpKind::If => self.branch(op, &operands),
            OpKind::Store { array } => self.store(op, *array, &operands),
            kind => {
                let Some(&result) = op.results.first() else { return Ok(()) };
                let tile = self.value(kind, op, &operands)?;
                self.set(result, Arc::new(tile));
                Ok(())
            }
        }
    }

    /// The one result of an op without effects or bodies.
    fn value(&self, kind: &OpKind, op: &Op, operands: &[Arc<Tile>]) -> Result<Tile> {
        let Context { kernel, domain, .. } = self.context;
        let ty = op.results.first().map_or(TileType::INDEX, |&r| kernel.ty(r));
        let arity =
            || Diagnostic::request("interp/undefined", format!("`{}` lacks operands", kind.form().name()));
        let x = || operands.first().ok_or_else(arity);
        let y = || operands.get(1).ok_or_else(arity);
        Ok(match kind {
            OpKind::Splat(value) => splat(*value, ty, domain),
            OpKind::Iota { dim } => shape::iota(*dim, ty),
            OpKind::Load { array } => return self.load(op, *array, ty, operands),
            OpKind::Lookup { table } => return self.lookup(op, *table, operands),
            OpKind::Cast => cast::cast(x()?, ty.dtype, domain),
            OpKind::Unary(f) => elementwise::unary(*f, x()?, domain),
            OpKind::Binary(f) => elementwise::binary(*f, x()?, y()?, domain, &op.loc),
            OpKind::Compare(f) => elementwise::compare(*f, x()?, y()?),
            OpKind::Select => select::select(x()?, y()?, operands.get(2).ok_or_else(arity)?),
            OpKind::Broadcast => shape::broadcast(x()?, ty.shape),
            OpKind::Reshape => shape::reshape(x()?, ty.shape),
            OpKind::Transpose { perm } => shape::transpose(x()?, perm, ty.shape),
            OpKind::Slice { start } => shape::slice(x()?, start, ty.shape),
            OpKind::Concat { dim } => shape::concat(x()?, y()?, *dim, ty.shape),
            OpKind::Reduce { op: f, dim } => reduce::reduce(*f, x()?, *dim, domain),
            OpKind::Dot => dot::dot(x()?, y()?, operands.get(2).ok_or_else(arity)?, domain),
            OpKind::Store { .. } | OpKind::Fold | OpKind::If => return Err(arity()),
        })
    }

    fn load(&self, op: &Op, array: OperandId, ty: TileType, indices: &[Arc<Tile>]) -> Result<Tile> {
        let pad = match self.context.kernel.operand(array).role {
            Role::Input { pad } => pad,
            _ => None,
        };
        let source = self.source(array)?;
        match scalars(indices)? {
            Indices::Known(index) => {
                let offset = offsets(&index, ty.shape.dims());
                Ok(source.load(ty, &offset, pad, &self.context.domain, &op.loc))
            }
            Indices::Poison(origin) => Ok(Tile::new(ty, vec![0.0; ty.shape.elements()]).all_poison(&origin)),
        }
    }

    fn lookup(&self, op: &Op, table: OperandId, index: &[Arc<Tile>]) -> Result<Tile> {
        let source = self.source(table)?;
        match scalars(index)? {
            Indices::Known(index) => {
                // A table is read like an array by blocks of one element.
                let one = TileType::new(TileType::INDEX.dtype, Shape::new(&[1]).unwrap_or_default());
                let one = source.load(one, &index, None, &self.context.domain, &op.loc);
                Ok(Tile { ty: TileType::INDEX, ..one })
            }
            Indices::Poison(origin) => Ok(Tile::index(0).all_poison(&origin)),
        }
    }

    fn source(&self, id: OperandId) -> Result<Source<'a>> {
        self.context.sources.get(id.0 as usize).copied().flatten().ok_or_else(|| {
            let name = &self.context.kernel.operand(id).name;
            Diagnostic::request("interp/undefined", format!("`{name}` holds nothing to read"))
        })
    }

    fn store(&mut self, op: &Op, array: OperandId, operands: &[Arc<Tile>]) -> Result<()> {
        let Some((tile, indices)) = operands.split_last() else { return Ok(()) };
        let (index, origin) = match scalars(indices)? {
            Indices::Known(index) => (index, self.poisoned.clone()),
            // Wherever it would go: it is reported at the first block.
            Indices::Poison(origin) => (vec![0; indices.len()], Some(origin)),
        };
        let offset = offsets(&index, tile.dims());
        let mut tile = tile.clone();
        if let Some(origin) = origin {
            tile = Arc::new((*tile).clone().all_poison(&origin));
        }
        if self.unknown {
            tile = Arc::new(undecided((*tile).clone()));
        }
        self.effects.writes.push(Write { array: array.0 as usize, offset, tile, at: op.loc.clone() });
        Ok(())
    }

    fn fold(&mut self, op: &'a Op, operands: &[Arc<Tile>]) -> Result<()> {
        let (Some(bounds), Some(body)) = (operands.get(..2), op.regions.first()) else { return Ok(()) };
        let mut carried = operands[2..].to_vec();
        let (lo, hi) = match scalars(bounds)? {
            Indices::Known(b) => (b[0], b[1]),
            Indices::Poison(origin) => {
                carried.iter_mut().for_each(|t| *t = Arc::new((**t).clone().all_poison(&origin)));
                (0, 0)
            }
        };
        for i in lo..hi {
            let index = Arc::new(Tile::index(i));
            for (&arg, tile) in body.args.iter().zip(std::iter::once(index).chain(carried)) {
                self.set(arg, tile);
            }
            self.block(body)?;
            carried = self.all(&body.yields)?;
        }
        for (&result, tile) in op.results.iter().zip(carried) {
            self.set(result, tile);
        }
        Ok(())
    }

    fn branch(&mut self, op: &'a Op, operands: &[Arc<Tile>]) -> Result<()> {
        let (Some(cond), [yes, no]) = (operands.first(), op.regions.as_slice()) else { return Ok(()) };
        let unknown = cond.e.is_some();
        let poison = cond.poison.as_ref().map(|p| p.origin.clone());
        if unknown {
            self.effects.undecided.push(op.loc.clone());
        }
        let outer = (self.unknown, self.poisoned.clone());
        self.unknown |= unknown;
        self.poisoned = self.poisoned.take().or_else(|| poison.clone());
        let body = if cond.v.first() == Some(&1.0) { yes } else { no };
        self.block(body)?;
        (self.unknown, self.poisoned) = outer;
        for (&result, tile) in op.results.iter().zip(self.all(&body.yields)?) {
            let tile = match (unknown, &poison) {
                (false, None) => tile,
                (_, Some(origin)) => Arc::new((*tile).clone().all_poison(origin)),
                (true, None) => Arc::new(undecided((*tile).clone())),
            };
            self.set(result, tile);
        }
        Ok(())
    }
}

fn splat(value: Const, ty: TileType, domain: &Domain) -> Tile {
    let (v, e) = constant(value, ty.dtype, domain);
    let n = ty.shape.elements();
    Tile { e: (e != 0.0).then(|| vec![e; n]), ..Tile::new(ty, vec![v; n]) }
}

/// The other body might have run, and what it would have yielded was not computed: nothing is known.
fn undecided(tile: Tile) -> Tile {
    Tile { e: Some(vec![f64::INFINITY; tile.v.len()]), ..tile }
}

enum Indices {
    Known(Vec<i64>),
    Poison(Loc),
}

/// Scalars that drive control flow or addresses; `interp/data-dependent-index` where rounding may change one.
fn scalars(tiles: &[Arc<Tile>]) -> Result<Indices> {
    let mut known = Vec::with_capacity(tiles.len());
    for tile in tiles {
        if let Some(Poison { origin, .. }) = &tile.poison {
            return Ok(Indices::Poison(origin.clone()));
        }
        let x = tile.v.first().copied().unwrap_or(0.0);
        if let Some(e) = tile.e.as_ref().and_then(|e| e.first()) {
            return Err(Diagnostic::request(
                "interp/data-dependent-index",
                format!("an index or bound is {x} give or take {e}: rounding decides it"),
            )
            .rule("block indices and fold bounds do not depend on rounded values"));
        }
        known.push(x as i64);
    }
    Ok(Indices::Known(known))
}

/// Element offsets of a block; saturated, which is past every edge.
fn offsets(index: &[i64], dims: &[usize]) -> Vec<i64> {
    index.iter().zip(dims).map(|(&i, &d)| i.saturating_mul(d as i64)).collect()
}
