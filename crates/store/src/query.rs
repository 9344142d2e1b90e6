//! Which records to read.

use std::collections::BTreeMap;

use crate::problem::Problem;
use crate::record::Sourced;
use crate::row::Keys;

/// Which records to read: all, narrowed by each method called.
#[derive(Clone, Debug, Default)]
pub struct Query {
    pub(crate) kernel: Option<String>,
    pub(crate) problem: Option<String>,
    pub(crate) target: Option<String>,
    pub(crate) machine: Option<String>,
    pub(crate) ir_hash: Option<String>,
    pub(crate) code_hash: Option<String>,
    pub(crate) since: Option<i64>,
    compiler: Option<String>,
    versions: BTreeMap<String, String>,
    threads: Option<u32>,
    batch_invariant: bool,
}

impl Query {
    /// Every record.
    pub fn new() -> Self {
        Query::default()
    }

    /// The records of one kernel and problem on one target and machine.
    pub fn of(kernel: &str, problem: &Problem, target: &str, machine: &str) -> Self {
        Query::new().kernel(kernel).problem(problem).target(target).machine(machine)
    }

    /// Only of this kernel family.
    pub fn kernel(mut self, name: &str) -> Self {
        self.kernel = Some(name.to_owned());
        self
    }

    /// Only of this problem.
    pub fn problem(self, problem: &Problem) -> Self {
        self.problem_key(&problem.to_string())
    }

    /// Only for this target.
    pub fn target(mut self, target: &str) -> Self {
        self.target = Some(target.to_owned());
        self
    }

    /// Only of this machine: of a tuning record the machine whose time it is, of others the machine that made them.
    pub fn machine(mut self, machine: &str) -> Self {
        self.machine = Some(machine.to_owned());
        self
    }

    /// Only of this tile IR.
    pub fn ir_hash(mut self, hash: &str) -> Self {
        self.ir_hash = Some(hash.to_owned());
        self
    }

    /// Only of this emitted code.
    pub fn code_hash(mut self, hash: &str) -> Self {
        self.code_hash = Some(hash.to_owned());
        self
    }

    /// Only by this compiler and version.
    pub fn compiler(mut self, compiler: &str) -> Self {
        self.compiler = Some(compiler.to_owned());
        self
    }

    /// Only where the provenance names this version of `name`; call once for each name that matters.
    pub fn version(mut self, name: &str, version: &str) -> Self {
        self.versions.insert(name.to_owned(), version.to_owned());
        self
    }

    /// Only with this many threads.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Only tuning records whose batch invariance was tested and held.
    pub fn batch_invariant(mut self) -> Self {
        self.batch_invariant = true;
        self
    }

    /// Only made at or after this time, in seconds since 1970-01-01T00:00:00Z.
    pub fn since(mut self, created: i64) -> Self {
        self.since = Some(created);
        self
    }

    pub(crate) fn problem_key(mut self, key: &str) -> Self {
        self.problem = Some(key.to_owned());
        self
    }

    /// Every problem that the rest of the query admits.
    pub(crate) fn any_problem(mut self) -> Self {
        self.problem = None;
        self
    }

    /// Whether a row with these columns is one that the database should have given: a damaged index may give another.
    pub(crate) fn finds(&self, keys: &Keys) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|w| w == found);
        is(&self.kernel, &keys.kernel)
            && is(&self.problem, &keys.problem)
            && is(&self.target, &keys.target)
            && is(&self.machine, &keys.machine)
            && is(&self.ir_hash, &keys.ir_hash)
            && is(&self.code_hash, &keys.code_hash)
            && self.since.is_none_or(|since| keys.created >= since)
    }

    /// Whether `record` passes what no column holds.
    pub(crate) fn admits<R: Sourced>(&self, record: &R) -> bool {
        let p = record.provenance();
        self.compiler.as_ref().is_none_or(|c| *c == p.compiler)
            && self.threads.is_none_or(|t| t == p.threads)
            && self.versions.iter().all(|(name, version)| p.versions.get(name) == Some(version))
            && (!self.batch_invariant || record.batch_invariant())
    }
}
