//! The measured accuracy and speed of the vector math functions on each instruction set.
//!
//! `cargo run --release --example leaf_math [-- --all] [CPU …] [OP …]`: every 257th f32 pattern, or all 2^32 of them
//! (some ten minutes a CPU).
#![allow(unsafe_code, reason = "calls the code under measurement")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a fault of the run ends it")]

#[path = "../tests/leaf_common/mod.rs"]
mod leaf_common;

use std::time::Instant;

use leaf_common::accuracy::{BLOCK, Map, module, worst};
use leaf_common::{clang, levels, load};
use tilewright_dtype::DType;
use tilewright_target_cpu::math::Math;

fn main() {
    let Some(clang) = clang() else { return };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let stride = if arguments.iter().any(|a| a == "--all") { 1 } else { 257 };
    let mut ops: Vec<Math> =
        Math::ALL.into_iter().filter(|op| arguments.iter().any(|a| a == op.name())).collect();
    if ops.is_empty() {
        ops.extend(Math::ALL);
    }
    let mut cpus = levels();
    if cpus.iter().any(|c| arguments.contains(&c.name())) {
        cpus.retain(|c| arguments.contains(&c.name()));
    }
    println!("every {stride}th f32 pattern; speed on {BLOCK} values within the first-level cache");
    println!("{:<20}{:<8}{:>10}{:>10}{:>18}{:>12}", "cpu", "op", "max ulp", "stated", "at", "ns/value");
    for features in cpus {
        let library = load(clang, &module(features, features.lanes(DType::F32)), features);
        for &op in &ops {
            // SAFETY: `module` exports this name with this type.
            let map = unsafe { *library.get::<Map>(format!("map_{}", op.name()).as_bytes()).unwrap() };
            let (error, x, _) = worst(op, map, (0..=u32::MAX).step_by(stride));
            println!(
                "{:<20}{:<8}{error:>10.4}{:>10.2}{x:>18.6e}{:>12.3}",
                features.name(),
                op.name(),
                op.fact().max_ulp,
                nanoseconds(map)
            );
        }
    }
}

/// Nanoseconds a value takes, the best of many runs.
fn nanoseconds(map: Map) -> f64 {
    let input: Vec<f32> = (0..BLOCK).map(|i| 0.001 + i as f32 * 0.002).collect();
    let mut output = vec![0f32; BLOCK];
    let mut best = f64::INFINITY;
    for _ in 0..2000 {
        let start = Instant::now();
        // SAFETY: both hold `BLOCK` elements.
        unsafe { map(input.as_ptr(), output.as_mut_ptr()) };
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / BLOCK as f64
}
