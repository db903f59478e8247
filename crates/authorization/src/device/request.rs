//! The request of a device, and the response with both codes.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Serialize, Serializer};
use toolyard_protocol::secret::SecretText;
use url::form_urlencoded;

use super::{MIN_INTERVAL_S, UserCode};
use crate::{
    parameters::RequestParameters,
    resource::{AcceptedResources, MAX_RESOURCE_BYTES, ResourceIdentifier},
    scope::{MAX_SCOPE_BYTES, ScopeSet},
    token_request::{GrantError, PresentedClient, TokenError},
};

/// How long a person may take to enter the code, in seconds.
pub const DEVICE_CODE_LIFETIME_S: u32 = 10 * 60;
/// Longest device code that a client may send, in bytes.
pub const MAX_DEVICE_CODE_BYTES: usize = 256;

/// A device code of 32 random bytes.
pub fn device_code_from_bytes(bytes: [u8; 32]) -> SecretText {
    SecretText::new(format!("tyd_{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// A request to the device authorization endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRequest {
    /// Who asks, not yet authenticated.
    pub client: PresentedClient,
    /// The scopes that it names; `None` means the default.
    pub scopes: Option<ScopeSet>,
    /// The resource that the token will be for.
    pub resource: ResourceIdentifier,
}

impl DeviceRequest {
    /// Reads a request: the `Authorization` header, and the form.
    pub fn parse(
        authorization: Option<&str>,
        form: &RequestParameters,
        resources: &AcceptedResources,
    ) -> Result<Self, TokenError> {
        form.refuse_duplicates()?;
        let client = PresentedClient::parse(authorization, form)?;
        let scope = form.optional("scope", MAX_SCOPE_BYTES)?.map(ScopeSet::parse).transpose()?;
        let resource =
            resources.find(form.optional("resource", MAX_RESOURCE_BYTES)?).ok_or(GrantError::Resource)?;
        let scopes = scope.map(|parsed| parsed.scopes).filter(|scopes| !scopes.is_empty());
        Ok(Self { client, scopes, resource: resource.clone() })
    }
}

/// The response to a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceResponse {
    /// What the device polls with.
    pub device_code: SecretText,
    /// What the person types.
    #[serde(serialize_with = "write_shown")]
    pub user_code: UserCode,
    /// Where the person types it.
    pub verification_uri: String,
    /// The same page with the code filled in, for a QR code. The page still asks the person to compare it.
    pub verification_uri_complete: String,
    /// How long the codes are valid, in seconds.
    pub expires_in: u32,
    /// The least time between two polls, in seconds.
    pub interval: u32,
}

impl DeviceResponse {
    /// The response for new codes. `verification_uri` has no query.
    pub fn new(device_code: SecretText, user_code: UserCode, verification_uri: &str) -> Self {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("user_code", &user_code.to_string())
            .finish();
        Self {
            device_code,
            user_code,
            verification_uri: verification_uri.to_owned(),
            verification_uri_complete: format!("{verification_uri}?{query}"),
            expires_in: DEVICE_CODE_LIFETIME_S,
            interval: MIN_INTERVAL_S,
        }
    }
}

fn write_shown<S: Serializer>(code: &UserCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(code)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{parameters::ParameterError, token_request::ClientProof};

    fn parse(form: &str) -> Result<DeviceRequest, TokenError> {
        let resources = AcceptedResources::single("https://tools.example.com/mcp".parse().unwrap());
        DeviceRequest::parse(None, &RequestParameters::parse(form.as_bytes()).unwrap(), &resources)
    }

    #[test]
    fn a_request_is_read() {
        let request = parse("client_id=toolyard-cli&scope=tools:read").unwrap();
        assert_eq!((request.client.id.as_str(), request.client.proof), ("toolyard-cli", ClientProof::None));
        assert_eq!(request.scopes.unwrap().to_string(), "tools:read");
        assert_eq!(request.resource.as_str(), "https://tools.example.com/mcp");
        assert_eq!(parse("client_id=c&scope=unknown").unwrap().scopes, None);
    }

    #[test]
    fn bad_requests_are_refused() {
        for (form, expected) in [
            ("client_id=c&resource=https://evil.example", TokenError::Grant(GrantError::Resource)),
            ("client_id=c&client_id=c", TokenError::Parameter(ParameterError::Duplicated("client_id"))),
            ("", TokenError::Client(crate::client_auth::ClientAuthError::MissingId)),
        ] {
            assert_eq!(parse(form), Err(expected), "{form}");
        }
    }

    #[test]
    fn the_response_has_both_codes() {
        let code = UserCode::parse_typed("BCDFGHJK").unwrap();
        let device_code = device_code_from_bytes([0; 32]);
        assert_eq!(device_code.expose().len(), 47);
        let response = DeviceResponse::new(device_code.clone(), code, "https://tools.example.com/device");
        let expected = json!({
            "device_code": device_code,
            "user_code": "BCDF-GHJK",
            "verification_uri": "https://tools.example.com/device",
            "verification_uri_complete": "https://tools.example.com/device?user_code=BCDF-GHJK",
            "expires_in": 600,
            "interval": 5,
        });
        assert_eq!(serde_json::to_value(&response).unwrap(), expected);
    }
}
