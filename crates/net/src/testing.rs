//! For tests, with the feature `testing`: a local server in place of a remote host, under its name and
//! port. The guard checks its address like any other.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer};

use crate::client::{ClientSettings, HttpClient};
use crate::connect::{GuardedConnector, HostOverride};
use crate::guard::Guard;

/// A local server in place of a host.
#[derive(Debug, Clone)]
pub struct StandIn {
    /// The host it replaces, at any port.
    pub host: String,
    /// Its address.
    pub address: SocketAddr,
    /// The only trusted certificate, as DER.
    pub root: Vec<u8>,
}

impl HttpClient {
    /// A client that connects to the stand-in instead of its host.
    pub fn with_stand_in(
        guard: Guard,
        settings: ClientSettings,
        stand_in: StandIn,
    ) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(stand_in.root))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let there = HostOverride { host: stand_in.host, address: stand_in.address, tls };
        Ok(Self::with_connector(
            GuardedConnector::with_override(guard, settings.connect_timeout, there),
            settings,
        ))
    }
}
