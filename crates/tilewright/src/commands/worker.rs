//! Jobs in child processes of this executable: what crashes or hangs there is a record here.

use tilewright::diag::Result;
use tilewright::run::isolate::serve;
use tilewright::run::tpu;
use tilewright::tune;

use super::Ended;
use crate::cli::WorkerJob;

/// Arguments with which this executable does the tuner's jobs.
pub const TUNE: [&str; 2] = ["worker", "tune"];

/// Arguments with which this executable runs the TPU compiler.
pub const TPU: [&str; 2] = ["worker", "tpu"];

/// Does the job on standard input, answers on standard output.
pub fn run(job: WorkerJob) -> Result<Ended> {
    match job {
        WorkerJob::Tune => serve(tune::work)?,
        WorkerJob::Tpu => serve(tpu::work)?,
    }
    Ok(Ended::Held)
}
