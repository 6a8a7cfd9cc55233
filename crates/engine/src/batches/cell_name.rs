//! How a cell is named towards a provider, so that its result finds back to it.
//!
//! The name has all that settling needs, so nothing has to be remembered about the cells of a batch.

use rowmill_store::{Lane, Ticket};
use uuid::Uuid;

/// A cell of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellName {
    pub(super) ticket: Ticket,
    /// Tries of this run that failed.
    pub(super) attempts: u32,
    /// When it first failed or was put off in this run, in Unix milliseconds.
    pub(super) since_ms: Option<i64>,
}

/// The part of a name that all cells of a batch have in common.
fn tag(batch: Uuid) -> String {
    let (tag, _, _, _) = batch.as_fields();
    format!("{tag:08x}")
}

impl CellName {
    /// At most 64 letters, digits and dashes: both providers take that.
    pub(super) fn text(self, batch: Uuid) -> String {
        let Self { ticket: Ticket { token, lane: _, position }, attempts, since_ms } = self;
        let since = since_ms.unwrap_or_default();
        format!("{}-{position:x}-{token:x}-{attempts:x}-{since:x}", tag(batch))
    }

    /// Reads a name; nothing if it is none of this batch.
    pub(super) fn read(text: &str, batch: Uuid, lane: Lane) -> Option<Self> {
        let mut parts = text.split('-');
        if parts.next()? != tag(batch) {
            return None;
        }
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let (position, token, attempts, since) = (number()?, number()?, number()?, number()?);
        let name = Self {
            ticket: Ticket { token, lane, position },
            attempts: u32::try_from(attempts).ok()?,
            since_ms: i64::try_from(since).ok().filter(|since| *since > 0),
        };
        // One spelling only.
        (name.text(batch) == text).then_some(name)
    }

    /// Whether a name is one of this batch.
    pub(super) fn is_of(text: &str, batch: Uuid) -> bool {
        text.split_once('-').is_some_and(|(before, _)| before == tag(batch))
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::ProjectId;

    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let lane = Lane { project: ProjectId::from_uuid(Uuid::from_u128(5)), slot: 3 };
        let (batch, other) = (Uuid::from_u128(0x1234_5678 << 96), Uuid::from_u128(0x1234_5679 << 96));
        for (token, position, attempts, since_ms) in [
            (1, 0, 0, None),
            (u64::MAX, u64::MAX, u32::MAX, Some(4_102_444_800_000)),
            (77, 99_999, 2, Some(1)),
        ] {
            let name = CellName { ticket: Ticket { token, lane, position }, attempts, since_ms };
            let text = name.text(batch);
            assert!(
                text.len() <= 64 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphanumeric())
            );
            assert_eq!(CellName::read(&text, batch, lane), Some(name), "{text}");
            assert_eq!(CellName::read(&text, other, lane), None);
            assert!(CellName::is_of(&text, batch) && !CellName::is_of(&text, other));
        }
        for text in ["", "12345678", "12345678-1-1-0", "12345678-+1-1-0-0", "12345678-01-1-0-0", "x-1-1-0-0"]
        {
            assert_eq!(CellName::read(text, batch, lane), None, "{text}");
        }
    }
}
