//! Peers that run in this process: one compiled call, run on sets of data in turn.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::Tensor;

use super::{Data, Peer, Prepared, Work};
use crate::timing::Contestant;

/// One problem, ready to run on any inputs of its shapes.
pub(super) struct Call {
    pub run: Box<Run>,
    /// What the library says it chose.
    pub kernel: String,
}

/// Fills the output from the inputs.
type Run = dyn FnMut(&[Tensor], &mut Tensor) -> Result<()>;

/// [`Peer::evaluate`] of a peer in this process.
pub(super) fn evaluate(mut call: Call, work: &Work, inputs: &[Tensor]) -> Result<Tensor> {
    let expected = work.inputs();
    let fits = inputs.len() == expected.len()
        && inputs.iter().zip(&expected).all(|(t, o)| t.dtype() == o.dtype && t.shape() == o.shape);
    if !fits {
        let message = format!("the tensors given are not the inputs of {}: {expected:?}", work.name());
        return Err(Diagnostic::request("peer/inputs", message));
    }
    let output = work.output();
    let mut result = Tensor::try_new(output.dtype, &output.shape)?;
    result.fill_poison();
    (call.run)(inputs, &mut result)?;
    Ok(result)
}

/// [`Peer::prepare`] of a peer in this process.
pub(super) fn prepare(peer: &dyn Peer, mut call: Call, work: &Work, data: Data) -> Result<Prepared> {
    let output = work.output();
    let mut sets = (0..data.sets.max(1) as u64)
        .map(|set| {
            let inputs = work.random_inputs(data.seed.wrapping_add(set))?;
            Ok((inputs, Tensor::try_new(output.dtype, &output.shape)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let contestant = Contestant::new(peer.name(), move |repeat| {
        let index = repeat % sets.len();
        let (inputs, output) = &mut sets[index];
        (call.run)(inputs, output)
    });
    Ok(Prepared { contestant, kernel: call.kernel })
}

/// The error of a peer that was asked for what [`Peer::supports`] denies.
pub(super) fn unsupported(peer: &str, work: &Work, reason: impl std::fmt::Display) -> Box<Diagnostic> {
    Diagnostic::request("peer/unsupported", format!("{peer} does not run this {}: {reason}", work.name()))
}

/// A fault that a library reported.
pub(super) fn fault(peer: &str, message: impl std::fmt::Display) -> Box<Diagnostic> {
    Diagnostic::tool("peer/failed", format!("{peer}: {message}"))
}
