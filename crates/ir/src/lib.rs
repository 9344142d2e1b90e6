//! The tile IR: one table of ops, builder, printer, parser, verifier.
