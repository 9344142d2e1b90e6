//! Programs of two kernels, wired by name: one scales `x` into the temporary `t`, the other adds up blocks of `t`.
#![allow(clippy::unwrap_used, reason = "in a test's helpers too")]

use std::collections::BTreeMap;

use tilewright_dtype::{DType, Tensor};
use tilewright_ir::{Builder, Program, ReduceOp};
use tilewright_run::cache::Cache;
use tilewright_run::compile::Compiler;
use tilewright_run::testing::clang_or_skip;
use tilewright_run::{Compiled, Pool, Prepared};
use tilewright_target_cpu::{Lowered, LoweredKernel};

const CELL: usize = 1024;
const CELLS: usize = 4;

/// As the two texts in this folder compute it.
fn program() -> Program {
    let scale = Builder::new("scale");
    let x = scale.input("x", DType::F32, &[CELLS * CELL]);
    let factor = scale.scalar("factor", 0, 10);
    let t = scale.output("t", DType::F32, &[CELLS * CELL]);
    let [c] = scale.grid([("c", CELLS)]);
    t.store((c,), x.load((c,), &[CELL]) * factor.cast(DType::F32));

    let total = Builder::new("total");
    let t = total.input("t", DType::F32, &[CELLS * CELL]);
    let pick = total.table("pick", CELLS, 0, CELLS as i32 - 1);
    let s = total.output_combined("s", DType::F32, &[1], ReduceOp::Add);
    let [c] = total.grid([("c", CELLS)]);
    s.store((0,), t.load((pick.at(c),), &[CELL]).sum(0));
    Program { kernels: vec![scale.finish().unwrap(), total.finish().unwrap()] }
}

fn lowered() -> Lowered {
    let kernel = |name: &str, arrays: &[&str], scalars: &[&str], serial| LoweredKernel {
        name: name.to_string(),
        entry: name.to_string(),
        cells: CELLS,
        arena_bytes: 64,
        arrays: arrays.iter().map(ToString::to_string).collect(),
        scalars: scalars.iter().map(ToString::to_string).collect(),
        serial,
    };
    Lowered {
        text: [include_str!("scale.ll"), include_str!("total.ll")].concat(),
        kernels: vec![
            kernel("scale", &["x", "t"], &["factor"], false),
            kernel("total", &["t", "pick", "s"], &[], true),
        ],
    }
}

fn compiled() -> Option<Compiled> {
    let clang = clang_or_skip()?;
    let folder = tempfile::tempdir().unwrap();
    let compiler = Compiler::new(clang, Cache::open(folder.path(), 1 << 20).unwrap());
    Some(Compiled::with(&compiler, &program(), &lowered(), &[]).unwrap())
}

/// Block `c` of `x` is all `c + 1`.
fn inputs(factor: f64, pick: [i32; CELLS]) -> BTreeMap<String, Tensor> {
    let x: Vec<f64> = (0..CELLS * CELL).map(|e| (e / CELL + 1) as f64).collect();
    let tensor = |dtype, shape: &[usize], values: &[f64]| Tensor::from_f64(dtype, shape, values).unwrap();
    BTreeMap::from([
        ("x".to_string(), tensor(DType::F32, &[CELLS * CELL], &x)),
        ("factor".to_string(), tensor(DType::I32, &[], &[factor])),
        ("pick".to_string(), tensor(DType::I32, &[CELLS], &pick.map(f64::from))),
    ])
}

#[test]
fn kernels_run_in_turn_and_combined_outputs_start_afresh() {
    let Some(compiled) = compiled() else { return };
    for threads in [1, 2] {
        let pool = Pool::new(threads).unwrap();
        let mut outputs = BTreeMap::new();
        for _ in 0..2 {
            compiled.run(&pool, &inputs(3.0, [0, 3, 3, 1]), &mut outputs).unwrap();
            assert_eq!(outputs.keys().collect::<Vec<_>>(), ["s"], "temporaries stay inside");
            assert_eq!(outputs["s"].to_f64(), [3.0 * 1024.0 * (1.0 + 4.0 + 4.0 + 2.0)]);
        }
    }
}

#[test]
fn prepared_arrays_can_be_changed_between_launches() {
    let Some(compiled) = compiled() else { return };
    let pool = Pool::new(2).unwrap();
    let mut prepared: Prepared = compiled.prepare(inputs(1.0, [0; CELLS])).unwrap();
    let total = |p: &mut Prepared| {
        p.run(&pool).unwrap();
        p.get("s").unwrap().get(0)
    };
    assert_eq!(total(&mut prepared), 4096.0);
    prepared.bytes_mut("x").unwrap()[..4 * CELL].fill(0);
    assert_eq!(total(&mut prepared), 0.0);
    let x = inputs(1.0, [0; CELLS]).remove("x").unwrap();
    prepared.set("x", x).unwrap();
    prepared.set("factor", Tensor::from_f64(DType::I32, &[], &[10.0]).unwrap()).unwrap();
    assert_eq!(total(&mut prepared), 40960.0);
    assert_eq!(prepared.into_tensors().len(), 5);
}

#[test]
fn what_the_program_does_not_take_is_refused() {
    let Some(compiled) = compiled() else { return };
    let pool = Pool::new(1).unwrap();
    let code = |change: &dyn Fn(&mut BTreeMap<String, Tensor>)| {
        let mut given = inputs(1.0, [0; CELLS]);
        change(&mut given);
        let ran = compiled.run(&pool, &given, &mut BTreeMap::new()).unwrap_err();
        let prepared = compiled.prepare(given).unwrap_err();
        assert_eq!(ran.code, prepared.code);
        ran.code
    };
    assert_eq!(code(&|g| drop(g.remove("x"))), "run/missing-array");
    let other = Tensor::try_new(DType::BF16, &[CELLS * CELL]).unwrap();
    assert_eq!(code(&|g| drop(g.insert("x".into(), other.clone()))), "run/wrong-array");
    let eleven = inputs(11.0, [0; CELLS]).remove("factor").unwrap();
    assert_eq!(code(&|g| drop(g.insert("factor".into(), eleven.clone()))), "run/out-of-range");
    for pick in [[0, 0, 0, 4], [-1, 0, 0, 0]] {
        let pick = inputs(1.0, pick).remove("pick").unwrap();
        assert_eq!(code(&|g| drop(g.insert("pick".into(), pick.clone()))), "run/out-of-range");
    }
    let mut prepared = compiled.prepare(inputs(2.0, [0; CELLS])).unwrap();
    assert_eq!(prepared.set("factor", eleven).unwrap_err().code, "run/out-of-range");
    assert_eq!(prepared.get("factor").unwrap().get(0), 2.0, "the refused scalar is not kept");
    assert_eq!(prepared.bytes_mut("pick").unwrap_err().code, "run/wrong-array");
    assert_eq!(prepared.get("z").unwrap_err().code, "run/missing-array");
}

#[test]
fn code_of_another_program_is_refused() {
    let Some(clang) = clang_or_skip() else { return };
    let folder = tempfile::tempdir().unwrap();
    let compiler = Compiler::new(clang, Cache::open(folder.path(), 1 << 20).unwrap());
    let mut other = lowered();
    other.kernels[1].arrays[0] = "u".to_string();
    let d = Compiled::with(&compiler, &program(), &other, &[]).unwrap_err();
    assert_eq!(d.code, "run/lowered-mismatch");
    assert!(d.message.contains("`u`"), "{d}");
}
