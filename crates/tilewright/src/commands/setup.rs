//! `setup`: installs what others own and this program uses.

use serde::Serialize;
use tilewright::diag::Result;
use tilewright::run::tpu;

use super::Ended;
use crate::cli::{SetupArgs, Toolchain};
use crate::render::{Output, Spinner};

#[derive(Serialize)]
struct Installed {
    toolchain: &'static str,
    version: String,
    path: String,
}

/// Installs a toolchain for the user, after saying whose it is.
pub fn run(args: &SetupArgs, output: Output) -> Result<Ended> {
    match args.toolchain {
        Toolchain::Tpu => {
            let found = {
                let mut spinner = None;
                tpu::install(|| {
                    output.remark(tpu::LICENCE);
                    spinner = Some(Spinner::new("installing libtpu", output.quiet));
                })?
            };
            let installed = Installed {
                toolchain: "tpu",
                version: found.version,
                path: found.path.display().to_string(),
            };
            let text = format!("libtpu {} is at {}\n", installed.version, installed.path);
            output.result(&installed, || text)?;
        }
    }
    Ok(Ended::Held)
}
