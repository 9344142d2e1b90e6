//! `CompileOptionsProto`, the few bytes of it that a compilation needs.
//!
//! Field numbers are those of OpenXLA's `xla/pjrt/proto/compile_options.proto`.

/// The options for a module over `partitions` partitions: one replica; SPMD partitioning with Shardy above one partition.
pub(super) fn serialized(partitions: usize) -> Vec<u8> {
    let mut build = Vec::new();
    field(&mut build, 4, 1);
    field(&mut build, 5, partitions as u64);
    if partitions > 1 {
        field(&mut build, 6, 1);
        field(&mut build, 19, 1);
    }
    let mut options = Vec::new();
    // Field 3, `executable_build_options`, is a message: wire type 2.
    varint(&mut options, 3 << 3 | 2);
    varint(&mut options, build.len() as u64);
    options.extend(build);
    options
}

/// A field of wire type 0.
fn field(out: &mut Vec<u8>, number: u64, value: u64) {
    varint(out, number << 3);
    varint(out, value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The number of partitions that a module's text states, `mhlo.num_partitions = N`; 1 where it states none. In MLIR
/// bytecode the attribute's name is among the strings but its value is not text: there it is 1, unless the caller knows.
pub fn partitions(module: &[u8]) -> usize {
    const NAME: &[u8] = b"mhlo.num_partitions";
    let found = module.windows(NAME.len()).position(|w| w == NAME);
    let Some(at) = found else { return 1 };
    let rest = String::from_utf8_lossy(&module[at + NAME.len()..module.len().min(at + NAME.len() + 40)])
        .into_owned();
    let digits = rest.trim_start().strip_prefix('=').map(str::trim_start).unwrap_or_default();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|n| *n > 0).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_the_bytes_that_jax_sends() {
        assert_eq!(serialized(1), [0x1a, 4, 0x20, 1, 0x28, 1]);
        assert_eq!(serialized(16), [0x1a, 9, 0x20, 1, 0x28, 16, 0x30, 1, 0x98, 1, 1]);
        assert_eq!(serialized(256)[..7], [0x1a, 10, 0x20, 1, 0x28, 0x80, 2]);
    }

    #[test]
    fn partitions_are_read_from_text() {
        let text = b"module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {";
        assert_eq!(partitions(text), 4);
        assert_eq!(partitions(b"module {}"), 1);
        assert_eq!(partitions(b"mhlo.num_partitions"), 1);
        assert_eq!(partitions(b"mhlo.num_partitions = 0"), 1);
    }
}
