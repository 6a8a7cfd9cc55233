//! The tenant that work is done for.

use std::future::Future;

tokio::task_local! {
    static CURRENT: Tenant;
}

/// Whom work is for: a team, strangers without a key, or the service itself.
///
/// The pipeline of a request and the engine's tasks say it once, with [`Tenant::scope`]; what is scarce asks
/// [`Tenant::current`]. It goes along implicitly, as a log's span does, because every store method would
/// otherwise take one more argument that most of them only pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tenant(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Service,
    Anonymous,
    Team(u128),
}

impl Tenant {
    /// The service's own work: sweeping, migrations, whatever nobody asked for.
    pub const SERVICE: Self = Self(Kind::Service);
    /// Everybody who calls without a key, together.
    pub const ANONYMOUS: Self = Self(Kind::Anonymous);

    /// A team, by the 128 bits of its id.
    pub fn team(id: u128) -> Self {
        Self(Kind::Team(id))
    }

    /// Whom the running task works for; the service, if nobody said.
    pub fn current() -> Self {
        CURRENT.try_with(|tenant| *tenant).unwrap_or(Self::SERVICE)
    }

    /// Runs `work` for this tenant. A task that `work` spawns is another task and must be told again.
    pub async fn scope<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_works_for_whom_it_was_told() {
        assert_eq!(Tenant::current(), Tenant::SERVICE);
        let inner = Tenant::team(7).scope(async {
            tokio::task::yield_now().await;
            (Tenant::current(), tokio::spawn(async { Tenant::current() }).await.unwrap())
        });
        assert_eq!(inner.await, (Tenant::team(7), Tenant::SERVICE));
        assert_eq!(Tenant::current(), Tenant::SERVICE);
    }
}
