//! Names to addresses, without those a table must not reach.
//!
//! The connection goes to exactly what is returned here, so a name that answers differently the second
//! time gains nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::addresses::AllowList;

/// Every address of the name is one a table must not reach.
#[derive(Debug, thiserror::Error)]
#[error("blocked address")]
pub(super) struct BlockedAddress;

#[derive(Debug)]
pub(super) struct GuardedResolver(pub(super) Arc<AllowList>);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow = Arc::clone(&self.0);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let any_found = !found.is_empty();
            let permitted: Vec<SocketAddr> =
                found.into_iter().filter(|address| allow.permits(address.ip())).collect();
            if any_found && permitted.is_empty() {
                return Err(BlockedAddress.into());
            }
            let addresses: Addrs = Box::new(permitted.into_iter());
            Ok(addresses)
        })
    }
}
