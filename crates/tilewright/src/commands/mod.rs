//! One file a command.

mod bench;
mod check;
mod explain;
mod kernels;
mod setup;
mod show;
mod supervised;
mod targets;
mod tour;
mod tune;
mod worker;

use tilewright::diag::Result;

use crate::cli::{Cli, Command};
use crate::render::Output;

/// How a command ended that could be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Whatever was asked held. Exit status 0.
    Held,
    /// A verdict failed. Exit status 1.
    Failed,
    /// As the process that did the work ended.
    Status(u8),
}

/// Carries out a command.
///
/// # Errors
/// Any diagnostic; its class decides the exit status.
pub fn run(cli: Cli) -> Result<Ended> {
    let output = Output { json: cli.global.json, quiet: cli.global.quiet };
    match cli.command {
        Command::Kernels(args) => kernels::run(&args, output),
        Command::Targets(args) => targets::run(&args, &cli.global, output),
        Command::Show(args) => show::run(&args, &cli.global, output),
        Command::Check(args) => check::run(&args, &cli.global, output),
        Command::Bench(args) => bench::run(&args, &cli.global, output),
        Command::Tune(args) => tune::run(&args, &cli.global, output),
        Command::Explain(args) => explain::run(&args, output),
        Command::Setup(args) => setup::run(&args, output),
        Command::Tour => tour::run(&cli.global, output),
        Command::Worker { job } => worker::run(job),
    }
}
