//! A problem's canonical name.

use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tilewright_diag::{Diagnostic, Result};

/// A problem: dimensions, dtypes and flags by name, in the order the kernel family gives them.
///
/// [`Display`](fmt::Display) writes its key, `m=4096 n=4096 dtype=bf16`, under which records are found;
/// [`Problem::parse`] reads it back. In JSON it is an object whose members keep that order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Problem(Vec<(String, String)>);

impl Problem {
    /// A problem of these `(name, value)` pairs.
    ///
    /// # Errors
    /// `store/bad-problem` for an empty or repeated name, a name with `=` in it, or white space anywhere: its key would
    /// be ambiguous.
    pub fn new<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Result<Self> {
        let pairs: Vec<(String, String)> = pairs.into_iter().map(|(n, v)| (n.into(), v.into())).collect();
        match ambiguity(&pairs) {
            None => Ok(Problem(pairs)),
            Some(why) => Err(Diagnostic::request("store/bad-problem", why)
                .rule("a problem's key is `name=value` pairs divided by single spaces")),
        }
    }

    /// Reads a key as written by [`Display`](fmt::Display).
    ///
    /// # Errors
    /// `store/bad-problem` as for [`Problem::new`], and for a word without `=`.
    pub fn parse(key: &str) -> Result<Self> {
        let pairs: Option<Vec<_>> = key.split_whitespace().map(|word| word.split_once('=')).collect();
        match pairs {
            Some(pairs) => Self::new(pairs),
            None => Err(Diagnostic::request("store/bad-problem", format!("`{key}` has a word without `=`"))
                .help("write `name=value` pairs, such as `m=512 dtype=f32`")),
        }
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// The `(name, value)` pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.iter().enumerate() {
            let gap = if at == 0 { "" } else { " " };
            write!(f, "{gap}{name}={value}")?;
        }
        Ok(())
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Problem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Problem;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of a problem's names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Problem, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<String, String>()? {
                    pairs.push(pair);
                }
                Problem::new(pairs).map_err(|d| de::Error::custom(d.message))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

fn ambiguity(pairs: &[(String, String)]) -> Option<String> {
    pairs.iter().enumerate().find_map(|(at, (name, value))| {
        if name.is_empty() || name.contains('=') || name.contains(char::is_whitespace) {
            Some(format!("`{name}` cannot name a problem's dimension"))
        } else if value.contains(char::is_whitespace) {
            Some(format!("the value of `{name}` has white space in it: `{value}`"))
        } else if pairs[..at].iter().any(|(earlier, _)| earlier == name) {
            Some(format!("`{name}` is given twice"))
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keeps_the_given_order() {
        let p = Problem::new([("n", "2"), ("m", "1"), ("epilogue", "scale=2")]).unwrap();
        assert_eq!(p.to_string(), "n=2 m=1 epilogue=scale=2");
        assert_eq!(serde_json::to_string(&p).unwrap(), r#"{"n":"2","m":"1","epilogue":"scale=2"}"#);
        assert_eq!(p.get("m"), Some("1"));
        assert_eq!(p.get("k"), None);
    }

    #[test]
    fn refuses_what_would_be_ambiguous() {
        for pairs in [[("", "1"), ("m", "1")], [("m", "1"), ("m", "2")], [("a b", "1"), ("m", "1")]] {
            assert_eq!(Problem::new(pairs).unwrap_err().code, "store/bad-problem");
        }
        assert_eq!(Problem::new([("m", "1 n=2")]).unwrap_err().code, "store/bad-problem");
        assert_eq!(Problem::parse("m=1 n").unwrap_err().code, "store/bad-problem");
        assert!(serde_json::from_str::<Problem>(r#"{"m":"1","m":"2"}"#).is_err());
    }

    proptest! {
        #[test]
        fn key_and_json_round_trip(pairs in proptest::collection::btree_map("[^=\\s]{1,6}", "\\S{0,6}", 0..5)) {
            let p = Problem::new(pairs).unwrap();
            prop_assert_eq!(&Problem::parse(&p.to_string()).unwrap(), &p);
            let json = serde_json::to_string(&p).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Problem>(&json).unwrap(), &p);
        }
    }
}
