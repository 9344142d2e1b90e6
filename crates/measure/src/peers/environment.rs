//! Environment variables that peers read when they are loaded.
#![allow(unsafe_code)]

/// Lets libraries pick their best kernel for this processor, and makes their idle threads sleep soon: a thread that spins
/// for work would take a core from the next contestant.
pub(super) fn before_loading() {
    for name in ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"] {
        if std::env::var_os(name).is_some() {
            // SAFETY: see `set_default`.
            unsafe { std::env::remove_var(name) }
        }
    }
    for (name, value) in IDLE {
        set_default(name, value);
    }
}

/// Idle threads give up spinning after half a millisecond or so; a measurement is preceded by a longer pause.
pub(super) const IDLE: [(&str, &str); 3] = [
    // 2^20 cycles.
    ("OPENBLAS_THREAD_TIMEOUT", "20"),
    // Spins of the GNU OpenMP runtime, some 70 ns each.
    ("GOMP_SPINCOUNT", "8000"),
    // Milliseconds, of the Intel and LLVM OpenMP runtimes.
    ("KMP_BLOCKTIME", "0"),
];

fn set_default(name: &str, value: &str) {
    if std::env::var_os(name).is_none() {
        // SAFETY: `std` guards its own accesses; C code that reads the environment without that guard must not run at
        // the same time. Peers are looked for before the program starts threads, as `find` asks for, and each
        // library reads the environment while it is being loaded, on this thread.
        unsafe { std::env::set_var(name, value) }
    }
}
