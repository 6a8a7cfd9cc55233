//! Generates ids and secrets, from the time and the system's randomness.

use rowmill_clock::Clock;
use rowmill_model::ColumnId;
use uuid::{Builder, Uuid};

use crate::error::{Error, Result};

/// Bytes nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::Internal(error.into()))?;
    Ok(bytes)
}

pub(crate) fn column_id() -> Result<ColumnId> {
    Ok(ColumnId::from_random(random()?))
}

/// An id for something that is only logged: without randomness it still tells the time.
pub fn log_id(clock: &dyn Clock) -> Uuid {
    let now_ms = clock.now_ms();
    uuid(now_ms).unwrap_or_else(|_| Uuid::from_u64_pair(now_ms.unsigned_abs(), 0))
}

pub(crate) fn uuid(now_ms: i64) -> Result<Uuid> {
    Ok(uuids(now_ms)?.next().unwrap_or_default())
}

/// An endless run of `UUIDv7`s in growing order: one random start, then counted up, so that a batch costs
/// one call for randomness and sorts as it was sent.
pub(crate) fn uuids(now_ms: i64) -> Result<impl Iterator<Item = Uuid>> {
    let millis = u64::try_from(now_ms).unwrap_or_default();
    // A UUIDv7 has 12 and 62 bits to fill. One bit less than those is random, so that counting up never
    // runs over.
    let start = u128::from_be_bytes(random()?) >> (128 - 73);
    Ok((start..).map(move |count| {
        // The builder writes version and variant over the six bits between the two.
        let spread = (count >> 62) << 64 | count & ((1 << 62) - 1);
        let mut bytes = [0; 10];
        bytes.iter_mut().rev().zip(spread.to_le_bytes()).for_each(|(byte, value)| *byte = value);
        Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_of_ids_grows_and_tells_its_time() {
        let ids: Vec<Uuid> = uuids(1_700_000_000_123).unwrap().take(10_000).collect();
        assert!(ids.is_sorted());
        assert_eq!(ids.first(), ids.iter().min());
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        let (seconds, nanos) = ids[0].get_timestamp().unwrap().to_unix();
        assert_eq!((seconds, nanos / 1_000_000), (1_700_000_000, 123));
    }
}
