//! Limits the connections of one address.

use std::{
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use dashmap::DashMap;
use toolyard_net::{IpRange, IpRangeError};

/// Counts connections by address, if a limit is configured.
pub(crate) struct AddressCounts {
    /// 0: no limit.
    limit: usize,
    proxies: Vec<IpRange>,
    open: Arc<DashMap<IpAddr, usize>>,
}

/// A counted connection. Dropping it frees the slot.
pub(super) struct AddressSlot {
    open: Arc<DashMap<IpAddr, usize>>,
    address: IpAddr,
}

/// The address has reached its limit.
#[derive(Debug)]
pub(super) struct TooManyConnections;

impl AddressCounts {
    pub(super) fn new(most: usize, proxies: &[String]) -> Result<Self, IpRangeError> {
        let proxies = proxies.iter().map(|range| range.parse()).collect::<Result<_, _>>()?;
        Ok(Self { limit: most, proxies, open: Arc::default() })
    }

    /// Reserves a slot. None if connections of this address are not counted.
    pub(super) fn reserve(&self, address: IpAddr) -> Result<Option<AddressSlot>, TooManyConnections> {
        let address = counted_network(address);
        if self.limit == 0 || self.proxies.iter().any(|proxy| proxy.contains(address)) {
            return Ok(None);
        }
        let mut open = self.open.entry(address).or_default();
        if *open >= self.limit {
            return Err(TooManyConnections);
        }
        *open += 1;
        Ok(Some(AddressSlot { open: self.open.clone(), address }))
    }
}

impl Drop for AddressSlot {
    fn drop(&mut self) {
        self.open.remove_if_mut(&self.address, |_, open| {
            *open = open.saturating_sub(1);
            *open == 0
        });
    }
}

/// IPv6 addresses are counted by their /64, because a client with one address usually has the whole network.
fn counted_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_per_address_are_limited_and_proxies_are_not_counted() {
        let counts = AddressCounts::new(2, &["10.0.0.0/8".to_owned()]).unwrap();
        let enter = |address: &str| counts.reserve(address.parse().unwrap());
        let first = enter("192.0.2.1").unwrap();
        let _second = enter("::ffff:192.0.2.1").unwrap();
        assert!(enter("192.0.2.1").is_err() && enter("192.0.2.2").is_ok());
        drop(first);
        assert!(enter("192.0.2.1").is_ok());
        assert!((0..10).map(|_| enter("10.1.2.3").unwrap()).all(|place| place.is_none()));
        let (_one, _two) = (enter("2001:db8::1").unwrap(), enter("2001:db8::2").unwrap());
        assert!(enter("2001:db8::3").is_err() && enter("2001:db8:1::1").is_ok());
        assert_eq!(counts.open.len(), 2, "addresses without connections are forgotten");
        assert!(AddressCounts::new(1, &["here".to_owned()]).is_err());
    }
}
