//! A range of IP addresses in CIDR notation, such as `10.0.0.0/8`.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

    /// Whether every address of the other is in this one, too.
    pub fn covers(&self, other: &Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.base)
    }
}

impl TryFrom<String> for AddressRange {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not an address or a range of addresses")
    }
}

impl From<AddressRange> for String {
    /// As people write it: an address alone has no prefix.
    fn from(range: AddressRange) -> Self {
        let bits = if range.base.is_ipv4() { 32 } else { 128 };
        if range.prefix == bits { range.base.to_string() } else { range.to_string() }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}
