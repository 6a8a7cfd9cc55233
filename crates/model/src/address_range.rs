//! A range of IP addresses in CIDR notation, such as `10.0.0.0/8`.

use std::fmt;
use std::net::IpAddr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    base: IpAddr,
    prefix: u32,
}

impl AddressRange {
    /// Reads a range; a bare address is itself alone.
    pub fn parse(text: &str) -> Option<Self> {
        let (base, prefix) = text.split_once('/').map_or((text, None), |(base, prefix)| (base, Some(prefix)));
        let base: IpAddr = base.parse().ok()?;
        let bits = if base.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Some(bits), |prefix| prefix.parse().ok())?;
        (prefix <= bits).then_some(Self { base, prefix })
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let differs = match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => u128::from(base.to_bits() ^ address.to_bits()) << 96,
            (IpAddr::V6(base), IpAddr::V6(address)) => base.to_bits() ^ address.to_bits(),
            _ => return false,
        };
        differs.leading_zeros() >= self.prefix
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}
