//! Comparing the stored live counts of a project with its rows, run by run.

use rowmill_model::ProjectId;

use super::report::{ProblemKind, Report};
use super::stream::Stream;
use crate::changes::LIVE_LEVEL_BITS;
use crate::error::Result;
use crate::inspect::Inspect;

const PAGE_MAX: u32 = 4_096;

/// The counts of all levels.
pub(super) struct LiveCounts<'a> {
    levels: Vec<Level<'a>>,
}

struct Level<'a> {
    number: usize,
    bits: u32,
    stored: Stream<'a, i64>,
    /// The run that rows are counted in, and how many there are so far.
    run: Option<(u64, i64)>,
}

impl<'a> LiveCounts<'a> {
    pub(super) fn of(store: &'a dyn Inspect, id: ProjectId) -> Self {
        let level = |(number, bits): (usize, u32)| {
            let level = u32::try_from(number).unwrap_or_default();
            let stored = Stream::new(Box::new(move |first| store.live(id, level, first, PAGE_MAX)));
            Level { number, bits, stored, run: None }
        };
        Self { levels: LIVE_LEVEL_BITS.into_iter().enumerate().map(level).collect() }
    }

    /// Counts so many rows that lie in one block.
    pub(super) async fn add(
        &mut self,
        position: u64,
        rows: u64,
        id: ProjectId,
        report: &mut Report,
    ) -> Result<()> {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        for level in &mut self.levels {
            let run = position >> level.bits;
            match &mut level.run {
                Some((current, count)) if *current == run => *count += rows,
                _ => {
                    level.compare(id, report).await?;
                    level.run = Some((run, rows));
                }
            }
        }
        Ok(())
    }

    pub(super) async fn finish(mut self, id: ProjectId, report: &mut Report) -> Result<()> {
        for level in &mut self.levels {
            level.compare(id, report).await?;
            while let Some((run, count)) = level.stored.next_up_to(u64::MAX).await? {
                level.expect(run, count, 0, id, report);
            }
        }
        Ok(())
    }
}

impl Level<'_> {
    /// Compares the run that was counted, and those before it that have no rows.
    async fn compare(&mut self, id: ProjectId, report: &mut Report) -> Result<()> {
        let Some((run, count)) = self.run.take() else { return Ok(()) };
        let mut found = 0;
        while let Some((stored_run, stored)) = self.stored.next_up_to(run).await? {
            if stored_run == run {
                found = stored;
            } else {
                self.expect(stored_run, stored, 0, id, report);
            }
        }
        self.expect(run, found, count, id, report);
        Ok(())
    }

    fn expect(&self, run: u64, stored: i64, counted: i64, id: ProjectId, report: &mut Report) {
        if stored != counted {
            let (first, last) = (run << self.bits, ((run + 1) << self.bits) - 1);
            let words = format!(
                "the live count of positions {first} to {last} (level {}) is {stored}, but there are {counted} rows",
                self.number
            );
            report.add(ProblemKind::WrongCount, Some(id), words);
        }
    }
}
