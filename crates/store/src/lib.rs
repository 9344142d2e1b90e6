//! Records of checks, benchmarks and tuning, in SQLite.
