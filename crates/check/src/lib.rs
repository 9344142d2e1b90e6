//! Verdicts against a float64 reference with derived bounds.
