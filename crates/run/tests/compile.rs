//! From LLVM IR text to results, through clang and the cache.
#![allow(unsafe_code, reason = "byte views of numbers")]
#![allow(clippy::unwrap_used, reason = "in a test's helpers too")]

use std::fs;
use std::sync::{Arc, Mutex};

use tilewright_run::cache::Cache;
use tilewright_run::compile::{Compiler, Object};
use tilewright_run::launch::{Arg, ArgSpec, Pool, Signature};
use tilewright_run::module::Module;
use tilewright_run::testing::{clang_or_skip, write_script};

const SCALE: &str = include_str!("scale.ll");
const CELL: usize = 1024;

type Lines = Arc<Mutex<Vec<String>>>;

/// A compiler with a cache of its own, and what it logs; `None` where clang is missing.
fn compiler() -> Option<(tempfile::TempDir, Compiler, Lines)> {
    let clang = clang_or_skip()?;
    let folder = tempfile::tempdir().unwrap();
    let lines = Lines::default();
    let sink = lines.clone();
    let log = Arc::new(move |line: &str| sink.lock().unwrap().push(line.to_string()));
    let cache = Cache::open(folder.path(), 1 << 20).unwrap().with_log(log);
    Some((folder, Compiler::new(clang, cache), lines))
}

/// Three times each of 0, 1, 2 …, computed by `object`.
fn scaled(object: &Object, cells: usize, threads: usize, chunk: i64) -> Vec<f32> {
    let entry = Module::load(object).unwrap().entry("scale").unwrap();
    // f64 storage for the operands' alignment.
    let mut input = vec![0f64; cells * CELL / 2];
    let mut output = vec![f64::NAN; cells * CELL / 2];
    // SAFETY: every pattern of bytes is an f32, and f64 is aligned for it.
    let floats = unsafe { input.align_to_mut::<f32>().1 };
    floats.iter_mut().enumerate().for_each(|(n, x)| *x = n as f32);
    let bytes = cells * CELL * 4;
    let signature = Signature {
        args: vec![ArgSpec { bytes, writable: false }, ArgSpec { bytes, writable: true }],
        scalars: 1,
        arena_bytes: 64,
    };
    // SAFETY: bytes have no invalid pattern, neither to read nor to write.
    let mut args = unsafe { [Arg::Read(input.align_to().1), Arg::Write(output.align_to_mut().1)] };
    let pool = Pool::new(threads).unwrap();
    pool.run(&entry, &signature, &mut args, &[3], cells as i64, chunk).unwrap();
    // SAFETY: as above.
    unsafe { output.align_to::<f32>().1.to_vec() }
}

#[test]
fn a_kernel_computes_the_same_on_any_number_of_threads() {
    let Some((_folder, compiler, _)) = compiler() else { return };
    let object = compiler.compile(SCALE, &["-march=x86-64-v3".into()]).unwrap();
    for cells in [1, 3, 40] {
        let expected: Vec<f32> = (0..cells * CELL).map(|n| 3.0 * n as f32).collect();
        for (threads, chunk) in [(1, 0), (2, 0), (4, 0), (4, 1), (2, 7)] {
            assert!(scaled(&object, cells, threads, chunk) == expected, "{cells} cells, {threads} threads");
        }
    }
}

#[test]
fn what_was_compiled_is_found_again_unless_something_differs() {
    let Some((_folder, compiler, _)) = compiler() else { return };
    let first = compiler.compile(SCALE, &[]).unwrap();
    let again = compiler.compile(SCALE, &[]).unwrap();
    assert!(!first.cached && again.cached);
    assert_eq!((first.key, first.bytes()), (again.key, again.bytes()));
    let flags = compiler.compile(SCALE, &["-O1".into()]).unwrap();
    let text = compiler.compile(&format!("{SCALE}\n"), &[]).unwrap();
    assert!(!flags.cached && !text.cached);
    assert!(flags.key != first.key && text.key != first.key);
}

#[test]
fn a_truncated_entry_is_named_and_compiled_again() {
    let Some((_folder, compiler, lines)) = compiler() else { return };
    let first = compiler.compile(SCALE, &[]).unwrap();
    let whole = fs::metadata(&first.path).unwrap().len();
    fs::File::options().write(true).open(&first.path).unwrap().set_len(whole / 2).unwrap();
    let second = compiler.compile(SCALE, &[]).unwrap();
    assert!(!second.cached);
    assert_eq!(first.bytes(), second.bytes(), "the same text compiles to the same bytes");
    let lines = lines.lock().unwrap();
    assert!(lines.len() == 1 && lines[0].contains(&*first.path.to_string_lossy()), "{lines:?}");
    assert_eq!(scaled(&second, 1, 1, 0)[5], 15.0);
}

#[test]
fn an_entry_evicted_before_it_is_loaded_is_restored() {
    let Some((_folder, compiler, _)) = compiler() else { return };
    let object = compiler.compile(SCALE, &[]).unwrap();
    fs::remove_file(&object.path).unwrap();
    assert_eq!(scaled(&object, 1, 1, 0)[5], 15.0);
}

#[test]
fn several_may_compile_the_same_text_at_once() {
    let Some((folder, compiler, lines)) = compiler() else { return };
    // A cache each, as in processes that know nothing of one another.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let cache = Cache::open(folder.path(), 1 << 20).unwrap();
                let compiler = Compiler::new(compiler.clang().clone(), cache);
                let object = compiler.compile(SCALE, &[]).unwrap();
                assert_eq!(scaled(&object, 2, 1, 0)[5], 15.0);
            });
        }
    });
    assert!(compiler.compile(SCALE, &[]).unwrap().cached);
    assert!(lines.lock().unwrap().is_empty());
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(names.len(), 1, "one entry and no scratch: {names:?}");
}

#[test]
fn a_failed_compile_says_what_where_and_how_to_repeat_it() {
    let Some((_folder, compiler, _)) = compiler() else { return };
    let text = "define void @broken() {\n  ret i32 %nothing\n}\n";
    let d = compiler.compile(text, &["-O1".into()]).unwrap_err();
    assert_eq!((d.code, d.class.exit_status()), ("run/compile-failed", 3));
    let shown = d.to_string();
    assert!(shown.contains("%nothing") && shown.contains("-x ir -O2 -fPIC"), "{shown}");
    let kept = d.notes.iter().find_map(|n| n.strip_prefix("the emitted code: ")).unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), text);
    let repeat = d.notes.iter().find_map(|n| n.strip_prefix("to repeat: ")).unwrap();
    let repeated = std::process::Command::new("/bin/sh").args(["-c", repeat]).output().unwrap();
    assert!(!repeated.status.success());
    assert!(String::from_utf8_lossy(&repeated.stderr).contains("%nothing"));
}

#[test]
fn a_compiler_that_crashes_is_named_by_its_signal() {
    let folder = tempfile::tempdir().unwrap();
    let body = "[ \"$1\" = --version ] && { echo 'clang version 19.0.0'; exit; }\nkill -SEGV $$";
    let path = write_script(folder.path(), "clang", body).unwrap();
    let clang = tilewright_run::tools::find_clang(Some(path.as_os_str()), None).unwrap();
    let compiler = Compiler::new(clang, Cache::open(folder.path().join("cache"), 1 << 20).unwrap());
    let d = compiler.compile(SCALE, &[]).unwrap_err();
    assert!(d.code == "run/compile-failed" && d.message.contains("SIGSEGV"), "{d}");
}

#[test]
fn assembly_shows_the_entry_and_obeys_the_flags() {
    let Some((_folder, compiler, _)) = compiler() else { return };
    let text =
        compiler.assembly(SCALE, &["-march=x86-64-v4".into(), "-mprefer-vector-width=512".into()]).unwrap();
    assert!(text.contains("scale:") && text.contains("vmulps"), "{text}");
}

#[test]
fn code_that_calls_libm_and_libc_loads_and_code_that_calls_nowhere_does_not() {
    let Some((_folder, compiler, _)) = compiler() else { return };
    let calling = |function: &str| {
        format!(
            "declare float @{function}(float, float, float)\n\
             define void @entry(ptr %a, ptr %s, i64 %b, i64 %e, ptr %w) {{\n  \
             %x = call float @{function}(float 1.0, float 2.0, float 3.0)\n  store float %x, ptr %w\n  ret void\n}}\n"
        )
    };
    let object = compiler.compile(&calling("fmaf"), &["-fno-builtin".into()]).unwrap();
    let module = Module::load(&object).unwrap();
    module.entry("entry").unwrap();
    let d = module.entry("exit_stage_left").unwrap_err();
    assert_eq!(d.code, "run/no-such-entry");
    let object = compiler.compile(&calling("no_such_function"), &[]).unwrap();
    let d = Module::load(&object).unwrap_err();
    assert_eq!(d.code, "run/load-failed");
    assert!(d.to_string().contains("no_such_function"), "{d}");
}
