//! Problems and configs: what to compute, and how a kernel is cut up to compute it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;

/// One named part of a problem.
#[derive(Debug)]
pub struct Key {
    /// Name, as in `m=64`.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// What it is, in a few words.
    pub about: &'static str,
}

/// The values that a key takes.
#[derive(Debug)]
pub enum Kind {
    /// A size, at least 1; the default, if it may be left out.
    Dim(Option<usize>),
    /// One of these element types; the first is the default.
    DType(&'static [DType]),
    /// `1`, `true` or the bare name; off where left out.
    Flag,
    /// One of these words; the first is the default.
    Choice(&'static [&'static str]),
    /// Words of this set joined by `+`, in any order; none where left out.
    Words(&'static [&'static str]),
    /// A size that may be 0, which is the default and means "none".
    Limit,
}

/// One part's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Val {
    /// A size.
    Int(usize),
    /// An element type.
    DType(DType),
    /// Whether a flag is set.
    Flag(bool),
    /// A word, or words joined by `+`; `none` where there is none.
    Word(String),
}

impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Val::Int(n) => write!(f, "{n}"),
            Val::DType(d) => write!(f, "{d}"),
            Val::Flag(b) => write!(f, "{}", u8::from(*b)),
            Val::Word(w) => write!(f, "{w}"),
        }
    }
}

/// A problem of one family: a value for each of its keys, in the keys' order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Problem {
    values: Vec<(&'static str, Val)>,
}

impl Problem {
    /// Reads `name=value` words against a family's keys. Defaults fill what may be left out.
    pub fn parse<S: AsRef<str>>(family: &str, keys: &'static [Key], words: &[S]) -> Result<Problem> {
        let mut given: BTreeMap<&str, &str> = BTreeMap::new();
        for word in words {
            let (name, value) = match word.as_ref().split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_ref(), None),
            };
            let Some(key) = keys.iter().find(|k| k.name == name) else {
                let what = format!("part of a `{family}` problem");
                let known = keys.iter().map(|k| k.name);
                return Err(Diagnostic::unknown("problem/unknown-key", &what, name, known));
            };
            let value = match (&key.kind, value) {
                (Kind::Flag, None) => "1",
                (_, Some(value)) if !value.is_empty() => value,
                (_, _) => {
                    return Err(Diagnostic::request(
                        "problem/value",
                        format!("`{name}` ({}) has no value", key.about),
                    )
                    .rule("flags alone are written without a value")
                    .help(format!("`{name}={}`", key.example())));
                }
            };
            if given.insert(name, value).is_some() {
                return Err(Diagnostic::request("problem/repeated-key", format!("`{name}` is given twice")));
            }
        }
        let value_of = |key: &'static Key| key.value(family, given.get(key.name).copied());
        let values = keys.iter().map(|k| Ok((k.name, value_of(k)?))).collect::<Result<_>>()?;
        Ok(Problem { values })
    }

    /// Every part, in the keys' order.
    pub fn values(&self) -> &[(&'static str, Val)] {
        &self.values
    }

    fn get(&self, name: &str) -> Option<&Val> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// A size; 0 where the family has no such key.
    pub fn dim(&self, name: &str) -> usize {
        match self.get(name) {
            Some(Val::Int(n)) => *n,
            _ => 0,
        }
    }

    /// The problem's element type (key `dtype`); f32 where the family has none.
    pub fn dtype(&self) -> DType {
        self.dtype_of("dtype")
    }

    /// The element type under `name`; f32 where the family has no such key.
    pub fn dtype_of(&self, name: &str) -> DType {
        match self.get(name) {
            Some(Val::DType(d)) => *d,
            _ => DType::F32,
        }
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Val::Flag(true)))
    }

    /// A word; empty where the family has no such key.
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Val::Word(w)) => w,
            _ => "",
        }
    }

    /// The words of `name`, in the order given; empty where there are none.
    pub fn words(&self, name: &str) -> Vec<&str> {
        self.word(name).split('+').filter(|w| !w.is_empty() && *w != "none").collect()
    }

    /// Whether `word` is among the words of `name`.
    pub fn has(&self, name: &str, word: &str) -> bool {
        self.words(name).contains(&word)
    }

    /// The same problem with a size replaced.
    pub fn with_dim(&self, name: &str, size: usize) -> Problem {
        let mut p = self.clone();
        if let Some((_, Val::Int(n))) = p.values.iter_mut().find(|(n, _)| *n == name) {
            *n = size;
        }
        p
    }

    /// The problem as a map, for records.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.values.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.values.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl Key {
    /// A size that must be given.
    pub const fn dim(name: &'static str, about: &'static str) -> Key {
        Key { name, kind: Kind::Dim(None), about }
    }

    /// A value that might be meant.
    fn example(&self) -> &'static str {
        match self.kind {
            Kind::Dim(_) => "64",
            Kind::Limit => "0",
            Kind::Flag => "1",
            Kind::DType(all) => all[0].name(),
            Kind::Choice(all) | Kind::Words(all) => all[0],
        }
    }

    fn value(&self, family: &str, given: Option<&str>) -> Result<Val> {
        let fault = |wanted: String| {
            Diagnostic::request(
                "problem/value",
                format!("`{}={}` is no {wanted}", self.name, given.unwrap_or_default()),
            )
        };
        let one_of = |words: &[&str], given: &str| {
            Diagnostic::unknown(
                "problem/value",
                &format!("value of `{}`", self.name),
                given,
                words.iter().copied(),
            )
        };
        match (&self.kind, given) {
            (Kind::Dim(Some(default)), None) => Ok(Val::Int(*default)),
            (Kind::Dim(None), None) => Err(Diagnostic::request(
                "problem/missing-key",
                format!("a `{family}` problem needs `{}` ({})", self.name, self.about),
            )
            .help(format!("add `{}={}`", self.name, self.example()))),
            (Kind::Dim(_), Some(text)) => match text.parse::<usize>() {
                Ok(n) if n >= 1 && n <= i32::MAX as usize => Ok(Val::Int(n)),
                _ => Err(fault("size from 1 to 2147483647".to_string())),
            },
            (Kind::Limit, None) => Ok(Val::Int(0)),
            (Kind::Limit, Some(text)) => match text.parse::<usize>() {
                Ok(n) if n <= i32::MAX as usize => Ok(Val::Int(n)),
                _ => Err(fault("size from 0 to 2147483647".to_string())),
            },
            (Kind::DType(allowed), None) => Ok(Val::DType(allowed[0])),
            (Kind::DType(allowed), Some(text)) => {
                let names: Vec<&str> = allowed.iter().map(|d| d.name()).collect();
                match allowed.iter().find(|d| d.name() == text) {
                    Some(d) => Ok(Val::DType(*d)),
                    None => Err(one_of(&names, text)),
                }
            }
            (Kind::Flag, None) => Ok(Val::Flag(false)),
            (Kind::Flag, Some(text)) => match text {
                "1" | "true" => Ok(Val::Flag(true)),
                "0" | "false" => Ok(Val::Flag(false)),
                _ => Err(fault("flag: 0 or 1".to_string())),
            },
            (Kind::Choice(words), None) => Ok(Val::Word(words[0].to_string())),
            (Kind::Choice(words), Some(text)) if words.contains(&text) => Ok(Val::Word(text.to_string())),
            (Kind::Choice(words), Some(text)) => Err(one_of(words, text)),
            (Kind::Words(_), None | Some("none")) => Ok(Val::Word("none".to_string())),
            (Kind::Words(words), Some(text)) => {
                for (i, word) in text.split('+').enumerate() {
                    if !words.contains(&word) {
                        return Err(one_of(words, word));
                    }
                    if text.split('+').take(i).any(|w| w == word) {
                        return Err(fault(format!("list of distinct words: `{word}` twice")));
                    }
                }
                Ok(Val::Word(text.to_string()))
            }
        }
    }
}

/// How a kernel is cut up: tile sizes and choices by name. Two configs of one problem compute the same values, within
/// the bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Config(pub BTreeMap<String, i64>);

impl Config {
    /// A config from pairs.
    pub fn of(pairs: &[(&str, usize)]) -> Config {
        Config(pairs.iter().map(|(n, v)| (n.to_string(), *v as i64)).collect())
    }

    /// Reads `bm=64,bn=128`.
    pub fn parse(text: &str) -> Result<Config> {
        let fault = |part: &str| {
            Diagnostic::request("config/parse", format!("`{part}` is no `name=number`"))
                .help("`bm=64,bn=128`")
        };
        let pair = |part: &str| -> Result<(String, i64)> {
            let (name, value) = part.split_once('=').ok_or_else(|| fault(part))?;
            Ok((name.trim().to_string(), value.trim().parse::<i64>().map_err(|_| fault(part))?))
        };
        let mut config = Config::default();
        for part in text.split(',') {
            let (name, value) = pair(part)?;
            if config.0.insert(name.clone(), value).is_some() {
                return Err(Diagnostic::request("config/repeated", format!("`{name}` is given twice")));
            }
        }
        Ok(config)
    }

    /// A positive entry, or a diagnostic that names what the config has.
    pub fn get(&self, name: &str) -> Result<usize> {
        match self.0.get(name) {
            Some(&v) if v >= 1 => Ok(v as usize),
            Some(&v) => Err(Diagnostic::request("config/value", format!("`{name}={v}` in a config"))
                .rule("entries are at least 1")),
            None => Err(Diagnostic::unknown(
                "config/missing",
                "config entry",
                name,
                self.0.keys().map(String::as_str),
            )
            .note(format!("the config is `{self}`"))),
        }
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}
