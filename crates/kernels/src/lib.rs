//! The kernel library: a file per family.
