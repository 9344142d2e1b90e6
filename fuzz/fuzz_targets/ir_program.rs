//! Any bytes, from which the builder records a program: it is refused, or verified and prints back.
#![no_main]

#[path = "../../crates/ir/tests/common/random.rs"]
mod random;

use libfuzzer_sys::fuzz_target;
use tilewright_ir::{parse, print};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(program) = random::program(bytes) {
        let text = print(&program);
        let again = parse(&text, "printed.tw").unwrap_or_else(|d| panic!("{d}\n{text}"));
        assert_eq!(print(&again), text);
        assert_eq!(again.operands(), program.operands());
    }
});
