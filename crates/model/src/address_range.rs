//! A range of IP addresses in CIDR notation, such as `10.0.0.0/8`.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The bits before the IPv4 address in `::ffff:0:0/96`.
const MAPPED_BITS: u32 = 96;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressRange {
    base: IpAddr,
    prefix: u32,
}

impl AddressRange {
    /// Reads a range; a bare address is itself alone. IPv4 addresses written as IPv6 (`::ffff:10.0.0.0/104`) are the IPv4
    /// addresses, because that is what they are compared with.
    pub fn parse(text: &str) -> Option<Self> {
        let (base, prefix) = text.split_once('/').map_or((text, None), |(base, prefix)| (base, Some(prefix)));
        let base: IpAddr = base.parse().ok()?;
        let bits = if base.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Some(bits), |prefix| prefix.parse().ok())?;
        let range = (prefix <= bits).then_some(Self { base, prefix })?;
        Some(range.to_ipv4().unwrap_or(range))
    }

    /// The IPv4 range that this one is as IPv6.
    fn to_ipv4(self) -> Option<Self> {
        let IpAddr::V6(base) = self.base else { return None };
        let (base, prefix) = (base.to_ipv4_mapped()?, self.prefix.checked_sub(MAPPED_BITS)?);
        Some(Self { base: base.into(), prefix })
    }

    /// Whether it is written with an IPv4 address as IPv6, but goes beyond those. No address is found in such a range.
    pub fn is_beyond_mapped(&self) -> bool {
        matches!(self.base, IpAddr::V6(base) if base.to_ipv4_mapped().is_some())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_written_as_ipv6_is_ipv4() {
        let check = |text: &str, expected: &str| {
            let range = AddressRange::parse(text).unwrap();
            assert_eq!(String::from(range), expected, "{text}");
            assert_eq!(AddressRange::parse(&String::from(range)), Some(range), "{text}");
        };
        check("::ffff:10.0.0.0/104", "10.0.0.0/8");
        check("::FFFF:192.0.2.7", "192.0.2.7");
        check("::ffff:0:0/96", "0.0.0.0/0");
        check("::1", "::1");
        check("2001:db8::/32", "2001:db8::/32");
        check("::/0", "::/0");
        let mapped = AddressRange::parse("::ffff:10.0.0.0/104").unwrap();
        assert!(
            mapped.contains("10.9.8.7".parse().unwrap()) && !mapped.contains("11.0.0.1".parse().unwrap())
        );
        assert!(AddressRange::parse("10.0.0.0/8").unwrap().covers(&mapped));
        for (text, is_beyond) in
            [("::ffff:10.0.0.0/90", true), ("::ffff:10.0.0.0/96", false), ("::/0", false)]
        {
            assert_eq!(AddressRange::parse(text).unwrap().is_beyond_mapped(), is_beyond, "{text}");
        }
        assert_eq!(AddressRange::parse("::ffff:10.0.0.0/129"), None);
    }
}
