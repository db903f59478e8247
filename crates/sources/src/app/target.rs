//! The URLs and keys with which one app is called.

use http::{HeaderValue, Uri};
use toolyard_core::{ToolError, catalog::AppHead, ports::SecretSealer};
use toolyard_net::{Guard, OutsideUrl, SigningKey};
use toolyard_protocol::ErrorCode;

/// Everything about calls to one revision of an app that stays the same between calls.
#[derive(Debug)]
pub(super) struct AppTarget {
    pub(super) revision: u64,
    /// `{publicUrl}/tool`
    pub(super) tool: Uri,
    /// `{publicUrl}/prompt`
    pub(super) prompt: Uri,
    /// `{publicUrl}/resource`
    pub(super) resource: Uri,
    /// The hash of the API key, for apps on an older SDK. It is itself a secret, so it is sent over https or loopback
    /// only.
    pub(super) legacy_key: Option<HeaderValue>,
    pub(super) keys: Vec<SigningKey>,
}

impl AppTarget {
    pub(super) fn new(app: &AppHead, guard: &Guard, secrets: &dyn SecretSealer) -> Result<Self, ToolError> {
        let unavailable = |text: String| ToolError::new(ErrorCode::AppNotAvailable, text);
        let (record, package) = (&app.record, app.package());
        let url = record.details.public_url.as_deref().filter(|url| !url.is_empty());
        let url = url.ok_or_else(|| unavailable(format!("{package} has no public URL yet.")))?;
        let url = OutsideUrl::parse(url, guard).map_err(|error| {
            unavailable(format!("The address of {package} is not allowed here.")).with_cause(error)
        })?;
        let open = |sealed: &Vec<u8>| secrets.unseal(sealed).map(|secret| SigningKey::new(&secret));
        let known = record.keys().ok_or_else(|| unavailable(format!("{package} is not an app.")))?;
        let keys = known.signing.iter().map(open).collect::<Result<_, _>>().map_err(|error| {
            unavailable(format!("{package} cannot be called until its signing secret is created again."))
                .with_cause(error)
        })?;
        let legacy_key = record.details.legacy && is_private_connection(url.uri());
        let legacy_key =
            legacy_key.then(|| HeaderValue::try_from(hex::encode(known.key_hash)).ok()).flatten();
        Ok(Self {
            revision: app.revision,
            tool: url.join("tool"),
            prompt: url.join("prompt"),
            resource: url.join("resource"),
            legacy_key,
            keys,
        })
    }
}

fn is_private_connection(url: &Uri) -> bool {
    let loopback = |host: &str| {
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        address.map_or(host == "localhost", |address| address.is_loopback())
    };
    url.scheme_str() == Some("https") || url.host().is_some_and(loopback)
}
