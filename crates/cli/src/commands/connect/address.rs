//! The address that clients use. The server reports it: OAuth clients compare the address with that one.

use serde::Deserialize;
use url::{Host, Url};

use crate::{cli::CommandContext, error::CliError};

/// RFC 9728 metadata of the MCP endpoint.
const METADATA_PATH: &str = ".well-known/oauth-protected-resource/mcp";

/// The part of the metadata that matters here.
#[derive(Debug, Deserialize)]
struct ResourceMetadata {
    #[serde(default)]
    resource: String,
    /// Where clients sign in.
    #[serde(default)]
    authorization_servers: Vec<String>,
}

/// The MCP endpoint of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct McpAddress {
    /// The MCP endpoint.
    pub(super) url: String,
    /// The same server without `/mcp`.
    pub(super) base: String,
}

/// What is known about the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerAddress {
    pub(super) mcp: McpAddress,
    /// The server responded that clients cannot sign in.
    pub(super) lacks_oauth: bool,
}

impl McpAddress {
    /// Reads the URL of an MCP endpoint. `None` if clients cannot use it, or if it has characters with a meaning in a shell
    /// or in a string of a program: users paste the address into both.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%+=,".contains(&byte);
        let url = Url::parse(text).ok()?;
        let is_usable = matches!(url.scheme(), "http" | "https")
            && !is_unspecified(&url.host()?)
            && text.bytes().all(is_plain);
        let base = text.strip_suffix("/mcp").unwrap_or(text);
        is_usable.then(|| Self { url: text.to_owned(), base: base.to_owned() })
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> String {
        Url::parse(&self.url).map_or_else(|_| self.base.clone(), |url| url.origin().ascii_serialization())
    }

    /// Whether services on the internet can probably use it.
    pub(super) fn is_public(&self) -> bool {
        let is_public = |url: Url| url.scheme() == "https" && url.host().is_some_and(|host| !is_local(&host));
        Url::parse(&self.url).is_ok_and(is_public)
    }
}

/// A server that listens on all interfaces does not know its own address.
fn is_unspecified(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(_) => false,
        Host::Ipv4(address) => address.is_unspecified(),
        Host::Ipv6(address) => address.is_unspecified(),
    }
}

/// Names of this machine and of local networks, and private addresses.
fn is_local(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            !name.contains('.')
                || [".localhost", ".local", ".internal"].iter().any(|suffix| name.ends_with(suffix))
        }
        Host::Ipv4(address) => address.is_loopback() || address.is_private() || address.is_link_local(),
        Host::Ipv6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

/// Asks the server for its address. If it does not respond, the address of the command is used.
pub(super) async fn fetch_address(cx: &CommandContext) -> Result<ServerAddress, CliError> {
    let metadata = match cx.client()?.get(METADATA_PATH).await {
        Ok(metadata) => Some(metadata),
        Err(error @ CliError::Usage { .. }) => return Err(error),
        Err(error) => {
            cx.output.print_note(&format!(
                "{error}\nThe server did not report its address, so the address of this command is shown."
            ));
            None
        }
    };
    resolve_address(metadata, cx.server_url()?)
}

fn resolve_address(metadata: Option<ResourceMetadata>, server: &str) -> Result<ServerAddress, CliError> {
    let reported = metadata.as_ref().and_then(|metadata| McpAddress::parse(&metadata.resource));
    let mcp = reported.or_else(|| command_address(server)).ok_or_else(|| {
        CliError::usage(
            format!("`{server}` is not an address that clients can use"),
            "pass the address of the server with --server, for example https://tools.example.com",
        )
    })?;
    let lacks_oauth = metadata.is_some_and(|metadata| metadata.authorization_servers.is_empty());
    Ok(ServerAddress { mcp, lacks_oauth })
}

/// The MCP endpoint at the address of this command. A user name, a password and a query may be secrets and are left out.
fn command_address(server: &str) -> Option<McpAddress> {
    let url = Url::parse(server).ok()?;
    let base = format!("{}{}", url.origin().ascii_serialization(), url.path());
    McpAddress::parse(&format!("{}/mcp", base.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "http://192.168.0.7:8787";

    fn resolve(resource: &str, issuers: &[&str], server: &str) -> Result<ServerAddress, CliError> {
        let authorization_servers = issuers.iter().map(|&issuer| issuer.to_owned()).collect();
        let metadata = ResourceMetadata { resource: resource.to_owned(), authorization_servers };
        resolve_address(Some(metadata), server)
    }

    #[test]
    fn the_address_is_the_one_that_the_server_reports() {
        let issuers = ["https://tools.example.com"];
        let address = resolve("https://tools.example.com/base/mcp", &issuers, SERVER).unwrap();
        assert_eq!(address.mcp.url, "https://tools.example.com/base/mcp");
        assert_eq!(address.mcp.base, "https://tools.example.com/base");
        assert_eq!(address.mcp.origin(), "https://tools.example.com");
        assert!(!address.lacks_oauth);
    }

    #[test]
    fn an_address_that_clients_cannot_use_is_replaced() {
        for resource in [
            "http://0.0.0.0:8787/mcp",
            "http://[::]:8787/mcp",
            "nonsense",
            "",
            "file:///mcp",
            "https://ada:secret@tools.example.com/mcp",
            "https://tools.example.com/$(id)/mcp",
            "https://tools.example.com/mcp;id",
            "https://tools.example.com/\"/mcp",
            "https://tools.example.com/'/mcp",
            "https://tools.example.com/mcp\n",
            "https://tools.example.com/{base}/mcp",
        ] {
            let address = resolve(resource, &[], SERVER).unwrap();
            assert_eq!((address.mcp.base.as_str(), address.lacks_oauth), (SERVER, true), "{resource}");
            assert_eq!(address.mcp.url, format!("{SERVER}/mcp"));
        }
    }

    #[test]
    fn the_address_of_the_command_is_used_without_a_response_and_without_its_secrets() {
        for server in ["https://ada:secret@x.example.com/base/?key=secret#a", "https://x.example.com/base"] {
            let address = resolve_address(None, server).unwrap();
            assert_eq!(address.mcp.url, "https://x.example.com/base/mcp");
            assert!(!address.lacks_oauth, "that is not known");
        }
        for server in ["https://x.example.com/$(id)", "http://0.0.0.0:8787"] {
            assert!(matches!(resolve_address(None, server), Err(CliError::Usage { .. })), "{server}");
        }
    }

    #[test]
    fn only_https_at_a_public_host_can_be_reached_from_the_internet() {
        let is_public = |url: &str| McpAddress::parse(url).unwrap().is_public();
        for url in [
            "https://tools.example.com/mcp",
            "https://203.0.113.4/mcp",
            "https://[2001:db8::1]/mcp",
            "https://172.32.0.1/mcp",
        ] {
            assert!(is_public(url), "{url}");
        }
        for url in [
            "http://tools.example.com/mcp",
            "https://localhost:8443/mcp",
            "https://127.0.0.1/mcp",
            "https://[::1]/mcp",
            "https://10.1.2.3/mcp",
            "https://192.168.1.2/mcp",
            "https://172.20.0.1/mcp",
            "https://169.254.1.1/mcp",
            "https://nas.local/mcp",
            "https://nas/mcp",
            "https://[fd00::1]/mcp",
            "https://[fe80::1]/mcp",
        ] {
            assert!(!is_public(url), "{url}");
        }
    }
}
