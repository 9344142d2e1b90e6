//! Search over configs within a budget, gated by check.
