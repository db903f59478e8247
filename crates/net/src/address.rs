//! The kind of an IP address. Pure tables, after the IANA special-purpose registries. The guard decides which kinds
//! may be called.
//!
//! IPv6 has several ways to write an IPv4 address. An address is always judged by the one it embeds, so that
//! `::ffff:127.0.0.1` is loopback and the NAT64 form of a public IPv4 address is public.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressKind {
    /// On the public internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network: RFC 1918, and unique local IPv6.
    Private,
    /// Shared by a carrier's customers: 100.64.0.0/10.
    CarrierShared,
    /// Only on this link. Most clouds serve machine credentials here.
    LinkLocal,
    /// Serves machine credentials, though it looks public or private.
    CloudMetadata,
    Multicast,
    Unspecified,
    Broadcast,
    Documentation,
    Benchmark,
    /// Reserved by a standard.
    Reserved,
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::CarrierShared => "carrier-shared",
            Self::LinkLocal => "link-local",
            Self::CloudMetadata => "cloud-metadata",
            Self::Multicast => "multicast",
            Self::Unspecified => "unspecified",
            Self::Broadcast => "broadcast",
            Self::Documentation => "documentation",
            Self::Benchmark => "benchmark",
            Self::Reserved => "reserved",
        })
    }
}

/// The effective address: the IPv4 address embedded in an IPv6 form, or the address itself.
pub(crate) fn effective_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => embedded_v4(v6).map_or(address, IpAddr::V4),
    }
}

/// The kind of the effective address.
pub(crate) fn address_kind(address: IpAddr) -> AddressKind {
    match effective_address(address) {
        IpAddr::V4(v4) => kind_of_v4(v4),
        IpAddr::V6(v6) => kind_of_v6(v6),
    }
}

fn embedded_v4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match v6.segments() {
        // `::` and `::1` look v4-compatible and are not.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Mapped (::ffff:a.b.c.d), compatible (::a.b.c.d), NAT64 (64:ff9b::a.b.c.d).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] => Some(join(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(join(high, low)),
        // 6to4: the relay would unpack the packet and send it to this address.
        [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

fn kind_of_v4(v4: Ipv4Addr) -> AddressKind {
    match v4.octets() {
        [0, 0, 0, 0] => AddressKind::Unspecified,
        [127, ..] => AddressKind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressKind::Private,
        [100, 64..=127, ..] => AddressKind::CarrierShared,
        [169, 254, ..] => AddressKind::LinkLocal,
        // Azure's host agent: a registered public address that only the own host serves.
        [168, 63, 129, 16] => AddressKind::CloudMetadata,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressKind::Documentation,
        [198, 18 | 19, ..] => AddressKind::Benchmark,
        [255, 255, 255, 255] => AddressKind::Broadcast,
        [224..=239, ..] => AddressKind::Multicast,
        // "This network", protocol assignments, the retired 6to4 relays, class E.
        [0, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [240..=255, ..] => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn kind_of_v6(v6: Ipv6Addr) -> AddressKind {
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressKind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // Metadata servers of AWS and Google inside the unique local range: allowing private networks must not
        // hand out machine credentials.
        [0xfd00, 0xec2, ..] | [0xfd20, 0xce, ..] => AddressKind::CloudMetadata,
        [0xfc00..=0xfdff, ..] => AddressKind::Private,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        [0xff00..=0xffff, ..] => AddressKind::Multicast,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => AddressKind::Documentation,
        [0x2001, 0x2, 0, ..] => AddressKind::Benchmark,
        // Protocol assignments, among them Teredo, which hides an IPv4 address.
        [0x2001, 0..=0x01ff, ..] => AddressKind::Reserved,
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        // Nothing outside 2000::/3 has been assigned, so new ranges are rejected until they are added here.
        _ => AddressKind::Reserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressKind::*;

    #[track_caller]
    fn all(kind: AddressKind, addresses: &[&str]) {
        for address in addresses {
            assert_eq!(address_kind(address.parse().unwrap()), kind, "{address}");
        }
    }

    #[test]
    fn ipv4_by_its_range_at_both_edges() {
        all(Unspecified, &["0.0.0.0"]);
        all(Loopback, &["127.0.0.0", "127.0.0.1", "127.255.255.255"]);
        all(
            Private,
            &["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"],
        );
        all(CarrierShared, &["100.64.0.0", "100.127.255.255", "100.100.100.200"]);
        all(LinkLocal, &["169.254.0.0", "169.254.169.254", "169.254.255.255"]);
        all(CloudMetadata, &["168.63.129.16"]);
        all(Documentation, &["192.0.2.0", "192.0.2.255", "198.51.100.7", "203.0.113.255"]);
        all(Benchmark, &["198.18.0.0", "198.19.255.255"]);
        all(Multicast, &["224.0.0.0", "239.255.255.255"]);
        all(Broadcast, &["255.255.255.255"]);
        all(
            Reserved,
            &[
                "0.0.0.1",
                "0.255.255.255",
                "192.0.0.0",
                "192.0.0.192",
                "192.88.99.1",
                "240.0.0.0",
                "255.255.255.254",
            ],
        );
    }

    #[test]
    fn ipv4_just_outside_the_ranges_is_public() {
        all(
            Public,
            &[
                "1.0.0.0",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.0",
                "168.63.129.15",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.0.3.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "198.51.101.0",
                "203.0.112.255",
                "203.0.114.0",
                "223.255.255.255",
                "8.8.8.8",
            ],
        );
    }

    #[test]
    fn ipv6_by_its_range_at_both_edges() {
        all(Unspecified, &["::"]);
        all(Loopback, &["::1"]);
        all(Private, &["fc00::", "fd12:3456::1", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]);
        all(CloudMetadata, &["fd00:ec2::254", "fd20:ce::254"]);
        all(LinkLocal, &["fe80::", "fe80::1", "febf:ffff::1"]);
        all(Multicast, &["ff00::", "ff02::1", "ffff::"]);
        all(Documentation, &["2001:db8::1", "2001:db8:ffff::", "3fff::1", "3fff:fff::1"]);
        all(Benchmark, &["2001:2::1"]);
        all(Reserved, &["2001::1", "2001:1::1", "2001:20::1", "2001:1ff::", "100::1", "64:ff9b:1::a00:1"]);
        all(Reserved, &["fec0::1", "5f00::1", "4000::1", "::ffff:0:10.0.0.1", "1::", "fe00::1"]);
    }

    #[test]
    fn global_unicast_ipv6_is_public() {
        all(
            Public,
            &["2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2003::1", "3ffe::1", "3fff:1000::1"],
        );
    }

    #[test]
    fn an_ipv4_address_inside_an_ipv6_form_is_judged_as_ipv4() {
        for (v4, kind) in [
            ("127.0.0.1", Loopback),
            ("10.0.0.5", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", CarrierShared),
            ("169.254.169.254", LinkLocal),
            ("224.0.0.1", Multicast),
            ("255.255.255.255", Broadcast),
            ("203.0.113.9", Documentation),
            ("0.0.0.9", Reserved),
            ("8.8.8.8", Public),
        ] {
            let [a, b, c, d] = v4.parse::<Ipv4Addr>().unwrap().octets();
            all(kind, &[v4, &format!("::ffff:{v4}"), &format!("::{v4}"), &format!("64:ff9b::{v4}")]);
            all(kind, &[&format!("2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1")]);
        }
        // A mapped 0.0.0.0 reaches a listener on every interface.
        all(Unspecified, &["::ffff:0.0.0.0", "64:ff9b::", "2002::"]);
    }
}
