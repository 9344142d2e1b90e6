//! Compilers as child processes, loading and launching compiled kernels.
