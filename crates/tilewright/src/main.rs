//! The command line.

mod cli;
mod commands;
mod render;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    let json = cli::asks_for_json(&words);
    let ended = cli::parse(words).and_then(|request| match request {
        cli::Request::Run(cli) => commands::run(*cli),
        cli::Request::Print(text) => {
            let output = render::Output { json: false, quiet: false };
            output.text(&text).map(|()| commands::Ended::Held)
        }
    });
    match ended {
        Ok(commands::Ended::Held) => ExitCode::SUCCESS,
        Ok(commands::Ended::Failed) => ExitCode::from(1),
        Ok(commands::Ended::Status(status)) => ExitCode::from(status),
        Err(fault) => {
            render::show_error(json, &fault);
            ExitCode::from(u8::try_from(fault.class.exit_status()).unwrap_or(2))
        }
    }
}
