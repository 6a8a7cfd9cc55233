//! Which rate limit holds the present run back most.

use std::collections::BTreeMap;

use rowmill_model::column::RateLimit;
use rowmill_model::plan::ColumnTally;
use rowmill_store::ProcessingStatus;

use crate::app::App;

/// A rate limit that cells of a run wait for.
#[derive(Debug, Clone, PartialEq)]
pub struct RateWait {
    /// A column whose calls it limits.
    pub column_id: String,
    pub header: String,
    pub rate: RateLimit,
    /// It is set in the column, and not one of the provider.
    pub is_own: bool,
    /// Cells that wait or run under it.
    pub cells: u64,
    /// How long they take at this rate.
    pub seconds: u64,
}

/// Of more columns none is looked at.
const COLUMNS_MAX: usize = 50;
/// What takes less is no wait.
const SECONDS_MIN: u64 = 2;

impl App {
    /// The limit under which the cells that are left take longest; `None` if none of them waits for one.
    pub(crate) async fn rate_wait(&self, status: &ProcessingStatus) -> Option<RateWait> {
        let trial = self.tester.get()?;
        let ProcessingStatus { project, tally, row_count, .. } = status;
        let processed = project.table.columns.iter().filter(|column| column.kind.is_processed());
        let pending = processed.filter_map(|column| {
            let ColumnTally { queued, generating, .. } = tally.column(column.slot, *row_count);
            (queued + generating > 0).then_some((column, queued + generating))
        });
        let mut waits: BTreeMap<String, RateWait> = BTreeMap::new();
        for (column, cells) in pending.take(COLUMNS_MAX) {
            for limit in trial.forecast(project, column).await.limits {
                let Some(rate) =
                    limit.rates.into_iter().max_by(|one, other| interval(one).total_cmp(&interval(other)))
                else {
                    continue;
                };
                let is_own = column.rate_limit.as_ref() == Some(&rate);
                let (column_id, header) = (column.id.to_string(), column.header.clone());
                let wait = RateWait { column_id, header, rate, is_own, cells: 0, seconds: 0 };
                waits.entry(limit.name).or_insert(wait).cells += cells;
            }
        }
        for wait in waits.values_mut() {
            wait.seconds = seconds(&wait.rate, wait.cells);
        }
        waits.into_values().max_by_key(|wait| wait.seconds).filter(|wait| wait.seconds >= SECONDS_MIN)
    }
}

/// Seconds from one call to the next.
fn interval(rate: &RateLimit) -> f64 {
    f64::from(rate.per_seconds) / f64::from(rate.requests.max(1))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, and it saturates"
)]
fn seconds(rate: &RateLimit, cells: u64) -> u64 {
    (interval(rate) * cells as f64).ceil() as u64
}
