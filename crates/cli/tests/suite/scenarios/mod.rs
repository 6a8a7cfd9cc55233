//! What is promised, sentence by sentence of the contract.

mod cells;
mod columns;
mod corrections;
mod ids;
mod matching;
mod projects;
mod refusals;
mod rows;
mod sizes;
mod system;

use crate::harness::Scenario;

/// Every scenario. Those that take longest come first, so that nobody waits for them at the end.
pub(crate) fn all() -> Vec<Scenario> {
    [
        sizes::OWN,
        projects::OWN,
        sizes::SHARED,
        ids::SHARED,
        refusals::SHARED,
        system::SHARED,
        projects::SHARED,
        columns::SHARED,
        corrections::SHARED,
        rows::SHARED,
        matching::SHARED,
        cells::SHARED,
    ]
    .concat()
}
