//! How mail servers are asked.

use std::net::SocketAddr;
use std::time::Duration;

/// How mail servers are asked, by the finder that needs no key.
#[derive(Debug, Clone)]
pub struct MailSettings {
    /// Whom to ask where mail goes; the machine's own name servers if there are none.
    pub name_servers: Vec<SocketAddr>,
    /// Where mail servers listen.
    pub smtp_port: u16,
    /// The longest a server may take for one answer.
    pub step_time_max: Duration,
    /// Makes the name of somebody nobody knows.
    pub chance: fn() -> u64,
}

impl Default for MailSettings {
    fn default() -> Self {
        Self {
            name_servers: Vec::new(),
            smtp_port: 25,
            step_time_max: Duration::from_secs(10),
            chance: || getrandom::u64().unwrap_or_default(),
        }
    }
}
