//! Whether a problem fits in memory, asked before anything is allocated.

use std::fs;

use tilewright_diag::{Diagnostic, Result};
use tilewright_ir::Program;
use tilewright_kernels::Work;

/// Bytes of all operands of a program, temporaries included.
pub fn operand_bytes(program: &Program) -> u128 {
    program
        .operands()
        .iter()
        .map(|o| {
            let elements: u128 = o.operand.shape.dims().iter().map(|&d| d as u128).product();
            (elements * u128::from(o.operand.dtype.bits())).div_ceil(8)
        })
        .sum()
}

/// Bytes that this process may still allocate: what the system says is available, within a container's limit. `None` where
/// the system does not say.
pub fn available_bytes() -> Option<u128> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let meminfo = read("/proc/meminfo")?;
    let kib = meminfo
        .lines()
        .find_map(|l| l.strip_prefix("MemAvailable:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    let system: u128 = kib.map(|k: u128| k * 1024)?;
    let number = |path: &str| read(path)?.trim().parse::<u128>().ok();
    let limit = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or(0);
    Some(limit.map_or(system, |l| l.saturating_sub(used).min(system)))
}

/// The most bytes that a process can address: 47 bits on x86-64.
const ADDRESSABLE: f64 = (1u64 << 47) as f64;
/// More operations than a machine of today does in a day; products of sizes below this also fit in 63 bits.
const OPERATIONS: f64 = 4e18;

/// Refuses a problem that no machine could hold or finish, before anything is computed from its sizes. `what` names it.
///
/// # Errors
/// `memory/too-large`, with the bytes; `problem/too-large`, with the operations.
pub fn plausible(work: Work, what: &str) -> Result<()> {
    if work.bytes > ADDRESSABLE {
        return Err(Diagnostic::request(
            "memory/too-large",
            format!("`{what}` has {:.0} bytes of operands", work.bytes),
        )
        .rule(format!("a process addresses {ADDRESSABLE:.0} bytes"))
        .help("make the sizes smaller"));
    }
    if work.flops > OPERATIONS {
        return Err(Diagnostic::request(
            "problem/too-large",
            format!("`{what}` takes {:.3e} operations", work.flops),
        )
        .rule(format!("a problem has at most {OPERATIONS:.0e} operations"))
        .help("make the sizes smaller"));
    }
    Ok(())
}

/// Refuses a problem whose operands do not fit `copies` times. `what` names the problem.
///
/// # Errors
/// `memory/too-large`, with the bytes.
pub fn require(program: &Program, copies: f64, what: &str) -> Result<()> {
    let operands = operand_bytes(program);
    let Some(available) = available_bytes() else { return Ok(()) };
    let needed = operands as f64 * copies;
    if needed <= available as f64 {
        return Ok(());
    }
    let each: Vec<String> = program
        .operands()
        .iter()
        .map(|o| format!("`{}: {}{}`", o.operand.name, o.operand.dtype, o.operand.shape))
        .collect();
    let message = format!(
        "`{what}` needs {needed:.0} bytes ({operands} bytes of operands), and {available} bytes are free"
    );
    Err(Diagnostic::request("memory/too-large", message)
        .note(format!("operands: {}", each.join(", ")))
        .help("make the sizes smaller"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_kernels::{Config, Problem, family};

    fn matmul(words: &[&str]) -> Program {
        let family = family("matmul").unwrap();
        let problem = Problem::parse("matmul", family.keys(), words).unwrap();
        family.build(&problem, &Config::of(&[("bm", 64), ("bn", 64), ("bk", 64)])).unwrap()
    }

    #[test]
    fn what_no_machine_holds_or_finishes_is_refused() {
        let work = |bytes, flops| Work { bytes, flops, transcendentals: 0.0 };
        plausible(work(1e12, 1e15), "large").unwrap();
        let d = plausible(work(1e29, 1e15), "matmul").unwrap_err();
        assert_eq!((d.code, d.class.exit_status()), ("memory/too-large", 2));
        assert!(d.message.contains("99999999999999991433150857216 bytes"), "{d}");
        assert_eq!(plausible(work(1e6, 1e20), "matmul").unwrap_err().code, "problem/too-large");
    }

    #[test]
    fn operands_are_counted_and_too_many_refused_with_the_bytes() {
        let small = matmul(&["m=4", "n=6", "k=8"]);
        assert_eq!(operand_bytes(&small), 4 * (4 * 8 + 8 * 6 + 4 * 6));
        require(&small, 10.0, "small").unwrap();
        let large = matmul(&["m=1000000", "n=1000000", "k=1000000"]);
        let d = require(&large, 1.0, "matmul m=1000000").unwrap_err();
        assert_eq!((d.code, d.class.exit_status()), ("memory/too-large", 2));
        assert!(d.message.contains("12000000000000 bytes of operands"), "{d}");
    }
}
