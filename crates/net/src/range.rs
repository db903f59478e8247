//! A range of addresses as in the configuration: `10.1.0.0/16`, `fd00:7::/48`, or one address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A range of addresses in CIDR notation. An IPv4 range never contains an IPv6 address, and vice versa.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpRange {
    first: IpAddr,
    prefix: u8,
}

/// Why a text is not a range of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IpRangeError {
    #[error("`{0}` is not a range of addresses; write it like 10.1.0.0/16 or fd00:7::/48")]
    Form(String),
    #[error("`{0}` has a prefix that is too long; at most /32 for IPv4 and /128 for IPv6")]
    Prefix(String),
    #[error("`{0}` does not start at the first address of its range; write {1}")]
    NotFirst(String, IpRange),
}

impl IpRange {
    /// Every IPv4 address.
    pub(crate) const ALL_V4: Self = Self { first: IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), prefix: 0 };
    /// Every IPv6 address.
    pub(crate) const ALL_V6: Self = Self { first: IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED), prefix: 0 };

    /// Whether the address is in this range.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && first_of(address, self.prefix) == self.first
    }
}

/// The first address of the range of this size around `address`.
fn first_of(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let host_bits = 32 - u32::from(prefix);
            let mask = u32::MAX.checked_shl(host_bits).unwrap_or(0);
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let host_bits = 128 - u32::from(prefix);
            let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

impl FromStr for IpRange {
    type Err = IpRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || IpRangeError::Form(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| form())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(digits) => digits.parse::<u8>().map_err(|_| form())?,
            None => longest,
        };
        if prefix > longest {
            return Err(IpRangeError::Prefix(text.to_owned()));
        }
        let range = Self { first: first_of(address, prefix), prefix };
        if range.first != address {
            return Err(IpRangeError::NotFirst(text.to_owned(), range));
        }
        Ok(range)
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> IpRange {
        text.parse().unwrap()
    }

    #[test]
    fn holds_its_first_and_last_address_and_no_other() {
        for (text, inside, outside) in [
            ("10.1.0.0/16", ["10.1.0.0", "10.1.255.255"], ["10.0.255.255", "10.2.0.0"]),
            ("10.1.2.3", ["10.1.2.3", "10.1.2.3"], ["10.1.2.2", "10.1.2.4"]),
            ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::", "::ffff:1.2.3.4"]),
            ("fd00:7::/32", ["fd00:7::", "fd00:7:ffff::1"], ["fd00:6:ffff::", "fd00:8::"]),
            ("::/0", ["::", "ffff::"], ["0.0.0.0", "1.2.3.4"]),
            ("::1/128", ["::1", "::1"], ["::", "::2"]),
        ] {
            for address in inside {
                assert!(range(text).contains(address.parse().unwrap()), "{address} in {text}");
            }
            for address in outside {
                assert!(!range(text).contains(address.parse().unwrap()), "{address} not in {text}");
            }
        }
    }

    #[test]
    fn prints_as_it_was_written() {
        assert_eq!(range("10.1.0.0/16").to_string(), "10.1.0.0/16");
        assert_eq!(range("fd00:7::/48").to_string(), "fd00:7::/48");
        assert_eq!(range("10.1.2.3").to_string(), "10.1.2.3/32");
    }

    #[test]
    fn says_what_is_wrong() {
        for text in
            ["", "ten", "10.1/16", "10.1.0.0/", "10.1.0.0/x", "10.1.0.0/-1", "10.0.0.0/8/8", "10.1.0.0/999"]
        {
            assert_eq!(text.parse::<IpRange>(), Err(IpRangeError::Form(text.into())), "{text}");
        }
        for text in ["10.1.0.0/33", "::/129"] {
            assert_eq!(text.parse::<IpRange>(), Err(IpRangeError::Prefix(text.into())), "{text}");
        }
        let error = "10.1.2.3/16".parse::<IpRange>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`10.1.2.3/16` does not start at the first address of its range; write 10.1.0.0/16"
        );
    }
}
