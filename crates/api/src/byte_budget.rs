//! A budget of bytes: in total, and a share of it per tenant.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rowmill_fairness::Tenant;
use tokio::sync::Notify;

/// A tenant may use this part of all at most, so that others find room.
const TENANT_PART: usize = 4;

#[derive(Debug)]
pub(crate) struct ByteBudget {
    total_max: usize,
    usage: Mutex<Usage>,
    freed: Notify,
}

/// Bytes in use.
#[derive(Debug, Default)]
struct Usage {
    total: usize,
    tenants: HashMap<Tenant, usize>,
}

/// Bytes that are in use until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<ByteBudget>,
    tenant: Tenant,
    bytes: usize,
}

impl ByteBudget {
    pub(crate) fn new(total_max: usize) -> Arc<Self> {
        Arc::new(Self { total_max, usage: Mutex::default(), freed: Notify::new() })
    }

    /// What one tenant may use.
    pub(crate) fn tenant_max(&self) -> usize {
        self.total_max / TENANT_PART
    }

    /// So many bytes for a tenant, if there is room for them now.
    pub(crate) fn try_charge(self: &Arc<Self>, tenant: Tenant, bytes: usize) -> Option<Charge> {
        let mut charge = self.nothing(tenant);
        charge.resize(bytes).then_some(charge)
    }

    /// So many bytes for a tenant, whether there is room for them or not.
    pub(crate) fn charge_anyway(self: &Arc<Self>, tenant: Tenant, bytes: usize) -> Charge {
        let mut charge = self.nothing(tenant);
        charge.set(&mut self.usage.lock(), bytes);
        charge
    }

    fn nothing(self: &Arc<Self>, tenant: Tenant) -> Charge {
        Charge { budget: Arc::clone(self), tenant, bytes: 0 }
    }

    /// So many bytes for a tenant, if there is room for them before `wait` is over.
    pub(crate) async fn charge(
        self: &Arc<Self>,
        tenant: Tenant,
        bytes: usize,
        wait: Duration,
    ) -> Option<Charge> {
        let charged = async {
            loop {
                // Listened for before it is tried: what is freed between is not missed.
                let freed = self.freed.notified();
                let mut freed = std::pin::pin!(freed);
                freed.as_mut().enable();
                if let Some(charge) = self.try_charge(tenant, bytes) {
                    return charge;
                }
                freed.await;
            }
        };
        tokio::time::timeout(wait, charged).await.ok()
    }
}

impl Charge {
    /// Takes more or gives some back. Says whether there was room.
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        let budget = Arc::clone(&self.budget);
        let mut usage = budget.usage.lock();
        let others = usage.total - self.bytes;
        let own = usage.tenants.get(&self.tenant).copied().unwrap_or(0) - self.bytes;
        let is_more = bytes > self.bytes;
        if is_more && (others + bytes > budget.total_max || own + bytes > budget.tenant_max()) {
            return false;
        }
        let is_less = bytes < self.bytes;
        self.set(&mut usage, bytes);
        drop(usage);
        if is_less {
            budget.freed.notify_waiters();
        }
        true
    }

    fn set(&mut self, usage: &mut Usage, bytes: usize) {
        let own = usage.tenants.get(&self.tenant).copied().unwrap_or(0) - self.bytes + bytes;
        usage.total = usage.total - self.bytes + bytes;
        self.bytes = bytes;
        if own == 0 {
            usage.tenants.remove(&self.tenant);
        } else {
            usage.tenants.insert(self.tenant, own);
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_tenant_has_its_share_and_all_have_the_total() {
        let budget = ByteBudget::new(100);
        let now = Duration::ZERO;
        let team = Tenant::team;
        let mut first = budget.charge(team(1), 20, now).await.unwrap();
        assert!(budget.charge(team(1), 6, now).await.is_none(), "a quarter is its share");
        assert!(first.resize(25) && !first.resize(26));
        let mut charges = Vec::new();
        for number in [2, 3, 4] {
            charges.push(budget.charge(team(number), 25, now).await.unwrap());
        }
        assert!(budget.charge(team(5), 1, now).await.is_none(), "all of it is used");
        assert!(first.resize(5));
        let (waited, ()) = tokio::join!(budget.charge(team(5), 25, Duration::from_mins(1)), async {
            drop(charges.pop());
        });
        assert!(waited.is_some(), "who waits gets what is freed");
        drop((first, charges, waited));
        let usage = budget.usage.lock();
        assert_eq!((usage.total, usage.tenants.len()), (0, 0));
    }
}
