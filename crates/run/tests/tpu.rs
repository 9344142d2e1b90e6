//! The TPU compiler as a tool: what it makes, what it refuses, and how its process may end. Without the test harness, so
//! that this executable can be its own child.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test without the harness is still a test")]

use std::process::ExitCode;
use std::time::Duration;

use tilewright_diag::Result;
use tilewright_run::cache::Cache;
use tilewright_run::isolate::serve;
use tilewright_run::testing::libtpu_or_skip;
use tilewright_run::tpu::{Chip, Compiled, Module, Request, Topology, compile, work};

const ADD: &str = "module @jit_f {
  func.func public @main(%arg0: tensor<256x256xf32>, %arg1: tensor<256x256xf32>) -> tensor<256x256xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<256x256xf32>
    return %0 : tensor<256x256xf32>
  }
}
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("compile") => return exit(serve(work)),
        Some("abort") => return exit(serve(|_| std::process::abort())),
        Some("silent") => return exit(serve(|_| std::process::exit(0))),
        _ => {}
    }
    // What test runners ask of an executable before they run it.
    if args.iter().any(|a| a == "--list") {
        println!("tpu: test");
        return ExitCode::SUCCESS;
    }
    if libtpu_or_skip().is_some() {
        every_chip_gets_its_listings_and_the_second_time_they_are_kept();
        what_the_compiler_refuses_is_told_in_its_words();
        a_process_that_ends_badly_is_a_diagnostic();
    }
    println!("test tpu ... ok");
    ExitCode::SUCCESS
}

fn exit(served: Result<()>) -> ExitCode {
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(d) => {
            eprintln!("{d}");
            ExitCode::from(2)
        }
    }
}

fn module(text: &str) -> Module {
    Module::read(text.as_bytes().to_vec(), "f.mlir").unwrap()
}

fn request<'a>(module: &'a Module, chip: Chip, worker: &'a [&'a str]) -> Request<'a> {
    Request {
        module,
        name: "f.mlir",
        topology: module.smallest(chip),
        estimate: false,
        trace: false,
        limit: Duration::from_secs(300),
        worker,
    }
}

fn cache() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().join("cache"), 1 << 30).unwrap();
    (folder, cache)
}

fn every_chip_gets_its_listings_and_the_second_time_they_are_kept() {
    let (_folder, cache) = cache();
    let add = module(ADD);
    for chip in Chip::ALL {
        let compiled = compile(&request(&add, chip, &["compile"]), &cache).unwrap();
        let has = |end: &str| compiled.dump.files.keys().any(|name| name.ends_with(end));
        assert!(
            has("-final_bundles.txt") && has("TLP-hlo.txt"),
            "{chip:?}: {:?}",
            compiled.dump.files.keys()
        );
        let memory = compiled.memory.unwrap();
        assert_eq!((memory.arguments, memory.results), (2 * 256 * 256 * 4, 256 * 256 * 4), "{chip:?}");
        // This worker can do nothing: the answer is the kept one.
        let again: Compiled = compile(&request(&add, chip, &["abort"]), &cache).unwrap();
        assert_eq!(again.dump, compiled.dump);
    }
}

fn what_the_compiler_refuses_is_told_in_its_words() {
    let (_folder, cache) = cache();
    let refusal = |text: &str| compile(&request(&module(text), Chip::V5e, &["compile"]), &cache).unwrap_err();
    let d = refusal(&ADD.replace("stablehlo.add", "stablehlo.ad"));
    assert_eq!((d.code, d.class.exit_status()), ("run/tpu-refused", 2));
    let span = d.span.clone().unwrap();
    assert_eq!((span.file.as_str(), span.line), ("f.mlir", 3), "{d}");
    assert!(d.message.contains("stablehlo.ad"), "{d}");
    let d = refusal(&ADD.replace("256x256", "65536x65536"));
    assert_eq!((d.code, d.class.exit_status()), ("run/tpu-memory", 2));
    assert!(d.message.contains("HBM"), "{d}");
    let bytes = 65536u64 * 65536 * 4;
    for kind in ["argument 0", "argument 1", "result"] {
        let line = format!("{bytes} bytes (16.00 GiB): {kind} ");
        assert!(d.notes.iter().any(|n| n.starts_with(&line) && n.ends_with("f32[65536,65536]")), "{d}");
    }
    let gpu = ADD.replace(
        "stablehlo.add %arg0, %arg1 : tensor<256x256xf32>",
        "stablehlo.custom_call @__gpu$x(%arg0) \
        : (tensor<256x256xf32>) -> tensor<256x256xf32>",
    );
    let d = refusal(&gpu);
    assert!(d.code == "tpu/platform" && d.message.contains("GPUs") && d.message.contains("__gpu$x"), "{d}");
    let sharded = module(&ADD.replace("@jit_f", "@jit_f attributes {mhlo.num_partitions = 16 : i32}"));
    let topology = Topology::parse("v5e:2x2", Chip::V5e).unwrap();
    let small = Request { topology, ..request(&sharded, Chip::V5e, &["compile"]) };
    let d = compile(&small, &cache).unwrap_err();
    assert_eq!(d.code, "tpu/topology");
    assert!(d.help.clone().is_some_and(|h| h.contains("v5e:4x4")), "{d}");
}

fn a_process_that_ends_badly_is_a_diagnostic() {
    let (_folder, cache) = cache();
    let add = module(ADD);
    for (worker, limit, code) in [
        ("abort", 300_000, "run/tpu-crashed"),
        ("silent", 300_000, "run/tpu-crashed"),
        ("compile", 1, "run/tpu-hung"),
    ] {
        let words = [worker];
        let request = Request { limit: Duration::from_millis(limit), ..request(&add, Chip::V6e, &words) };
        let d = compile(&request, &cache).unwrap_err();
        assert_eq!((d.code, d.class.exit_status()), (code, 3), "{d}");
    }
}
