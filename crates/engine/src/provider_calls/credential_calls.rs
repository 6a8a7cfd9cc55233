//! Calls with a credential. Every one of them keeps these rules: it waits for its turn, a circuit breaker may put it off,
//! and a credential that was rejected in a run is not used again in it.

use rowmill_providers::catalogue::Provider;
use rowmill_providers::{Access, Failure};

use super::call_span::in_span;
use super::refusal::Refusal;
use super::{ProviderCalls, identity};
use crate::call_limits::CallLimit;
use crate::cell_runner::Cell;

impl ProviderCalls {
    /// Makes one call once its turn has come. The first call of a run goes alone, so that a bad credential is tried once.
    pub(super) async fn call_with_credential<T>(
        &self,
        cell: &Cell,
        provider: &'static Provider,
        access: &Access,
        limits: &[CallLimit],
        asked: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Refusal> {
        let account = identity(provider, access);
        let check_rejected = || self.rejected_credentials.recall(cell, account).map_or(Ok(()), Err);
        check_rejected()?;
        let _first = self.rejected_credentials.wait_for_first(cell, account, self.clock()).await;
        check_rejected()?;
        let acquired = self.call_limits.acquire(limits, cell, self.clock(), self.config.wait_max).await;
        let permit = acquired.map_err(Refusal::PutOff)?;
        // Another cell may have been refused while this one waited for its turn.
        check_rejected()?;
        let started = self.now();
        let answer = in_span(provider.about.id, Box::pin(asked)).await;
        self.measure(provider.about.id, started, &answer);
        // Known before the next call may start.
        self.rejected_credentials.note(cell, account, &answer, self.clock()).await;
        permit.report(&answer, self.now());
        Ok(answer?)
    }
}
