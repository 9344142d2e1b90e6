//! Constants that a program's branches and transfers depend on: a kernel whose blocks and work come from tables in scalar
//! memory is executed with the tables that its HLO states. Without the test harness, so that this executable can be its
//! own child.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test without the harness is still a test")]

use std::process::ExitCode;
use std::time::Duration;

use tilewright_bundles::timing::Model;
use tilewright_bundles::{Options, simulate};
use tilewright_run::cache::Cache;
use tilewright_run::isolate::serve;
use tilewright_run::testing::libtpu_or_skip;
use tilewright_run::tpu::{Chip, Module, Request, Topology, compile, work};

/// Step `i` reads block `table[i]`, and works on it where `mask[i]` is not 0.
const BODY: &str = "
func.func @k(%i: i32, %table: memref<8xi32, #tpu.memory_space<smem>>, %mask: memref<8xi32, #tpu.memory_space<smem>>, \
%a: memref<256x128xf32, #tpu.memory_space<vmem>>, %o: memref<256x128xf32, #tpu.memory_space<vmem>>) \
attributes {tpu.core_type = #tpu.core_type<tc>, dimension_semantics = [#tpu.dimension_semantics<arbitrary>], \
iteration_bounds = array<i64: 8>, scalar_prefetch = 2 : i64, scratch_operands = 0 : i64, \
window_params = [{transform_indices = @ta, window_bounds = array<i64: 256, 128>}, \
{transform_indices = @to, window_bounds = array<i64: 256, 128>}]} {
%c0 = arith.constant 0 : index
%zero = arith.constant 0 : i32
%at = arith.index_cast %i : i32 to index
%m = memref.load %mask[%at] : memref<8xi32, #tpu.memory_space<smem>>
%p = arith.cmpi ne, %m, %zero : i32
scf.if %p {
%x = vector.load %a[%c0, %c0] : memref<256x128xf32, #tpu.memory_space<vmem>>, vector<256x128xf32>
%y = arith.mulf %x, %x : vector<256x128xf32>
vector.store %y, %o[%c0, %c0] : memref<256x128xf32, #tpu.memory_space<vmem>>, vector<256x128xf32>
}
return
}
func.func @ta(%i: i32, %table: memref<8xi32, #tpu.memory_space<smem>>, \
%mask: memref<8xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
%zero = arith.constant 0 : i32
%at = arith.index_cast %i : i32 to index
%b = memref.load %table[%at] : memref<8xi32, #tpu.memory_space<smem>>
return %b, %zero : i32, i32
}
func.func @to(%i: i32, %table: memref<8xi32, #tpu.memory_space<smem>>, \
%mask: memref<8xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
%zero = arith.constant 0 : i32
return %i, %zero : i32, i32
}
";

/// The operand is larger than any vector memory, so that no compiler keeps it on the chip.
const ROWS: usize = 1 << 19;

const BLOCK: u64 = 256 * 128 * 4;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "compile") {
        return match serve(work) {
            Ok(()) => ExitCode::SUCCESS,
            Err(d) => {
                eprintln!("{d}");
                ExitCode::from(2)
            }
        };
    }
    // What test runners ask of an executable before they run it.
    if args.iter().any(|a| a == "--list") {
        println!("tpu_tables: test");
        return ExitCode::SUCCESS;
    }
    if libtpu_or_skip().is_some() {
        tables_of_the_program_decide_what_is_read_and_done();
    }
    println!("test tpu_tables ... ok");
    ExitCode::SUCCESS
}

fn tables_of_the_program_decide_what_is_read_and_done() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().join("cache"), 1 << 30).unwrap();
    for chip in Chip::ALL {
        // Five times another block than before; and once.
        let all = run(chip, &cache, [0, 0, 1, 1, 1, 2, 0, 7], [1; 8]);
        let half = run(chip, &cache, [0, 0, 1, 1, 1, 2, 0, 7], [1, 0, 1, 0, 0, 0, 1, 1]);
        let one = run(chip, &cache, [5; 8], [1; 8]);
        assert_eq!((all.read, half.read, one.read), (5 * BLOCK, 5 * BLOCK, BLOCK), "{chip:?}");
        // A block is 32 registers of 8 rows.
        assert_eq!((all.stores, half.stores, one.stores), (256, 128, 256), "{chip:?}");
    }
}

struct Ran {
    read: u64,
    stores: u64,
}

fn run(chip: Chip, cache: &Cache, table: [i32; 8], mask: [i32; 8]) -> Ran {
    let module = Module::read(module(table, mask).into_bytes(), "tables").unwrap();
    let request = Request {
        module: &module,
        name: "tables",
        topology: Topology::fitting(chip, 1),
        estimate: false,
        trace: false,
        limit: Duration::from_secs(300),
        worker: &["compile"],
    };
    let files = compile(&request, cache).unwrap().dump.files;
    let text = files.iter().find(|(f, _)| f.ends_with("-TLP-hlo.txt")).unwrap();
    let hlo = tilewright_hlo::parse(text.1, text.0).unwrap();
    let kernel = hlo.entry().instructions.iter().find(|i| i.opcode == "custom-call").unwrap();
    let mut options = Options::new(Model::Calibrated);
    let known = hlo.constant_operands(hlo.entry(), kernel);
    assert_eq!(known.keys().copied().collect::<Vec<_>>(), [0, 1], "{chip:?}");
    for (index, words) in known {
        options.inputs.give(index, words);
    }
    let name = format!("-{}-", kernel.name);
    let listing = files.iter().find(|(f, _)| {
        f.contains(&name) && f.ends_with("-final_bundles.txt") && !f.contains("schedule-analysis")
    });
    let (file, text) = listing.unwrap();
    let listing = tilewright_bundles::parse(text.clone(), file, chip).unwrap();
    let report = simulate(&listing, &options).unwrap();
    assert_eq!((report.outcome.assumed_branches, report.outcome.failed_checks), (0, 0), "{chip:?}");
    let stores = report.units.iter().find(|u| u.unit == "vstore").map_or(0, |u| u.operations);
    // A table that comes from HBM is read too: a tile of 128 words.
    let tables = listing.instrs.iter().filter(|i| listing.name(i) == "dma.hbm_to_smem").count() as u64;
    let read = report.outcome.hbm_read - tables * 512;
    Ran { read, stores }
}

fn module(table: [i32; 8], mask: [i32; 8]) -> String {
    let config = format!(
        r#"{{\22custom_call_config\22: {{\22body\22: \22{}\22, \22needs_layout_passes\22: true}}}}"#,
        base64(BODY.as_bytes())
    );
    format!(
        "module {{
 func.func public @main(%x: tensor<{ROWS}x128xf32>) -> tensor<2048x128xf32> {{
  %t = stablehlo.constant dense<{table:?}> : tensor<8xi32>
  %m = stablehlo.constant dense<{mask:?}> : tensor<8xi32>
  %0 = stablehlo.custom_call @tpu_custom_call(%t, %m, %x) {{backend_config = \"{config}\", kernel_name = \"k\", \
operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>], \
result_layouts = [dense<[1, 0]> : tensor<2xindex>]}} : (tensor<8xi32>, tensor<8xi32>, tensor<{ROWS}x128xf32>) -> tensor<2048x128xf32>
  return %0 : tensor<2048x128xf32>
 }}
}}
"
    )
}

/// The body's form in the call.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |w, i| w << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        for i in 0..4u32 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            text.push(if i as usize > three.len() { '=' } else { char::from(digit) });
        }
    }
    text
}
