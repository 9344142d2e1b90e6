//! Any text: a diagnostic with a place, or a verified program that prints back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_ir::{parse, print};

fuzz_target!(|text: &str| {
    match parse(text, "fuzz.tw") {
        Err(d) => {
            let span = d.span.as_ref().unwrap_or_else(|| panic!("no place in {d}"));
            assert!(span.line >= 1 && span.col >= 1, "{d}");
        }
        Ok(program) => {
            let text = print(&program);
            let again = parse(&text, "printed.tw").unwrap_or_else(|d| panic!("{d}\n{text}"));
            assert_eq!(print(&again), text);
        }
    }
});
