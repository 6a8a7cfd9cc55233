//! Whole engines in a world that goes by a seed: a fake clock, providers that fail in every way, a store
//! behind bad weather, people who trigger, stop, write and delete, and crashes at any moment.
//!
//! Each seed is one history, and in each the promises of [`checks`] must hold. More seeds:
//! `ROWMILL_SIMULATION_SEEDS=100000`; one of them: `ROWMILL_SIMULATION_SEED=17`.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod actor;
mod checks;
mod fake_providers;
mod panics;
mod tables;
mod world;

use std::panic::resume_unwind;

const SEEDS_DEFAULT: u64 = 1_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// Lives one history; the violation is an error.
fn live(seed: u64) -> Result<Vec<String>, String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(actor::live(seed))
}

fn must_hold(seed: u64) -> Vec<String> {
    live(seed).unwrap_or_else(|words| {
        panic!(
            "seed {seed}: {words}\n\nRun it again: \
             ROWMILL_SIMULATION_SEED={seed} cargo test -p rowmill-engine --test simulation"
        )
    })
}

#[test]
fn every_history_keeps_the_promises() {
    if let Some(seed) = number("ROWMILL_SIMULATION_SEED") {
        for line in must_hold(seed) {
            println!("{line}");
        }
        return;
    }
    let seeds = number("ROWMILL_SIMULATION_SEEDS").unwrap_or(SEEDS_DEFAULT);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (calls, results) = std::thread::scope(|scope| {
        let live_some = move |first: usize| {
            (first as u64..seeds).step_by(threads).fold((0, 0), |sum, seed| count(sum, &must_hold(seed)))
        };
        let shares: Vec<_> = (0..threads).map(|first| scope.spawn(move || live_some(first))).collect();
        let counts =
            shares.into_iter().map(|share| share.join().unwrap_or_else(|panic| resume_unwind(panic)));
        counts.fold((0, 0), |sum: (usize, usize), (calls, results)| (sum.0 + calls, sum.1 + results))
    });
    println!("{seeds} histories with {calls} calls and {results} values written");
    assert!(results as u64 >= seeds, "histories in which nothing happens show nothing");
}

/// Adds a history's calls and the values that came of them.
fn count((calls, results): (usize, usize), history: &[String]) -> (usize, usize) {
    let lines_with = |word: &str| history.iter().filter(|line| line.contains(word)).count();
    (calls + lines_with(" call v"), results + lines_with(" wrote v"))
}

#[test]
fn a_seed_is_one_history() {
    for seed in [1, 7, 42, 1_234_567] {
        let (first, second) = (must_hold(seed), must_hold(seed));
        for (one, other) in first.iter().zip(&second) {
            assert_eq!(one, other, "seed {seed}");
        }
        assert_eq!(first.len(), second.len(), "seed {seed}");
    }
}
