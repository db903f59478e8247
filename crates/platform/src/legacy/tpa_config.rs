//! The app's own `{publicUrl}/tpa_config.json`: read on registration, through the URL guard.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use toolyard_net::{NetError, OutsideUrl};
use toolyard_protocol::{
    Problem,
    app::{AppDetails, DeclaredPermission},
    device::HardwareRequirement,
};

use super::to_definitions;
use crate::{Platform, PlatformError};

/// The name of the file, relative to the app's URL.
const FILE: &str = "tpa_config.json";
/// Largest file, in bytes.
const MAX_FILE_BYTES: usize = 1024 * 1024;
/// Timeout of the download.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// The file. Unknown fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AppConfigFile {
    name: Option<String>,
    description: Option<String>,
    permissions: Option<Vec<DeclaredPermission>>,
    hardware_requirements: Option<Vec<HardwareRequirement>>,
    settings: Option<Vec<Value>>,
    tools: Option<Vec<Box<RawValue>>>,
}

/// Reads the file and fills in what the request leaves out.
pub(crate) async fn complete_from_file(
    platform: &Platform,
    details: &mut AppDetails,
    tools: &mut Option<Vec<Box<RawValue>>>,
) -> Result<(), PlatformError> {
    let url = details.public_url.as_deref().ok_or_else(|| {
        let problem = Problem::new("publicUrl", format!("missing; {FILE} is read from there"));
        PlatformError::invalid_with("the app cannot be registered", vec![problem])
    })?;
    let file = fetch_config_file(platform, url).await?;
    if details.name.is_empty() {
        details.name = file.name.unwrap_or_default();
    }
    if details.description.is_empty() {
        details.description = file.description.unwrap_or_default();
    }
    if details.permissions.is_empty() {
        details.permissions = file.permissions.unwrap_or_default();
    }
    if details.hardware_requirements.is_empty() {
        details.hardware_requirements = file.hardware_requirements.unwrap_or_default();
    }
    if details.settings.is_empty() {
        details.settings = file.settings.unwrap_or_default();
    }
    if tools.is_none() {
        let read = to_definitions(file.tools.unwrap_or_default());
        *tools = Some(read.map_err(|problems| {
            PlatformError::invalid_with(format!("the tools in {FILE} cannot be read"), problems)
        })?);
    }
    Ok(())
}

async fn fetch_config_file(platform: &Platform, url: &str) -> Result<AppConfigFile, PlatformError> {
    let refused = |why: String| {
        PlatformError::invalid_with("the app cannot be registered", vec![Problem::new("publicUrl", why)])
    };
    let base = OutsideUrl::parse(url, &platform.guard).map_err(|error| refused(error.to_string()))?;
    let address = base.join(FILE);
    let not_read = |why: String| {
        refused(format!(
            "{address} could not be read: {why}. Serve the file there, or send `tools` and leave `readConfig` out"
        ))
    };
    let request =
        Request::get(&address).body(Full::new(Bytes::new())).map_err(|error| not_read(error.to_string()))?;
    let fetched = tokio::time::timeout(FETCH_TIMEOUT, async {
        let response = platform.http.send(request).await?;
        let status = response.status;
        Ok::<_, NetError>((status, response.bytes(MAX_FILE_BYTES).await?))
    });
    let fetched =
        fetched.await.map_err(|_| not_read(format!("no response within {} s", FETCH_TIMEOUT.as_secs())))?;
    let (status, body) = fetched.map_err(|error| not_read(error.to_string()))?;
    if !status.is_success() {
        return Err(not_read(format!("the app answered HTTP {status}")));
    }
    let mut from = serde_json::Deserializer::from_slice(&body);
    serde_path_to_error::deserialize(&mut from).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.into_inner());
        PlatformError::invalid_with(
            format!("{address} cannot be used"),
            vec![Problem::new(path, why.to_string())],
        )
    })
}
