//! `cargo xtask dist`, and the test of what it makes.

mod alert_rules;
mod containers;
mod contents;
mod deb;
mod elf;
mod install_test;
mod release;
mod tarball;

pub(crate) use install_test::test;
pub(crate) use release::run_command;
