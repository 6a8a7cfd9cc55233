//! E-mail verifiers, one after another, until one knows whether an address takes mail.

use async_trait::async_trait;
use parking_lot::Mutex;
use rowmill_model::cell::Meta;
use rowmill_model::column::{VerifyEmail, WaterfallProvider};
use rowmill_model::{CellError, ErrorCode, LookupTask, provider};
use rowmill_providers::verify::{Address, Checks, Verdict, Verification, Verifier};
use rowmill_providers::{Failure, FailureKind};
use serde_json::json;

use super::ProviderCalls;
use super::in_order::{Answer, Asked, PutOff, Question, asking, required_access};
use crate::cell_runner::{CallOutcome, Cell};
use crate::credentials::TeamCredentials;

/// The longest text that is shown where an address should be.
const TEXT_CHARS_MAX: usize = 320;

/// Which address is verified.
struct Mailbox<'a> {
    calls: &'a ProviderCalls,
    cell: &'a Cell,
    credentials: &'a TeamCredentials,
    address: Address,
    /// What all who were asked found out.
    checks: Mutex<Checks>,
}

impl ProviderCalls {
    pub(super) async fn verify_email(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
    ) -> Result<CallOutcome, CallOutcome> {
        let asking = asking(cell, VerifyEmail::INPUT_KEYS)?;
        let [text] = &asking.inputs;
        if text.trim().is_empty() {
            let message = "There is no e-mail address to verify.".to_owned();
            return Err(CallOutcome::Skipped(CellError { code: ErrorCode::MissingInput, message }));
        }
        // What is no address is sent to nobody, for nobody can know more of it.
        let Some(address) = Address::parse(text) else { return Ok(misspelt(text)) };
        let checks = Mutex::default();
        let question = Mailbox { calls: self, cell, credentials, address, checks };
        let parts = [question.address.email()];
        Ok(self.ask_providers(cell, credentials, &asking, parts, &question).await)
    }
}

#[async_trait]
impl Question for Mailbox<'_> {
    type Value = Verification;

    async fn ask(
        &self,
        entry: &WaterfallProvider,
        put_off: &mut Vec<PutOff>,
    ) -> Result<Asked<Verification>, Failure> {
        let is_free = entry.task_type == provider::DOMAIN_CHECK.id;
        let verification =
            if is_free { self.check_domain().await? } else { self.ask_verifier(entry, put_off).await? };
        let mut checks = self.checks.lock();
        *checks = verification.checks.clone().or(std::mem::take(&mut *checks));
        let (word, spent) = (verification.verdict.word(), verification.spent);
        let answer = match verification.verdict {
            // It never knows whether there is such a mailbox, so others that failed are asked again.
            Verdict::Unknown if is_free => Answer::Hint(verification),
            Verdict::Unknown => Answer::Kept(verification),
            Verdict::Valid | Verdict::Invalid | Verdict::Risky => Answer::Final(verification),
        };
        Ok(Asked { answer, word, spent })
    }

    fn outcome(&self, entry: &WaterfallProvider, found: Verification, meta: Meta) -> CallOutcome {
        let Verification { verdict, reason, checks: _, spent: _ } = found;
        value(self.address.email(), (verdict, reason), &entry.task_type, &self.checks.lock(), meta)
    }
}

impl Mailbox<'_> {
    async fn check_domain(&self) -> Result<Verification, Failure> {
        let Self { calls, cell, address, .. } = self;
        let gate = calls.request_gate(cell, None);
        calls.ask_nobody(provider::DOMAIN_CHECK.id, calls.verifiers.check_domain(address, &gate)).await
    }

    async fn ask_verifier(
        &self,
        entry: &WaterfallProvider,
        put_off: &mut Vec<PutOff>,
    ) -> Result<Verification, Failure> {
        let Self { calls, cell, credentials, address, .. } = self;
        let reached = required_access(LookupTask::VerifyEmail, entry, credentials)?;
        let Some(verifier) = Verifier::named(reached.provider.about.id) else {
            let words = format!("`{}` does not verify e-mail addresses.", entry.task_type);
            return Err(Failure::new(FailureKind::InvalidInput, words));
        };
        let gate = calls.request_gate(cell, Some(&reached));
        let wait_max = calls.config.finder_wait_max;
        let verify = calls.verifiers.verify(verifier, &reached.access, address, &gate, wait_max);
        Box::pin(calls.ask_provider(cell, &reached, put_off, verify)).await
    }
}

fn misspelt(text: &str) -> CallOutcome {
    let shown: String = text.trim().chars().take(TEXT_CHARS_MAX).collect();
    let checks = Checks { syntax: Some(false), ..Checks::default() };
    value(&shown, (Verdict::Invalid, "syntax"), provider::DOMAIN_CHECK.id, &checks, Meta::new())
}

fn value(
    email: &str,
    (verdict, reason): (Verdict, &str),
    provider: &str,
    checks: &Checks,
    mut meta: Meta,
) -> CallOutcome {
    meta.insert("provider".to_owned(), provider.into());
    let value = json!({
        "email": email, "verdict": verdict, "reason": reason, "provider": provider, "checks": checks,
    });
    CallOutcome::Value(value.to_string().into(), meta)
}
