//! `CompileOptionsProto`, the few bytes of it that a compilation needs.
//!
//! Field numbers are those of OpenXLA's `xla/pjrt/proto/compile_options.proto` and, for the devices, `xla/xla_data.proto`.

use super::module::Module;

/// The options for a module, as JAX sends them: above one device SPMD partitioning, with Shardy where the module's shardings
/// are Shardy's, and the devices in their order: partition p of replica r is device r × partitions + p.
pub(super) fn serialized(module: &Module) -> Vec<u8> {
    let (replicas, partitions) = (module.replicas() as u64, module.partitions() as u64);
    let mut build = Vec::new();
    field(&mut build, 4, replicas);
    field(&mut build, 5, partitions);
    if module.devices() > 1 {
        field(&mut build, 6, 1);
        let mut devices = Vec::new();
        field(&mut devices, 1, replicas);
        field(&mut devices, 2, partitions);
        for partition in 0..partitions {
            let mut ids = Vec::new();
            for replica in 0..replicas {
                varint(&mut ids, replica * partitions + partition);
            }
            let mut packed = Vec::new();
            message(&mut packed, 1, &ids);
            message(&mut devices, 3, &packed);
        }
        message(&mut build, 9, &devices);
        if module.is_shardy() {
            field(&mut build, 19, 1);
        }
    }
    let mut options = Vec::new();
    message(&mut options, 3, &build);
    options
}

/// A field of wire type 0.
fn field(out: &mut Vec<u8>, number: u64, value: u64) {
    varint(out, number << 3);
    varint(out, value);
}

/// A field of wire type 2.
fn message(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    varint(out, number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Vec<u8> {
        serialized(&Module::read(text.as_bytes().to_vec(), "f.mlir").unwrap())
    }

    #[test]
    fn options_are_the_bytes_that_jax_sends() {
        assert_eq!(options("module {}"), [0x1a, 4, 0x20, 1, 0x28, 1]);
        let two = [0x4a, 14, 8, 1, 0x10, 2, 0x1a, 3, 10, 1, 0, 0x1a, 3, 10, 1, 1];
        let sharded = [&[0x1a, 22, 0x20, 1, 0x28, 2, 0x30, 1], two.as_slice()].concat();
        assert_eq!(options("mhlo.num_partitions = 2"), sharded);
        let shardy = [&[0x1a, 25], &sharded[2..], &[0x98, 1, 1]].concat();
        assert_eq!(options("sdy.mesh mhlo.num_partitions = 2"), shardy);
        let replicas = options("mhlo.num_partitions = 2 mhlo.num_replicas = 2");
        assert!(replicas.windows(6).any(|w| w == [0x1a, 4, 10, 2, 1, 3]), "{replicas:?}");
    }
}
