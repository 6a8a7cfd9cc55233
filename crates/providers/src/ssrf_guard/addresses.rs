//! Which addresses a table may reach: private and reserved ranges are refused (SSRF), save for an allow list.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rowmill_model::address_range::AddressRange;

/// Private ranges the operator has opened, such as `127.0.0.1/32,10.0.0.0/8`. The default opens none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowList(Vec<AddressRange>);

impl AllowList {
    /// Reads ranges separated by commas; a bare address is itself alone. The error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(range).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a request that a table makes may go to this address.
    pub fn permits(&self, address: IpAddr) -> bool {
        // A mapped address is the IPv4 address itself. A translated one is that address in whatever
        // network the translator stands, which is not the one the operator meant.
        let canonical = address.to_canonical();
        is_public(meant(address))
            || self.0.iter().any(|range| range.contains(canonical) || range.contains(address))
    }
}

impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&words.join(","))
    }
}

fn range(text: &str) -> Result<AddressRange, String> {
    AddressRange::parse(text).ok_or_else(|| format!("`{text}` is not an address range such as 10.0.0.0/8."))
}

fn in_v4(address: Ipv4Addr, base: Ipv4Addr, prefix: u32) -> bool {
    let differs = u32::from(address) ^ u32::from(base);
    prefix == 0 || differs.checked_shr(32 - prefix).unwrap_or(0) == 0
}

fn in_v6(address: Ipv6Addr, base: Ipv6Addr, prefix: u32) -> bool {
    let differs = u128::from(address) ^ u128::from(base);
    prefix == 0 || differs.checked_shr(128 - prefix).unwrap_or(0) == 0
}

/// The IPv4 address a packet to this IPv6 address ends up at, where there is one.
fn meant(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let bits = u128::from(v6);
    let low = IpAddr::V4(Ipv4Addr::from(u32::try_from(bits & 0xffff_ffff).unwrap_or_default()));
    let is_mapped = in_v6(v6, Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);
    let is_translated = in_v6(v6, Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
    // `::` and `::1` are IPv6's own and not IPv4-compatible.
    let is_compatible = bits >> 32 == 0 && bits > 1;
    if is_mapped || is_translated || is_compatible { low } else { address }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            !NOT_PUBLIC_V4.iter().any(|(base, prefix)| in_v4(v4, Ipv4Addr::from(*base), *prefix))
        }
        IpAddr::V6(v6) => {
            // Only 2000::/3 is routed on the internet: what is not in it needs no list.
            in_v6(v6, Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3)
                && !NOT_PUBLIC_V6.iter().any(|(base, prefix)| in_v6(v6, Ipv6Addr::from(*base), *prefix))
        }
    }
}

/// IANA's special-purpose registry, multicast, reserved, and one cloud's metadata server that hides in
/// public space. The other clouds' (169.254.169.254, 100.100.100.200, 192.0.0.192) lie in these ranges.
const NOT_PUBLIC_V4: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([168, 63, 129, 16], 32), // Azure
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Parts of the routed space that lead elsewhere than to the internet.
const NOT_PUBLIC_V6: [([u16; 8], u32); 4] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // Teredo, benchmarking, ORCHID
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), // 6to4: any IPv4 address behind a relay
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(allow: &str, permitted: &[&str], blocked: &[&str]) {
        let allow = AllowList::parse(allow).unwrap();
        for (addresses, expected) in [(permitted, true), (blocked, false)] {
            for address in addresses {
                assert_eq!(allow.permits(address.parse().unwrap()), expected, "{address} with `{allow}`");
            }
        }
    }

    /// Addresses next to a special range, and other public ones.
    const PUBLIC: &[&str] = &[
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "198.20.0.0",
        "223.255.255.255",
        "168.63.129.17",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
    ];

    /// Private and other special addresses of IPv4.
    const SPECIAL_V4: &[&str] = &[
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.255",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
    ];

    /// Private and other special addresses of IPv6, and those that embed one of IPv4.
    const SPECIAL_V6: &[&str] = &[
        "::",
        "::1",
        "::2",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1.1.1.1",
        "100::1",
        "2001::1",
        "2001:0:7f00:1::",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ];

    #[test]
    fn the_internet_and_nothing_else() {
        check("", PUBLIC, SPECIAL_V4);
        check("", &[], SPECIAL_V6);
    }

    #[test]
    fn exactly_the_named_ranges_are_opened() {
        check(
            "127.0.0.1/32, 10.0.0.0/8",
            &["127.0.0.1", "::ffff:127.0.0.1", "10.9.8.7"],
            &["127.0.0.2", "::1", "192.168.0.1", "169.254.169.254", "64:ff9b::127.0.0.1", "::10.0.0.1"],
        );
        check("fd00::/8,::1", &["fd12::1", "::1"], &["fc00::1", "127.0.0.1"]);
        check("0.0.0.0/0", &["127.0.0.1", "::ffff:10.0.0.1"], &["::1"]);
        check("::/0", &["::1", "fe80::1", "::ffff:127.0.0.1"], &["127.0.0.1"]);
    }

    #[test]
    fn a_range_that_is_none_is_told() {
        for text in ["localhost", "10.0.0.0/33", "10.0.0.0/", "::1/129", "10.0.0/8", "10.0.0.0/-1"] {
            let error = AllowList::parse(text).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
        assert_eq!(AllowList::parse(" , ").unwrap(), AllowList::default());
        assert_eq!(AllowList::parse("10.0.0.0/8,::1").unwrap().to_string(), "10.0.0.0/8,::1/128");
    }
}
