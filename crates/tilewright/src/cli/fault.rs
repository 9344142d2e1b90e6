//! What is wrong with a command line, in the words and the form of every other diagnostic.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use tilewright::diag::{Diagnostic, nearest};
use tilewright::kernels::{families, family};

use super::Cli;

/// A parser's error as a diagnostic.
pub fn explain(error: &clap::Error, words: &[OsString]) -> Box<Diagnostic> {
    let root = Cli::command();
    let command = words.iter().skip(1).filter_map(|w| w.to_str()).find_map(|w| root.find_subcommand(w));
    let said = |kind| error.get(kind).map(text).unwrap_or_default();
    match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(&root, &said(ContextKind::InvalidSubcommand)),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let known: Vec<&str> = names(&root);
            Diagnostic::request("cli/no-command", "no command is given")
                .note(format!("known: {}", known.join(", ")))
                .help("start with `tilewright tour`, or see `tilewright --help`")
        }
        ErrorKind::UnknownArgument => unknown_option(&root, command, &said(ContextKind::InvalidArg)),
        ErrorKind::MissingRequiredArgument => missing(command, &said(ContextKind::InvalidArg)),
        ErrorKind::InvalidValue if said(ContextKind::InvalidValue).is_empty() => {
            let option = said(ContextKind::InvalidArg);
            Diagnostic::request("cli/value", format!("`{option}` needs a value")).help(usage(command))
        }
        ErrorKind::InvalidValue => {
            let known = said(ContextKind::ValidValue);
            let what = format!("value of {}", said(ContextKind::InvalidArg));
            Diagnostic::unknown("cli/value", &what, &said(ContextKind::InvalidValue), known.split(", "))
        }
        ErrorKind::ValueValidation => {
            let (option, value) = (said(ContextKind::InvalidArg), said(ContextKind::InvalidValue));
            let d = Diagnostic::request("cli/value", format!("`{value}` is no value of `{option}`"));
            match std::error::Error::source(error) {
                Some(why) => d.note(why.to_string()),
                None => d,
            }
        }
        ErrorKind::ArgumentConflict => {
            let (one, other) = (said(ContextKind::InvalidArg), said(ContextKind::PriorArg));
            let message = if one == other || other.is_empty() {
                format!("`{one}` is given more than once")
            } else {
                format!("`{one}` cannot stand beside `{other}`")
            };
            Diagnostic::request("cli/conflict", message).help(usage(command))
        }
        _ => {
            let rendered = error.render().to_string();
            let line = rendered.lines().next().unwrap_or_default();
            let message = line.strip_prefix("error: ").unwrap_or(line);
            Diagnostic::request("cli/usage", message).help(usage(command))
        }
    }
}

fn unknown_command(root: &Command, name: &str) -> Box<Diagnostic> {
    let d = Diagnostic::unknown("cli/unknown-command", "command", name, names(root));
    if d.help.is_none() && family(name).is_ok() {
        return d.help(format!("`{name}` is a kernel: `tilewright check {name} …`, or show, bench, tune"));
    }
    d
}

fn unknown_option(root: &Command, command: Option<&Command>, option: &str) -> Box<Diagnostic> {
    let known: Vec<String> = root
        .get_arguments()
        .chain(command.into_iter().flat_map(Command::get_arguments))
        .filter_map(|a| a.get_long().map(|l| format!("--{l}")))
        .collect();
    let bare = option.split('=').next().unwrap_or(option);
    let d = Diagnostic::request("cli/unknown-option", format!("unknown option `{bare}`"));
    let elsewhere =
        root.get_subcommands().find(|c| c.get_arguments().any(|a| a.get_long() == bare.strip_prefix("--")));
    if let (None, Some(of)) = (known.iter().find(|k| *k == bare), elsewhere) {
        return d.help(match command {
            Some(c) => format!("`{bare}` is an option of `{}`, not of `{}`", of.get_name(), c.get_name()),
            None => format!("`{bare}` stands behind its command: `tilewright {} … {bare}`", of.get_name()),
        });
    }
    if known.iter().any(|k| k == bare) {
        let name = command.map_or("COMMAND", Command::get_name);
        return d.help(format!("`{bare}` stands behind its command: `tilewright {name} … {bare}`"));
    }
    if let Some(near) = nearest(bare, known.iter().map(String::as_str)) {
        return d.help(format!("did you mean `{near}`?"));
    }
    let word = bare.trim_start_matches('-');
    let part = families().iter().any(|f| f.keys().iter().any(|k| k.name == word));
    let d = d.note(format!("known: {}", known.join(", ")));
    if part { d.help(format!("a part of a problem is written without dashes: `{word}=…`")) } else { d }
}

fn missing(command: Option<&Command>, what: &str) -> Box<Diagnostic> {
    let d = Diagnostic::request("cli/missing", format!("{what} is missing")).help(usage(command));
    if what.contains("KERNEL") {
        let known: Vec<&str> = families().iter().map(|f| f.name()).collect();
        return d.note(format!("kernels: {}", known.join(", ")));
    }
    d
}

fn names(root: &Command) -> Vec<&str> {
    root.get_subcommands().filter(|c| !c.is_hide_set()).map(Command::get_name).collect()
}

fn usage(command: Option<&Command>) -> String {
    match command {
        Some(c) => format!("`tilewright {} --help` shows how it is used", c.get_name()),
        None => "`tilewright --help` shows how it is used".to_string(),
    }
}

fn text(value: &ContextValue) -> String {
    let all = match value {
        ContextValue::Strings(all) => all.join(", "),
        ContextValue::String(one) => one.clone(),
        other => other.to_string(),
    };
    // The parser writes `--threads <N>`; the option's name is what the reader looks for.
    match all.split_once(" <") {
        Some((option, _)) if option.starts_with("--") => option.to_string(),
        _ => all.trim_matches(['<', '>']).to_string(),
    }
}
