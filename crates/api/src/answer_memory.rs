//! A budget for the memory of large answers: rows that were read and rendered, until the client has taken them.
//!
//! Without it a caller who reads slowly, on many connections, makes the server hold as many large rows. A tenant may
//! use a quarter of the budget at most (`byte_budget.rs`), so callers who do not read hold up their own team.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use rowmill_app::SLICE_BYTES;
use rowmill_fairness::{FairSemaphore, Tenant};

use crate::byte_budget::{ByteBudget, Charge};
use crate::error::Error;
use crate::paced::PIECE_BYTES;

/// Less than this would refuse ordinary pages.
const BYTES_MIN: usize = 64 * 1024 * 1024;
/// An answer is there twice while it is rendered: as rows, and as the text that is sent.
const CHARGE_FACTOR: usize = 2;
/// How long an answer of ordinary size waits for room, and how long the next part of one that has begun.
const WAIT_MAX: Duration = Duration::from_secs(10);
const NEXT_PART_WAIT_MAX: Duration = Duration::from_mins(2);
/// Answers that wait for room, of all and of one tenant: each holds what was read for it.
const WAITING_MAX: usize = 128;
const WAITING_EACH_MAX: usize = 32;

#[derive(Debug)]
pub(crate) struct AnswerMemory {
    budget: Arc<ByteBudget>,
    waiting: Arc<FairSemaphore>,
}

impl AnswerMemory {
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            budget: ByteBudget::new(bytes_max.max(BYTES_MIN)),
            waiting: FairSemaphore::new(WAITING_MAX, WAITING_EACH_MAX),
        })
    }

    /// Room for an answer that is made from so many bytes; none is needed if they are few. What is large must not wait,
    /// because it holds its bytes while it does.
    pub(crate) async fn admit(&self, bytes: usize) -> Result<Option<Charge>, Error> {
        if bytes <= PIECE_BYTES {
            return Ok(None);
        }
        let tenant = Tenant::current();
        let charged = self.charged(bytes);
        if let Some(charge) = self.budget.try_charge(tenant, charged) {
            return Ok(Some(charge));
        }
        if bytes > SLICE_BYTES {
            return Err(Error::Busy);
        }
        let _waiting = self.waiting.try_acquire(tenant).ok_or(Error::Busy)?;
        self.budget.charge(tenant, charged, WAIT_MAX).await.map(Some).ok_or(Error::Busy)
    }

    /// Room for the answer to a write that was made. It is never refused: the caller would write again.
    pub(crate) fn admit_written(&self, bytes: usize) -> Option<Charge> {
        (bytes > PIECE_BYTES).then(|| self.budget.charge_anyway(Tenant::current(), bytes))
    }

    /// Room for the next part of an answer, before it is read.
    pub(crate) async fn admit_part(&self) -> Result<Charge, Error> {
        let charged = self.charged(SLICE_BYTES);
        let charge = self.budget.charge(Tenant::current(), charged, NEXT_PART_WAIT_MAX).await;
        charge.ok_or(Error::Busy)
    }

    /// More room for a part that proved to have so many bytes.
    pub(crate) fn enlarge(&self, part: &mut Charge, bytes: usize) -> Result<(), Error> {
        let fits = bytes <= SLICE_BYTES || part.resize(self.charged(bytes));
        if fits { Ok(()) } else { Err(Error::Busy) }
    }

    /// Never more than a tenant's share: the largest row gets through, one at a time.
    fn charged(&self, bytes: usize) -> usize {
        bytes.saturating_mul(CHARGE_FACTOR).min(self.budget.tenant_max())
    }
}

/// A body that keeps its room until it was sent.
pub(crate) fn held(body: Body, charge: Option<Charge>) -> Body {
    match charge {
        Some(charge) => Body::new(Held { body, _charge: charge }),
        None => body,
    }
}

struct Held {
    body: Body,
    _charge: Charge,
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1024 * 1024;

    async fn admitted(memory: &AnswerMemory, team: u128, bytes: usize) -> Option<Charge> {
        Tenant::team(team).scope(memory.admit(bytes)).await.ok().flatten()
    }

    #[tokio::test(start_paused = true)]
    async fn a_team_that_does_not_read_holds_up_itself() {
        let memory = AnswerMemory::new(0);
        let largest = admitted(&memory, 1, 20 * MB).await;
        assert!(largest.is_some(), "the largest row gets through");
        assert!(admitted(&memory, 1, 3 * MB).await.is_none());
        assert!(admitted(&memory, 1, MB).await.is_none(), "it waited in vain");
        assert!(admitted(&memory, 2, 3 * MB).await.is_some());
        let small = Tenant::team(1).scope(memory.admit(PIECE_BYTES)).await;
        assert!(matches!(small, Ok(None)), "what is small needs no room");
        let written = Tenant::team(1).scope(async { memory.admit_written(MB) }).await;
        assert!(written.is_some(), "a write is answered");
        drop(written);
        let (waited, ()) = tokio::join!(admitted(&memory, 1, MB), async { drop(largest) });
        assert!(waited.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_grows_within_the_share() {
        let memory = AnswerMemory::new(0);
        let mut first = memory.admit_part().await.unwrap();
        memory.enlarge(&mut first, 3 * MB).unwrap();
        let mut second = memory.admit_part().await.unwrap();
        assert!(memory.enlarge(&mut second, 20 * MB).is_err());
        drop(first);
        memory.enlarge(&mut second, 20 * MB).unwrap();
        assert!(memory.admit_part().await.is_err());
    }
}
