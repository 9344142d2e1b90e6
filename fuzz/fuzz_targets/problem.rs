//! Any words of a command line: `FAMILY key=value ... [-- config]`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_diag::Result;
use tilewright_ir::verify_program;
use tilewright_kernels::{Config, Machine, Problem, family};

fuzz_target!(|line: &str| {
    if let Err(d) = request(line) {
        assert!(!d.code.is_empty() && !d.message.is_empty());
    }
});

fn request(line: &str) -> Result<()> {
    let (line, asked) = line.split_once(" -- ").unwrap_or((line, ""));
    let mut words = line.split_whitespace();
    let family = family(words.next().unwrap_or_default())?;
    let words: Vec<&str> = words.collect();
    let problem = Problem::parse(family.name(), family.keys(), &words)?;
    let printed: Vec<String> = problem.to_string().split(' ').map(str::to_string).collect();
    assert_eq!(Problem::parse(family.name(), family.keys(), &printed)?, problem);
    family.validate(&problem)?;
    let machine = Machine { lanes: 8, l1_bytes: 32 << 10, l2_bytes: 1 << 20, l3_bytes: 16 << 20, cores: 2 };
    let mut config = family.default_config(&problem, &machine);
    if !asked.is_empty() {
        let asked = Config::parse(asked)?;
        assert_eq!(Config::parse(&asked.to_string())?, asked);
        config.0.extend(asked.0);
    }
    let work = family.work(&problem);
    assert!(work.flops >= 0.0 && work.bytes > 0.0 && work.transcendentals >= 0.0, "{work:?}");
    verify_program(&family.build(&problem, &config)?)
}
