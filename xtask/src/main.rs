//! The project's chores, run as `cargo xtask <command>`.

#![expect(clippy::print_stdout, reason = "a command-line tool reports on standard output")]

mod batch_peers;
mod bench;
mod browser;
mod clients;
mod debian;
mod dist;
mod document;
mod examples;
mod http;
mod mcp;
mod peers;
mod process;
mod proxies;
mod python_peer;
mod schemathesis;
mod server;
mod steps;
mod supply_chain;
mod tidy;
mod tools;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <command>

  test [--keep-going] [--rounds N] [--large] [STEP ...]
               every check and test, or only the named steps:
               fmt, clippy, tidy, supply-chain, unit, faults, document, schemathesis, clients, examples, peers, proxies, mcp,
               browser, package
               --keep-going  goes on after a failed step
               --rounds N    kill -9 rounds of the crash test
               --large       faults in their large form (the small one is part of unit), cargo install and lintian for
                             package
  ci           the same as test; this is what .ci/run calls
  tidy         the rules a compiler does not know
  openapi      writes openapi.json anew from the code
  supply-chain licences, bans, duplicates and sources as deny.toml wants them, and the third-party notices current
  advisories FOLDER
               the crates against a copy of the RustSec advisory database
  notices      writes the third-party notices anew from the lock files
  sbom         prints the bill of materials, as CycloneDX
  dist [--binary PATH] [--folder FOLDER] [--version VERSION] [--fast]
               a release in target/dist: tarball, Debian package, bill of materials, checksums
               --binary PATH  packs this binary instead of building one
  bench [ARG ...]
               the measurements, in a release build; arguments go to the bench
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let outcome = match (command.as_str(), rest.as_slice()) {
        ("test" | "ci", _) => steps::test(&rest),
        ("tidy", []) => tidy::run(),
        ("openapi", []) => document::write(),
        ("supply-chain", []) => supply_chain::check(),
        ("advisories", [database]) => supply_chain::check_advisories(Path::new(database)),
        ("notices", []) => supply_chain::write_notices(),
        ("sbom", []) => supply_chain::print_bill_of_materials(),
        ("dist", _) => dist::run_command(&rest),
        ("bench", _) => bench::run(&rest),
        ("help" | "--help" | "-h", _) => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("not a command: cargo xtask {command} {}\n\n{USAGE}", rest.join(" ")).into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
