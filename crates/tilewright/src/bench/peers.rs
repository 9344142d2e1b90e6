//! Which peers run beside a kernel, and what they are asked to do.

use std::collections::BTreeMap;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_kernels::Problem;
use tilewright_measure::peers::{self, Activation, Epilogue, Found, Peer, Work};

/// Peers that run in this process: the ones to ask where nothing else is said.
pub const PEERS_HERE: [&str; 3] = ["openblas", "onednn", "gemm"];

/// Looks for the peers called `names`. Call it before the program starts threads: libraries are opened.
///
/// # Errors
/// `bench/unknown-peer`.
pub(super) fn find(names: &[String]) -> Result<Vec<Found>> {
    let unknown = |name: &str| Diagnostic::unknown("bench/unknown-peer", "peer", name, peers::NAMES);
    names.iter().map(|name| peers::find_one(name).ok_or_else(|| unknown(name))).collect()
}

/// What peers are asked to do for a problem; else a clause that says why none can be asked.
pub(super) fn work(family: &str, p: &Problem) -> std::result::Result<Work, String> {
    let (rows, cols, dtype) = (p.dim("rows"), p.dim("cols"), p.dtype());
    let other = |what: &str| Err(format!("peers have no {what}"));
    match family {
        "matmul" => matmul(p),
        "softmax" => Ok(Work::Softmax { rows, cols, dtype }),
        "rmsnorm" | "layernorm" if p.flag("residual") => other("fused residual"),
        "rmsnorm" if p.word("eps") == "1e-6" => Ok(Work::RmsNorm { rows, cols, dtype }),
        "layernorm" if p.word("eps") == "1e-5" => Ok(Work::LayerNorm { rows, cols, dtype }),
        "rmsnorm" | "layernorm" => other("such eps"),
        "attention" if p.dim("window") > 0 || p.flag("lengths") => other("window or run-time lengths"),
        "attention" => Ok(Work::Attention {
            batch: p.dim("batch"),
            heads: p.dim("heads"),
            kv_heads: p.dim("kv_heads"),
            q_len: p.dim("q_len"),
            kv_len: p.dim("kv_len"),
            head_dim: p.dim("head_dim"),
            dtype,
            causal: p.flag("causal"),
        }),
        _ => other(&format!("`{family}`")),
    }
}

fn matmul(p: &Problem) -> std::result::Result<Work, String> {
    let dtype = p.dtype();
    if p.word("weights") == "i4" {
        return Err("peers have no i4 weights".to_string());
    }
    if !p.words("prologue").is_empty() {
        return Err("peers have no prologues".to_string());
    }
    let out = p.word("out");
    let narrow = matches!(dtype, DType::F8E4M3 | DType::F8E5M2);
    let same = if dtype.is_float() { out == "same" && !narrow || out == dtype.name() } else { out == "i32" };
    if !same {
        let wanted = if dtype.is_float() { "`out=same`" } else { "`out=i32`" };
        return Err(format!("peers give {dtype} products as {wanted} only"));
    }
    let mut words = p.words("epilogue").into_iter().peekable();
    let bias = words.next_if_eq(&"bias").is_some();
    let activation = match words.next() {
        None => None,
        Some("relu") => Some(Activation::Relu),
        Some("gelu") => Some(Activation::Gelu),
        Some("gelu_erf") => Some(Activation::GeluErf),
        Some("silu") => Some(Activation::Silu),
        Some(other) => return Err(format!("peers have no epilogue `{other}`")),
    };
    if let Some(more) = words.next() {
        return Err(format!("peers have no `{more}` after an epilogue"));
    }
    Ok(Work::Matmul {
        batch: p.dim("batch"),
        m: p.dim("m"),
        n: p.dim("n"),
        k: p.dim("k"),
        dtype,
        ta: p.flag("ta"),
        tb: p.flag("tb"),
        epilogue: Epilogue { bias, activation },
    })
}

/// The peers of `found` that can solve `work`, and the others, each with the reason.
pub(super) fn able<'a>(
    found: &'a [Found],
    work: &std::result::Result<Work, String>,
) -> (Vec<&'a dyn Peer>, BTreeMap<String, String>) {
    let mut able: Vec<&dyn Peer> = Vec::new();
    let mut others = BTreeMap::new();
    for one in found {
        match (one, work) {
            (Found::Absent { name, reason, help }, _) => {
                drop(others.insert(name.to_string(), format!("{reason}: {help}")));
            }
            (Found::Ready(peer), Err(why)) => drop(others.insert(peer.name().to_string(), why.clone())),
            (Found::Ready(peer), Ok(work)) => match peer.supports(work) {
                Ok(()) => able.push(peer.as_ref()),
                Err(why) => drop(others.insert(peer.name().to_string(), why)),
            },
        }
    }
    (able, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_kernels::family;

    fn work_of(name: &str, words: &[&str]) -> std::result::Result<Work, String> {
        let family = family(name).unwrap();
        work(name, &Problem::parse(name, family.keys(), words).unwrap())
    }

    #[test]
    fn problems_that_peers_solve_are_theirs() {
        let gelu =
            work_of("matmul", &["m=2", "n=3", "k=4", "dtype=bf16", "tb", "epilogue=bias+gelu"]).unwrap();
        let epilogue = Epilogue { bias: true, activation: Some(Activation::Gelu) };
        let (batch, m, n, k) = (1, 2, 3, 4);
        assert_eq!(gelu, Work::Matmul { batch, m, n, k, dtype: DType::BF16, ta: false, tb: true, epilogue });
        assert_eq!(
            work_of("softmax", &["rows=2", "cols=3"]).unwrap(),
            Work::Softmax { rows: 2, cols: 3, dtype: DType::F32 }
        );
    }

    #[test]
    fn what_peers_lack_is_said() {
        let sizes = ["m=2", "n=3", "k=4"];
        for (words, lack) in [
            (&["dtype=i8"][..], "out=i32"),
            (&["dtype=f8e5m2"], "out=same"),
            (&["epilogue=residual"], "residual"),
            (&["epilogue=bias+relu+scale"], "scale"),
            (&["prologue=silu"], "prologues"),
        ] {
            let words: Vec<&str> = sizes.iter().chain(words).copied().collect();
            let why = work_of("matmul", &words).unwrap_err();
            assert!(why.contains(lack), "{words:?}: {why}");
        }
        assert!(work_of("matmul", &["m=2", "n=3", "k=4", "dtype=i8", "out=i32"]).is_ok());
        assert!(work_of("rmsnorm", &["rows=2", "cols=3", "eps=1e-5"]).is_err());
    }

    #[test]
    fn an_unknown_peer_names_the_nearest() {
        let d = find(&["openblass".to_string()]).err().unwrap();
        assert_eq!((d.code, d.help.as_deref()), ("bench/unknown-peer", Some("did you mean `openblas`?")));
    }
}
