//! Random programs whose operands and scratch lie against unmapped pages: compiled code reads and writes nothing else.
//!
//! A stray access ends the process that makes it, so programs run in a child: this same test, asked by a variable.
#![allow(unsafe_code, reason = "maps pages and calls compiled code with pointers into them")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod common;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Command;

use common::{Case, case, compiler, joined, levels, lower, seeds};
use libloading::os::unix::Library;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use tilewright_dtype::Tensor;
use tilewright_ir::{Operand, Role};
use tilewright_run::module::EntryFn;
use tilewright_target_cpu::LoweredKernel;

const CHILD: &str = "TILEWRIGHT_GUARDED_CHILD";
const PAGE: usize = 4096;
/// What bytes hold that no one may write.
const CANARY: u8 = 0xA5;

/// Which edge of a block lies against an unmapped page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Against {
    Start,
    End,
}

#[test]
fn compiled_code_stays_within_its_operands_and_scratch() {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let this = std::env::current_exe().unwrap();
    let name = "compiled_code_stays_within_its_operands_and_scratch";
    let output = Command::new(this).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = told.lines().rev().take(12).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    assert!(output.status.success(), "{}: last was\n{}", output.status, last.join("\n"));
}

fn child() {
    let Some((compiler, _folder)) = compiler() else { return };
    let cases: Vec<Case> = seeds(32).map(|s| case(s, s % 2 == 1)).collect();
    for (n, batch) in cases.chunks(8).enumerate() {
        let all: Vec<&Case> = batch.iter().collect();
        let (program, _) = joined(&all);
        let features = levels()[n % levels().len()];
        let (lowered, flags) = lower(&program, features, "-O1").unwrap();
        let object = compiler.compile(&lowered.text, &flags).unwrap_or_else(|d| panic!("{d}"));
        // SAFETY: kernels have no initialisers.
        let library = unsafe { Library::new(&object.path) }.unwrap();
        let mut kernels = lowered.kernels.iter();
        for case in batch {
            for kernel in &case.program.kernels {
                let entry = kernels.next().unwrap();
                for against in [Against::End, Against::Start] {
                    let _ = writeln!(
                        std::io::stderr(),
                        "seed {} on {features}, {against:?}, {}",
                        case.seed,
                        kernel.name
                    );
                    run(&library, entry, case, &kernel.operands, against);
                }
            }
        }
    }
}

/// Runs one kernel, whatever earlier kernels would have made of its inputs.
fn run(library: &Library, lowered: &LoweredKernel, case: &Case, operands: &[Operand], against: Against) {
    let by_name: BTreeMap<&str, &Operand> = operands.iter().map(|o| (o.name.as_str(), o)).collect();
    let bytes = |o: &Operand| o.dtype.storage_bytes(o.shape.elements()).unwrap();
    let content = |o: &Operand| match case.inputs.get(&o.name) {
        Some(tensor) => tensor.bytes().to_vec(),
        None if o.is_output() => vec![CANARY; bytes(o)],
        None => Tensor::zeros(o.dtype, o.shape.dims()).unwrap().bytes().to_vec(),
    };
    let blocks: Vec<Block> = lowered
        .arrays
        .iter()
        .map(|name| {
            let o = by_name[name.as_str()];
            let align = (o.dtype.bits() as usize).div_ceil(8);
            Block::new(&content(o), align, against, o.is_output())
        })
        .collect();
    let scalars: Vec<i32> = lowered.scalars.iter().map(|name| case.inputs[name].get(0) as i32).collect();
    let arena = Block::new(&vec![CANARY; lowered.arena_bytes], 64, against, true);
    let pointers: Vec<*mut u8> = blocks.iter().map(|b| b.start).collect();
    // SAFETY: the entry is that of this kernel, with operands, scalars and scratch as the lowering states them.
    unsafe {
        let entry = library.get::<EntryFn>(lowered.entry.as_bytes()).unwrap();
        entry(pointers.as_ptr(), scalars.as_ptr(), 0, lowered.cells as i64, arena.start);
    }
    for (name, block) in lowered.arrays.iter().zip(&blocks) {
        assert!(block.margins_hold(), "bytes beside `{name}` were written");
        let o = by_name[name.as_str()];
        let read_only = matches!(o.role, Role::Input { .. } | Role::Table { .. });
        assert!(!read_only || block.content() == content(o), "`{name}` was written");
    }
    assert!(arena.margins_hold(), "bytes beside the scratch were written");
}

/// Bytes between two unmapped pages, against one of them as near as their alignment allows.
struct Block {
    map: *mut u8,
    mapped: usize,
    start: *mut u8,
    len: usize,
}

impl Block {
    fn new(content: &[u8], align: usize, against: Against, writable: bool) -> Block {
        let len = content.len();
        let inner = len.max(1).next_multiple_of(PAGE);
        let mapped = inner + 2 * PAGE;
        let offset = match against {
            Against::Start => PAGE,
            Against::End => (PAGE + inner - len) / align * align,
        };
        // SAFETY: a fresh mapping of this process's own, of which the outer pages are closed and the inner ones written.
        unsafe {
            let map =
                mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::empty(), MapFlags::PRIVATE).unwrap();
            let open = |flags| mprotect(map.byte_add(PAGE), inner, flags).unwrap();
            open(MprotectFlags::READ | MprotectFlags::WRITE);
            let map = map.cast::<u8>();
            map.add(PAGE).write_bytes(CANARY, inner);
            map.add(offset).copy_from(content.as_ptr(), len);
            if !writable {
                open(MprotectFlags::READ);
            }
            Block { map, mapped, start: map.add(offset), len }
        }
    }

    fn content(&self) -> &[u8] {
        // SAFETY: the mapping lives as long as the block, and no one writes it now.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// Whether the mapped bytes before and after the content are as they were.
    fn margins_hold(&self) -> bool {
        // SAFETY: as in `content`, for the pages between the closed ones.
        let inner = unsafe { std::slice::from_raw_parts(self.map.add(PAGE), self.mapped - 2 * PAGE) };
        let before = self.start.addr() - self.map.addr() - PAGE;
        inner[..before].iter().chain(&inner[before + self.len..]).all(|&b| b == CANARY)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the whole of the mapping, to which no reference is left.
        let _ = unsafe { munmap(self.map.cast(), self.mapped) };
    }
}
