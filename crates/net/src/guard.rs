//! Decides which addresses may be called: those written in a URL and those that a name
//! resolves to. It does not resolve names itself: see `connect`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use crate::address::{AddressKind, address_kind, effective_address};
use crate::range::IpRange;

/// What may be called besides public addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuardPolicy {
    /// This machine: 127.0.0.0/8 and ::1.
    pub loopback: bool,
    /// Private networks: RFC 1918 and fc00::/7, except the metadata servers in them.
    pub private: bool,
    /// Further ranges of any kind, compared with the effective address: an IPv4 range also covers the IPv6
    /// forms of its addresses.
    pub also: Vec<IpRange>,
    /// The address of this server. It is never called, whatever else is allowed: a request from the
    /// server's own machine may be trusted more than the user who caused it.
    pub own_listener: Option<SocketAddr>,
    /// Rejects this machine, whatever else is allowed.
    pub never_this_machine: bool,
}

/// Decides which addresses may be called. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Guard(Arc<GuardPolicy>);

impl Guard {
    /// A guard with a policy.
    pub fn new(policy: GuardPolicy) -> Self {
        Self(Arc::new(policy))
    }

    /// Public addresses only.
    pub fn strict() -> Self {
        Self::new(GuardPolicy::default())
    }

    /// Public addresses and this machine.
    pub fn dev() -> Self {
        Self::new(GuardPolicy { loopback: true, ..GuardPolicy::default() })
    }

    /// Every address. Only for a client that connects to a configured server.
    pub fn unrestricted() -> Self {
        Self::new(GuardPolicy { also: vec![IpRange::ALL_V4, IpRange::ALL_V6], ..GuardPolicy::default() })
    }

    /// Checks an address; returns its kind if it may not be called.
    pub(crate) fn check_ip(&self, address: IpAddr) -> Result<(), AddressKind> {
        let kind = address_kind(address);
        let allowed = match kind {
            AddressKind::Public => true,
            AddressKind::Loopback => self.0.loopback,
            AddressKind::Private => self.0.private,
            AddressKind::CarrierShared
            | AddressKind::LinkLocal
            | AddressKind::CloudMetadata
            | AddressKind::Multicast
            | AddressKind::Unspecified
            | AddressKind::Broadcast
            | AddressKind::Documentation
            | AddressKind::Benchmark
            | AddressKind::Reserved => false,
        };
        // Dialing the unspecified address reaches this machine.
        let is_here = matches!(kind, AddressKind::Loopback | AddressKind::Unspecified);
        if is_here && self.0.never_this_machine {
            return Err(kind);
        }
        if allowed || self.also_allows(effective_address(address)) { Ok(()) } else { Err(kind) }
    }

    /// Whether `localhost` may be called.
    pub(crate) fn allows_localhost(&self) -> bool {
        self.check_ip(Ipv4Addr::LOCALHOST.into()).is_ok() || self.check_ip(Ipv6Addr::LOCALHOST.into()).is_ok()
    }

    /// Whether this is the address of this server. A listener on every address also accepts on addresses of this
    /// machine that are not known here: those are found by [`Guard::is_own_connection`].
    pub(crate) fn is_own_listener(&self, socket: SocketAddr) -> bool {
        let Some(own) = self.0.own_listener.filter(|own| own.port() == socket.port()) else { return false };
        let (own, address) = (effective_address(own.ip()), effective_address(socket.ip()));
        // Dialing the unspecified address reaches this machine.
        address.is_unspecified()
            || own == address
            || (own.is_unspecified() && address_kind(address) == AddressKind::Loopback)
    }

    /// Whether an open connection leads to this server: on this machine both ends have the same address.
    pub(crate) fn is_own_connection(&self, local: SocketAddr, peer: SocketAddr) -> bool {
        let listens_everywhere = self
            .0
            .own_listener
            .is_some_and(|own| own.port() == peer.port() && effective_address(own.ip()).is_unspecified());
        self.is_own_listener(peer)
            || (listens_everywhere && effective_address(local.ip()) == effective_address(peer.ip()))
    }

    fn also_allows(&self, address: IpAddr) -> bool {
        self.0.also.iter().any(|range| range.contains(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: [&str; 4] = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1"];
    const PRIVATE: [&str; 4] = ["10.0.0.5", "192.168.1.1", "fd12::1", "::ffff:172.16.0.1"];
    const PUBLIC: [&str; 3] = ["8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8"];
    const NEVER: [&str; 12] = [
        "169.254.169.254",
        "fe80::1",
        "100.64.0.1",
        "224.0.0.1",
        "ff02::1",
        "0.0.0.0",
        "::",
        "255.255.255.255",
        "203.0.113.1",
        "198.18.0.1",
        "240.0.0.1",
        "fd00:ec2::254",
    ];

    #[track_caller]
    fn answers(guard: &Guard, allowed: bool, addresses: &[&str]) {
        for address in addresses {
            assert_eq!(guard.check_ip(address.parse().unwrap()).is_ok(), allowed, "{address}");
        }
    }

    #[test]
    fn strict_allows_public_only() {
        let guard = Guard::strict();
        answers(&guard, true, &PUBLIC);
        answers(&guard, false, &LOOPBACK);
        answers(&guard, false, &PRIVATE);
        answers(&guard, false, &NEVER);
        assert!(!guard.allows_localhost());
    }

    #[test]
    fn dev_adds_loopback() {
        let guard = Guard::dev();
        answers(&guard, true, &PUBLIC);
        answers(&guard, true, &LOOPBACK);
        answers(&guard, false, &PRIVATE);
        answers(&guard, false, &NEVER);
        assert!(guard.allows_localhost());
    }

    #[test]
    fn private_adds_private_networks_and_no_metadata_server() {
        let guard = Guard::new(GuardPolicy { private: true, ..GuardPolicy::default() });
        answers(&guard, true, &PRIVATE);
        answers(&guard, false, &LOOPBACK);
        answers(&guard, false, &NEVER);
    }

    #[test]
    fn also_adds_just_its_ranges_in_every_form() {
        let also = vec!["10.1.0.0/16".parse().unwrap(), "fe80::/10".parse().unwrap()];
        let guard = Guard::new(GuardPolicy { also, ..GuardPolicy::default() });
        answers(&guard, true, &["10.1.0.1", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fe80::1", "8.8.8.8"]);
        answers(&guard, false, &["10.2.0.1", "127.0.0.1", "fd12::1", "169.254.169.254"]);
    }

    #[test]
    fn an_ipv6_range_does_not_let_an_ipv4_address_in_by_another_form() {
        let guard =
            Guard::new(GuardPolicy { also: vec!["2002::/16".parse().unwrap()], ..GuardPolicy::default() });
        answers(&guard, false, &["2002:7f00:1::1"]);
    }

    #[test]
    fn the_own_listener_is_known_in_every_form() {
        let guard = |own: &str| {
            Guard::new(GuardPolicy { own_listener: Some(own.parse().unwrap()), ..GuardPolicy::default() })
        };
        let is_own = |own: &str, socket: &str| guard(own).is_own_listener(socket.parse().unwrap());
        for socket in
            ["127.0.0.1:80", "[::ffff:127.0.0.1]:80", "[64:ff9b::127.0.0.1]:80", "0.0.0.0:80", "[::]:80"]
        {
            assert!(is_own("127.0.0.1:80", socket), "{socket}");
        }
        for socket in ["127.0.0.1:81", "127.0.0.2:80", "[::1]:80", "8.8.8.8:80", "0.0.0.0:81"] {
            assert!(!is_own("127.0.0.1:80", socket), "{socket}");
        }
        for own in ["0.0.0.0:80", "[::]:80"] {
            for socket in ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "0.0.0.0:80", "[::ffff:127.0.0.1]:80"]
            {
                assert!(is_own(own, socket), "{own} {socket}");
            }
            let connection = |local: &str, peer: &str| {
                guard(own).is_own_connection(local.parse().unwrap(), peer.parse().unwrap())
            };
            assert!(connection("192.168.1.5:50000", "192.168.1.5:80"));
            assert!(!connection("192.168.1.5:50000", "192.168.1.6:80"));
            assert!(!connection("192.168.1.5:50000", "192.168.1.5:81"));
        }
        assert!(!Guard::unrestricted().is_own_listener("127.0.0.1:80".parse().unwrap()));
    }

    #[test]
    fn open_allows_everything() {
        for addresses in [&LOOPBACK[..], &PRIVATE, &PUBLIC, &NEVER] {
            answers(&Guard::unrestricted(), true, addresses);
        }
    }
}
