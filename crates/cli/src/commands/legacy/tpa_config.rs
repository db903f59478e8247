//! Fetches `tpa_config.json`, with which an app describes itself, from the app's URL. Subject to the URL guard.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolyard_net::{ClientSettings, HttpClient, NetError, OutsideUrl};
use toolyard_protocol::{PackageName, Problem, app::DeclaredPermission, device::HardwareRequirement};

use crate::{
    client::ApiClient,
    error::CliError,
    tool_file::{MAX_TOOL_FILE_BYTES, ToolFile},
};

/// The file below the app's URL.
const FILE: &str = "tpa_config.json";
/// Timeout for the app's response.
const WAIT: Duration = Duration::from_secs(15);

/// Fetches and parses the file.
pub(crate) async fn fetch_tool_file(url: &str, server: &ApiClient) -> Result<ToolFile, CliError> {
    let failed = |why: String| CliError::Fetch { url: format!("{}/{FILE}", url.trim_end_matches('/')), why };
    let guard = server.guard_for_apps();
    let base = OutsideUrl::parse(url, &guard).map_err(|error| failed(error.to_string()))?;
    let request = Request::get(base.join(FILE))
        .body(Full::new(Bytes::new()))
        .map_err(|error| failed(error.to_string()))?;
    let http = HttpClient::new(guard, ClientSettings::default());
    let fetched = tokio::time::timeout(WAIT, async {
        let answer = http.send(request).await?;
        let status = answer.status;
        Ok::<_, NetError>((status, answer.bytes(MAX_TOOL_FILE_BYTES).await?))
    });
    let fetched = fetched.await.map_err(|_| failed(format!("no response within {WAIT:?}")))?;
    let (status, body) = fetched.map_err(|error| failed(error.to_string()))?;
    if !status.is_success() {
        return Err(failed(format!("the app responded with {status}")));
    }
    let text = std::str::from_utf8(&body).map_err(|_| failed("it is not UTF-8".to_owned()))?;
    ToolFile::parse(text).map_err(|problems| CliError::Problems { what: format!("{base}/{FILE}"), problems })
}

/// The fields of the file besides the tools.
#[derive(Debug, Default)]
pub(crate) struct AppFileDetails {
    pub(crate) package_name: Option<PackageName>,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) permissions: Vec<DeclaredPermission>,
    pub(crate) hardware_requirements: Vec<HardwareRequirement>,
    pub(crate) settings: Vec<Value>,
}

/// Parses the fields and reports every problem at once. Unknown fields are ignored.
pub(crate) fn parse_file_details(mut members: Map<String, Value>) -> Result<AppFileDetails, Vec<Problem>> {
    let mut problems = Vec::new();
    let about = AppFileDetails {
        package_name: take_field(&mut members, "packageName", &mut problems),
        name: take_field(&mut members, "name", &mut problems),
        description: take_field(&mut members, "description", &mut problems),
        permissions: take_field(&mut members, "permissions", &mut problems).unwrap_or_default(),
        hardware_requirements: take_field(&mut members, "hardwareRequirements", &mut problems)
            .unwrap_or_default(),
        settings: take_field(&mut members, "settings", &mut problems).unwrap_or_default(),
    };
    if problems.is_empty() { Ok(about) } else { Err(problems) }
}

fn take_field<T: DeserializeOwned>(
    members: &mut Map<String, Value>,
    name: &str,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let value = members.remove(name).filter(|value| !value.is_null())?;
    serde_json::from_value(value).map_err(|error| problems.push(Problem::new(name, error.to_string()))).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<AppFileDetails, Vec<Problem>> {
        parse_file_details(value.as_object().unwrap().clone())
    }

    #[test]
    fn reads_what_it_knows() {
        let parsed = read(json!({
            "name": "Todo", "packageName": "com.example.todo", "version": "1", "settings": [{ "key": "k" }],
            "permissions": [{ "type": "MICROPHONE" }], "hardwareRequirements": null,
        }));
        let parsed = parsed.unwrap();
        assert_eq!(
            (parsed.package_name.unwrap().as_str(), parsed.name.as_deref()),
            ("com.example.todo", Some("Todo"))
        );
        assert_eq!((parsed.permissions.len(), parsed.settings.len()), (1, 1));
    }

    #[test]
    fn names_every_problem() {
        let problems =
            read(json!({ "packageName": "Not One", "permissions": [{ "type": "FLY" }], "settings": 7 }))
                .unwrap_err();
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, ["packageName", "permissions", "settings"]);
    }
}
