//! Where one cell stands, in two bytes.

use super::askings::{ANSWERS_MAX, Refiling};
use crate::cell_status::{CellStatus, ErrorCode};

/// A cell's status and all that processing must know of it without reading its row.
///
/// A cell that waits or runs keeps everything it had before (stale, by hand, its error), so that stopping
/// it is putting one status back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of its own, and all go together")]
pub struct Mark {
    pub status: CellStatus,
    /// What a queued cell waits for.
    pub phase: Phase,
    /// Of a running cell: what its column asks changed meanwhile, so its result is stale.
    pub outdated: bool,
    /// The status to go back to when a queued or running cell is stopped.
    pub prior: CellStatus,
    /// Whether a try of this run has failed: what the row keeps of tries is of this run.
    pub tried: bool,
    pub stale: bool,
    pub manual: bool,
    pub no_data: bool,
    pub error: Option<ErrorCode>,
    /// Of a completed cell that is stale only because its column asks something else now: which of the things that it
    /// asked before (see [`super::askings`]) the result answers. 0 if that is not known.
    pub answers: u8,
}

/// What a queued cell waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// A dependency that has not settled.
    #[default]
    Waiting,
    /// A worker.
    Ready,
    /// The time of its next try.
    Later,
}

impl Mark {
    pub fn is_idle(self) -> bool {
        self.status == CellStatus::Idle
    }

    /// Whether the cell waits or runs.
    pub fn is_pending(self) -> bool {
        matches!(self.status, CellStatus::Queued | CellStatus::Generating)
    }

    pub fn is_ready(self) -> bool {
        self.status == CellStatus::Queued && self.phase == Phase::Ready
    }

    pub(super) fn queued(self) -> Self {
        let (phase, prior) = (Phase::Waiting, self.status);
        Self { status: CellStatus::Queued, phase, prior, tried: false, answers: 0, ..self }
    }

    /// As it was before it was queued.
    pub(super) fn stopped(self) -> Self {
        Self { status: self.prior, phase: Phase::Waiting, prior: CellStatus::Idle, tried: false, ..self }
    }

    /// After what the column asks changed.
    pub(super) fn outdated(self) -> Self {
        let has_result = match self.status {
            CellStatus::Completed => true,
            CellStatus::Queued | CellStatus::Generating => self.prior == CellStatus::Completed,
            CellStatus::Idle | CellStatus::Error | CellStatus::Skipped => false,
        };
        let stale = self.stale || has_result && !self.manual;
        Self { stale, outdated: self.status == CellStatus::Generating, ..self }
    }

    /// After what the column asks changed, told what becomes of results. What is pending is only marked.
    pub(super) fn redefined(self, refiling: Refiling) -> Self {
        let Refiling { file_under, again, .. } = refiling;
        match self.status {
            CellStatus::Completed if self.manual => self,
            CellStatus::Completed if !self.stale => Self { stale: true, answers: file_under, ..self },
            CellStatus::Completed if self.answers == 0 => self,
            CellStatus::Completed if again == Some(self.answers) => Self { stale: false, answers: 0, ..self },
            CellStatus::Completed if self.answers == file_under => Self { answers: 0, ..self },
            CellStatus::Completed => self,
            _ => self.outdated(),
        }
    }

    /// Whether the cell's value is out of date and nothing is done about it yet.
    pub(super) fn is_stale(self) -> bool {
        self.status == CellStatus::Completed && self.stale
    }

    pub(super) fn settled(status: CellStatus) -> Self {
        Self { status, ..Self::default() }
    }

    pub(super) fn to_bits(self) -> u16 {
        // A running cell has no phase.
        let phase = match (self.status, self.phase) {
            (CellStatus::Generating, _) => u16::from(self.outdated),
            // Nor has one that is done.
            (CellStatus::Completed, _) => u16::from(self.answers & ANSWERS_MAX),
            (_, Phase::Waiting) => 0,
            (_, Phase::Ready) => 1,
            (_, Phase::Later) => 2,
        };
        let error = self.error.map_or(0, |error| number_of(&ErrorCode::ALL, error) + 1);
        number_of(&CellStatus::ALL, self.status)
            | phase << 3
            | number_of(&PRIORS, self.prior) << 5
            | u16::from(self.tried) << 7
            | u16::from(self.stale) << 8
            | u16::from(self.manual) << 9
            | u16::from(self.no_data) << 10
            | error << 11
    }

    /// The same as [`Mark::is_ready`], without taking the rest apart: whole blocks are searched for it.
    pub(super) fn bits_are_ready(bits: u16) -> bool {
        const STATUS_AND_PHASE: u16 = 0b11_111;
        const QUEUED_AND_READY: u16 = 0b01_001;
        bits & STATUS_AND_PHASE == QUEUED_AND_READY
    }

    /// `None` for bits that no mark has.
    pub(super) fn from_bits(bits: u16) -> Option<Self> {
        let field = |shift: u32, mask: u16| bits >> shift & mask;
        let status = *CellStatus::ALL.get(usize::from(field(0, 7)))?;
        let is_running = status == CellStatus::Generating;
        let is_done = status == CellStatus::Completed;
        Some(Self {
            status,
            phase: match field(3, 3) {
                _ if is_running || is_done => Phase::Waiting,
                0 => Phase::Waiting,
                1 => Phase::Ready,
                2 => Phase::Later,
                _ => return None,
            },
            outdated: is_running && field(3, 3) == 1,
            prior: *PRIORS.get(usize::from(field(5, 3)))?,
            tried: field(7, 1) == 1,
            stale: field(8, 1) == 1,
            manual: field(9, 1) == 1,
            no_data: field(10, 1) == 1,
            error: match field(11, ERRORS_MAX) {
                0 => None,
                code => Some(*ErrorCode::ALL.get(usize::from(code) - 1)?),
            },
            answers: if is_done { u8::try_from(field(3, 3)).unwrap_or_default() } else { 0 },
        })
    }
}

/// The statuses a cell can have had before it was queued.
const PRIORS: [CellStatus; 4] =
    [CellStatus::Idle, CellStatus::Completed, CellStatus::Error, CellStatus::Skipped];

/// The five bits of an error hold 31, and 0 for none. Stored marks have the place of a code in the list, so new ones go
/// to its end. Whoever needs more must widen the stored marks first.
const ERRORS_MAX: u16 = 31;
const _: () = assert!(ErrorCode::ALL.len() <= ERRORS_MAX as usize, "a mark has no room for so many errors");

fn number_of<T: PartialEq + Copy>(all: &[T], one: T) -> u16 {
    let place = all.iter().position(|other| *other == one).unwrap_or_default();
    u16::try_from(place).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_comes_back_from_its_bits() {
        let errors = ErrorCode::ALL.into_iter().map(Some).chain([None]);
        for error in errors {
            for status in CellStatus::ALL {
                for prior in PRIORS {
                    for phase in [Phase::Waiting, Phase::Ready, Phase::Later] {
                        let is_running = status == CellStatus::Generating;
                        let is_done = status == CellStatus::Completed;
                        for flags in 0..16 {
                            let mark = Mark {
                                status,
                                phase: if is_running || is_done { Phase::Waiting } else { phase },
                                answers: if is_done { 1 + phase as u8 } else { 0 },
                                outdated: is_running && phase == Phase::Later,
                                prior,
                                stale: flags & 1 > 0,
                                manual: flags & 2 > 0,
                                no_data: flags & 4 > 0,
                                tried: flags & 8 > 0,
                                error,
                            };
                            assert_eq!(Mark::from_bits(mark.to_bits()), Some(mark));
                            assert_eq!(Mark::bits_are_ready(mark.to_bits()), mark.is_ready());
                        }
                    }
                }
            }
        }
        assert_eq!(Mark::default().to_bits(), 0);
    }

    #[test]
    fn bits_of_no_mark_are_refused() {
        for bits in [6, 3 << 3, 17 << 11] {
            assert_eq!(Mark::from_bits(bits), None, "{bits:b}");
        }
    }

    #[test]
    fn stored_errors_keep_their_numbers() {
        // As released: what is added goes to the end.
        let stored = [
            "missing_input",
            "invalid_input",
            "condition_not_met",
            "dependency_error",
            "missing_credentials",
            "invalid_credentials",
            "out_of_credits",
            "rate_limited",
            "timed_out",
            "provider_error",
            "blocked",
            "invalid_output",
            "too_large",
            "stopped",
            "spend_limit",
            "needs_browser",
        ];
        for (number, word) in (1..).zip(stored) {
            let mark = Mark::from_bits(4 | number << 11).unwrap();
            assert_eq!(mark.error.map(ErrorCode::word), Some(word));
        }
    }
}
