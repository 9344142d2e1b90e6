//! Element types bit for bit, rounding, ULP distance, and host tensors.
