//! HLO text: whatever it is, a module or a diagnostic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match tilewright_hlo::parse(text, "fuzz") {
        Ok(module) => {
            let entry = module.entry();
            for instruction in &entry.instructions {
                let _ = (module.work(entry, instruction), instruction.source(), instruction.shape.bytes());
                let _ = (module.constant_words(entry, instruction), module.constant_operands(entry, instruction));
            }
        }
        Err(d) => assert_eq!(d.class.exit_status(), 2, "{d}"),
    }
});
