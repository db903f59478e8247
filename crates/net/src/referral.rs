//! Clients for URLs that a server names, such as its token endpoint. A name server, a web page and an
//! upstream can all name an address of this machine, so a server can only refer to networks as internal as its own URL.

use http::Uri;
use url::{Host, Url};

use crate::address::{AddressKind, address_kind};
use crate::client::{ClientSettings, HttpClient};
use crate::guard::{Guard, GuardPolicy};
use crate::outside_url::is_localhost;

/// One client for each place where a server can be. Clones share the connections.
#[derive(Debug, Clone)]
pub struct ReferralClients {
    this_machine: HttpClient,
    private_network: HttpClient,
    elsewhere: HttpClient,
}

/// Where a URL is by its text. What a name resolves to does not count: the owner of the name controls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerPlace {
    ThisMachine,
    PrivateNetwork,
    Elsewhere,
}

impl ReferralClients {
    /// Clients that allow at most what the policy allows.
    pub fn new(policy: &GuardPolicy, settings: ClientSettings) -> Self {
        let client = |place| HttpClient::new(Guard::new(narrow_policy(policy, place)), settings);
        Self {
            this_machine: client(ServerPlace::ThisMachine),
            private_network: client(ServerPlace::PrivateNetwork),
            elsewhere: client(ServerPlace::Elsewhere),
        }
    }

    /// The same client for all servers, restricted only by its own guard.
    pub fn unrestricted(client: HttpClient) -> Self {
        Self { this_machine: client.clone(), private_network: client.clone(), elsewhere: client }
    }

    /// The client for URLs that the server at this URL names.
    pub fn for_server(&self, url: &Uri) -> &HttpClient {
        match place_of(url) {
            ServerPlace::ThisMachine => &self.this_machine,
            ServerPlace::PrivateNetwork => &self.private_network,
            ServerPlace::Elsewhere => &self.elsewhere,
        }
    }
}

fn narrow_policy(policy: &GuardPolicy, place: ServerPlace) -> GuardPolicy {
    let is_here = place == ServerPlace::ThisMachine;
    GuardPolicy {
        private: policy.private && place != ServerPlace::Elsewhere,
        never_this_machine: policy.never_this_machine || !is_here,
        ..policy.clone()
    }
}

fn place_of(url: &Uri) -> ServerPlace {
    let url = Url::parse(&url.to_string()).ok();
    let kind = match url.as_ref().and_then(Url::host) {
        Some(Host::Ipv4(v4)) => address_kind(v4.into()),
        Some(Host::Ipv6(v6)) => address_kind(v6.into()),
        Some(Host::Domain(name)) if is_localhost(name) => AddressKind::Loopback,
        Some(Host::Domain(_)) | None => return ServerPlace::Elsewhere,
    };
    match kind {
        AddressKind::Loopback => ServerPlace::ThisMachine,
        AddressKind::Private => ServerPlace::PrivateNetwork,
        _ => ServerPlace::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_url_says_where_its_server_is() {
        for (place, urls) in [
            (
                ServerPlace::ThisMachine,
                &["http://127.0.0.1:80/x", "https://[::1]/x", "http://localhost:8080", "http://127.1.2.3/"][..],
            ),
            (
                ServerPlace::PrivateNetwork,
                &["http://10.0.0.1/", "http://[fd12::1]/", "http://192.168.1.2:8080/mcp"],
            ),
            (
                ServerPlace::Elsewhere,
                &["https://localhost.example/x", "http://8.8.8.8/", "http://169.254.169.254/", "/path"],
            ),
        ] {
            for url in urls {
                assert_eq!(place_of(&url.parse().unwrap()), place, "{url}");
            }
        }
    }

    /// Whether an address of this machine, a private one and a public one are allowed.
    fn allowed(policy: &GuardPolicy, place: ServerPlace) -> [bool; 3] {
        let guard = Guard::new(narrow_policy(policy, place));
        ["127.0.0.1", "10.0.0.1", "8.8.8.8"].map(|address| guard.check_ip(address.parse().unwrap()).is_ok())
    }

    #[test]
    fn a_server_leads_no_further_inside_than_it_is() {
        let policy = GuardPolicy { loopback: true, private: true, ..GuardPolicy::default() };
        assert_eq!(allowed(&policy, ServerPlace::ThisMachine), [true, true, true]);
        assert_eq!(allowed(&policy, ServerPlace::PrivateNetwork), [false, true, true]);
        assert_eq!(allowed(&policy, ServerPlace::Elsewhere), [false, false, true]);
        let strict = GuardPolicy::default();
        assert_eq!(allowed(&strict, ServerPlace::ThisMachine), [false, false, true]);
    }

    #[test]
    fn ranges_of_the_operator_stay_allowed_but_for_this_machine() {
        for ranges in [&["10.0.0.0/8", "127.0.0.0/8"][..], &["0.0.0.0/0", "::/0"]] {
            let also = ranges.iter().map(|range| range.parse().unwrap()).collect();
            let policy = GuardPolicy { also, ..GuardPolicy::default() };
            assert_eq!(allowed(&policy, ServerPlace::ThisMachine), [true, true, true]);
            assert_eq!(allowed(&policy, ServerPlace::Elsewhere), [false, true, true]);
            let guard = Guard::new(narrow_policy(&policy, ServerPlace::Elsewhere));
            for here in ["::1", "::ffff:127.0.0.1", "0.0.0.0", "::"] {
                assert!(guard.check_ip(here.parse().unwrap()).is_err(), "{here}");
            }
            assert!(!guard.allows_localhost());
        }
    }
}
