//! Which config a problem gets, and how loudly to speak of it.

use serde::Serialize;
use tilewright_diag::{Diagnostic, Result};
use tilewright_kernels::{Config, Family, Kind, Machine, Problem, Val};
use tilewright_store::{self as store, Query};
use tilewright_tune::winners;

use crate::session::Session;

/// A config and why it was taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chosen {
    /// The config.
    pub config: Config,
    /// Where it comes from.
    pub source: Source,
    /// What the user should hear: that nothing was tuned for this problem.
    pub warning: Option<String>,
}

/// Where a config comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The caller named it.
    Given,
    /// The store's best for this very problem.
    Tuned,
    /// The store's best for another problem of the family.
    Nearest {
        /// That problem.
        problem: String,
        /// Sum over its sizes of |log2| of their ratio to this problem's.
        distance: f64,
    },
    /// The family's default: nothing comparable was tuned.
    Default,
}

/// The config that was asked for, its missing entries from the default, once the family builds with it.
pub(crate) fn given(
    family: &dyn Family,
    problem: &Problem,
    machine: &Machine,
    asked: &Config,
) -> Result<Chosen> {
    let mut config = family.default_config(problem, machine);
    for (name, value) in &asked.0 {
        match config.0.get_mut(name) {
            Some(entry) => *entry = *value,
            None => {
                let known = config_entries(family, problem, machine);
                if !known.iter().any(|k| k == name) {
                    let known = known.iter().map(String::as_str);
                    let what = format!("config entry of `{}`", family.name());
                    return Err(Diagnostic::unknown("config/unknown", &what, name, known)
                        .note(format!("the default is `{config}`")));
                }
                config.0.insert(name.clone(), *value);
            }
        }
    }
    build(family, problem, &config)?;
    Ok(Chosen { config, source: Source::Given, warning: None })
}

/// Every entry that some config of the problem has.
fn config_entries(family: &dyn Family, problem: &Problem, machine: &Machine) -> Vec<String> {
    let mut names: Vec<String> =
        family.space(problem, machine).configs.into_iter().flat_map(|c| c.0.into_keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The store's best config for the problem, else the nearest problem's, else the default.
pub(crate) fn from_store(
    session: &Session,
    family: &dyn Family,
    problem: &Problem,
    target: &str,
) -> Result<Chosen> {
    let default = |warning: String| Chosen {
        config: family.default_config(problem, &session.machine),
        source: Source::Default,
        warning: Some(warning),
    };
    let what = brief(family, problem);
    let tune = format!("`tilewright tune {what}`");
    let untuned = format!(
        "`{what}` was never tuned on this machine: the default config is used. {tune} finds a faster one"
    );
    if !store_exists(session)? {
        return Ok(default(untuned));
    }
    let store = session.store()?;
    let of = Query::of(family.name(), &store_problem(problem)?, target, &session.machine_key());
    let mut query = winners(of, session.threads, &session.features.name());
    if session.batch_invariant() {
        query = query.batch_invariant();
    }
    let found = store.best(&query)?;
    let mut torn = found.torn;
    if let Some(best) = found.value {
        let config = Config(best.record.config);
        return Ok(match build(family, problem, &config) {
            Ok(()) => Chosen { config, source: Source::Tuned, warning: None },
            Err(d) => default(format!(
                "the tuned config `{config}` of `{what}` no longer builds ({}): the default is used. {tune} tunes it anew",
                d.message
            )),
        });
    }
    let near = store.nearest(&query, |other| distance(problem, other))?;
    torn.extend(near.torn);
    let damaged = match torn.first() {
        Some(d) => format!("{} tuning records of the store cannot be read ({}). ", torn.len(), d.message),
        None => String::new(),
    };
    let untuned = damaged.clone() + &untuned;
    let Some(near) = near.value else { return Ok(default(untuned)) };
    let config = Config(near.stored.record.config);
    let other = brief_stored(family, &near.stored.record.problem);
    if build(family, problem, &config).is_err() {
        return Ok(default(untuned));
    }
    let warning = format!(
        "{damaged}`{what}` was never tuned on this machine: the config of the nearest tuned problem, `{other}`, is used. {tune} finds its own"
    );
    let source = Source::Nearest { problem: other, distance: near.distance };
    Ok(Chosen { config, source, warning: Some(warning) })
}

/// A problem as a user would type it: the family's name and the parts that differ from what they are when left out.
pub fn brief(family: &dyn Family, problem: &Problem) -> String {
    let mut words = vec![family.name().to_string()];
    for (key, (name, value)) in family.keys().iter().zip(problem.values()) {
        let value = value.to_string();
        let left_out = match &key.kind {
            Kind::Dim(default) => default.map(|d| d.to_string()),
            Kind::DType(all) => all.first().map(|d| d.name().to_string()),
            Kind::Choice(all) => all.first().map(|w| w.to_string()),
            Kind::Words(_) => Some("none".to_string()),
            Kind::Flag | Kind::Limit => Some("0".to_string()),
        };
        match key.kind {
            // The type matters too much to be guessed.
            Kind::DType(_) => words.push(format!("{name}={value}")),
            _ if left_out.as_deref() == Some(value.as_str()) => {}
            Kind::Flag => words.push(name.to_string()),
            _ => words.push(format!("{name}={value}")),
        }
    }
    words.join(" ")
}

/// A stored problem as a user would type it; its key where the family no longer reads it.
fn brief_stored(family: &dyn Family, problem: &store::Problem) -> String {
    let words: Vec<String> = problem.iter().map(|(name, value)| format!("{name}={value}")).collect();
    match Problem::parse(family.name(), family.keys(), &words) {
        Ok(problem) => brief(family, &problem),
        Err(_) => format!("{} {problem}", family.name()),
    }
}

/// Looking for a tuned config creates no store.
fn store_exists(session: &Session) -> Result<bool> {
    Ok(session.store_path()?.exists())
}

/// A problem as the store names it.
///
/// # Errors
/// Those of [`store::Problem::new`].
pub fn store_problem(problem: &Problem) -> Result<store::Problem> {
    store::Problem::new(problem.values().iter().map(|(name, value)| (*name, value.to_string())))
}

/// Whether the family builds a legal program with the config.
fn build(family: &dyn Family, problem: &Problem, config: &Config) -> Result<()> {
    tilewright_ir::verify_program(&family.build(problem, config)?)
}

/// How far a stored problem is: the sum over sizes of |log2| of their ratio; `None` where they differ in anything else,
/// since times under another dtype or epilogue say little of this one's.
fn distance(problem: &Problem, other: &store::Problem) -> Option<f64> {
    let mut sum = 0.0;
    for (name, value) in problem.values() {
        let theirs = other.get(name)?;
        match value {
            Val::Int(ours) => {
                let theirs: usize = theirs.parse().ok()?;
                // A limit of 0 means none, which no size is near to.
                if (*ours == 0) != (theirs == 0) {
                    return None;
                }
                sum += ((*ours).max(1) as f64 / theirs.max(1) as f64).log2().abs();
            }
            other => {
                if other.to_string() != theirs {
                    return None;
                }
            }
        }
    }
    (other.iter().count() == problem.values().len()).then_some(sum)
}
