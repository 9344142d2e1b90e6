//! The reference executor: exact dtypes, float64, and value with bound.
