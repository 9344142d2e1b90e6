//! The workbench of an accelerator kernel engineer.
