//! What every run needs to know of its surroundings: the machine, the store, which config a problem gets.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use tilewright_diag::{Diagnostic, Result};
use tilewright_kernels::{Config, Family, Machine, Problem};
use tilewright_measure::ceilings::{self, Ceilings, Origin};
use tilewright_run::cache::Cache;
use tilewright_run::{Host, Pool, launch};
use tilewright_store::Store;
use tilewright_target_cpu::features::CpuFeatures;

use crate::choose::{self, Chosen};

/// Ceilings older than this are measured again: microcode, kernels and neighbours change.
const CEILINGS_AGE: Duration = Duration::from_secs(30 * 86_400);

/// What a caller may ask for; the default asks for everything that this machine has.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The store's file; [`tilewright_store::locate`] says where it is otherwise.
    pub store: Option<String>,
    /// Threads that run kernels; 0 for as many as this process has cores.
    pub threads: usize,
    /// The CPU that code is made for, as [`CpuFeatures::parse`] reads it; what this machine has where absent.
    pub features: Option<String>,
    /// The config that every problem gets, instead of its tuned one.
    pub config: Option<Config>,
    /// Take only configs whose rows are known not to depend on each other.
    pub batch_invariant: bool,
}

/// One run's surroundings.
pub struct Session {
    /// The CPU that code is made for.
    pub features: CpuFeatures,
    /// Threads that run kernels.
    pub threads: usize,
    /// This machine, as far as configs are sized by it.
    pub machine: Machine,
    /// This machine's processor, as the system describes it.
    pub host: Host,
    settings: Settings,
    pool: OnceLock<Pool>,
}

impl Session {
    /// A session with these settings. Nothing is compiled, opened or measured yet; the first session of a process decides on
    /// how many threads its interpreter and its compiles run.
    ///
    /// # Errors
    /// `cpu/unknown-feature`, `cpu/feature-needs` for features that are none; `run/no-threads`.
    pub fn new(settings: Settings) -> Result<Session> {
        let features = CpuFeatures::parse(settings.features.as_deref().unwrap_or("native"))?;
        let host = Host::detect();
        let threads = if settings.threads == 0 { host.logical_cores } else { settings.threads };
        let machine = machine(&host, features, threads);
        launch::work_on(threads)?;
        Ok(Session { features, threads, machine, host, settings, pool: OnceLock::new() })
    }

    /// The name under which this machine's times are kept.
    pub fn machine_key(&self) -> String {
        ceilings::Host::detect().key()
    }

    /// Refuses features that this machine lacks: their code can be shown, not run.
    ///
    /// # Errors
    /// `cpu/feature-absent`.
    pub fn require_runnable(&self) -> Result<()> {
        let have = CpuFeatures::detect();
        if self.features.supported_by(have) {
            return Ok(());
        }
        Err(Diagnostic::request(
            "cpu/feature-absent",
            format!("this machine does not run `{}` code", self.features),
        )
        .rule("code runs where the processor has every feature that it uses")
        .help(format!("use `--cpu-features {have}`, or `show` to read the code")))
    }

    /// The threads that kernels are launched on, started at the first call.
    ///
    /// # Errors
    /// `run/no-threads`.
    pub fn pool(&self) -> Result<&Pool> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = Pool::new(self.threads)?;
        Ok(self.pool.get_or_init(|| pool))
    }

    /// The store, created where it is missing.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn store(&self) -> Result<Store> {
        Store::open(self.settings.store.as_deref())
    }

    /// The store's file, whether or not it is there.
    ///
    /// # Errors
    /// Those of [`tilewright_store::locate`].
    pub fn store_path(&self) -> Result<PathBuf> {
        tilewright_store::locate(self.settings.store.as_deref())
    }

    /// Where this machine's ceilings are kept.
    ///
    /// # Errors
    /// Those of [`Cache::from_env`].
    pub fn ceilings_path(&self) -> Result<PathBuf> {
        Ok(Cache::from_env()?.folder().join("machine").join("ceilings.json"))
    }

    /// What this machine can do at most: kept from an earlier run, or measured now, which takes seconds.
    ///
    /// # Errors
    /// Those of [`ceilings::load_or_measure`].
    pub fn ceilings(&self) -> Result<(Ceilings, Origin)> {
        ceilings::load_or_measure(&self.ceilings_path()?, CEILINGS_AGE)
    }

    /// This machine's ceilings, measured now: those that were kept are doubted.
    ///
    /// # Errors
    /// As [`Session::ceilings`].
    pub fn remeasured_ceilings(&self) -> Result<Ceilings> {
        ceilings::load_or_measure(&self.ceilings_path()?, Duration::ZERO).map(|(ceilings, _)| ceilings)
    }

    /// The config that a problem gets on `target`: the one asked for, else the tuned one, else the nearest problem's, else
    /// the family's default; with words of warning for the last two.
    ///
    /// # Errors
    /// Those of the store, and of a family that refuses the config asked for.
    pub fn choose(&self, family: &dyn Family, problem: &Problem, target: &str) -> Result<Chosen> {
        if let Some(config) = &self.settings.config {
            return choose::given(family, problem, &self.machine, config);
        }
        choose::from_store(self, family, problem, target)
    }

    /// Whether only batch-invariant configs are taken.
    pub fn batch_invariant(&self) -> bool {
        self.settings.batch_invariant
    }
}

/// The facts by which configs are sized. A cache that the system does not tell of gets a size that most machines exceed.
fn machine(host: &Host, features: CpuFeatures, threads: usize) -> Machine {
    let cache = |level, otherwise: u64| host.data_cache(level).unwrap_or(otherwise) as usize;
    Machine {
        lanes: features.lanes(tilewright_dtype::DType::F32),
        l1_bytes: cache(1, 32 << 10),
        l2_bytes: cache(2, 512 << 10),
        l3_bytes: cache(3, 4 << 20),
        cores: threads,
    }
}
