//! Validation of app details.

use toolyard_net::OutsideUrl;
use toolyard_protocol::{
    Problem,
    app::{AppDetails, MAX_APP_LIST, MAX_APP_NAME_BYTES, MAX_APP_SETTINGS_BYTES, MAX_ICON_BYTES},
    raw::to_raw,
    tool::MAX_DESCRIPTION_BYTES,
    visible::count_invisible,
};

use crate::Platform;

/// All problems of an app's details.
pub(super) fn find_problems(platform: &Platform, details: &AppDetails) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut problem = |path: &str, message: String| problems.push(Problem::new(path, message));
    for (path, text) in [("name", &details.name), ("description", &details.description)] {
        if count_invisible(text) > 0 {
            problem(path, "has invisible characters; leave them out".to_owned());
        }
    }
    if details.name.len() > MAX_APP_NAME_BYTES {
        problem("name", format!("longer than {MAX_APP_NAME_BYTES} bytes"));
    }
    if details.description.len() > MAX_DESCRIPTION_BYTES {
        problem("description", format!("longer than {MAX_DESCRIPTION_BYTES} bytes"));
    }
    if let Some(url) = &details.public_url
        && let Err(error) = OutsideUrl::parse(url, &platform.guard)
    {
        problem("publicUrl", error.to_string());
    }
    let is_fetched =
        |url: &String| url.starts_with("https://") && OutsideUrl::parse(url, &platform.web_guard).is_ok();
    let is_picture = |url: &String| url.starts_with("data:image/") || is_fetched(url);
    if let Some(url) = &details.icon_url
        && (!is_picture(url) || url.len() > MAX_ICON_BYTES)
    {
        problem(
            "iconUrl",
            format!(
                "expected an https URL that this server may request, or data:image in at most {MAX_ICON_BYTES} bytes"
            ),
        );
    }
    let lists = [
        ("permissions", details.permissions.len()),
        ("wants", details.wants.len()),
        ("hardwareRequirements", details.hardware_requirements.len()),
        ("settings", details.settings.len()),
    ];
    for (path, length) in lists {
        if length > MAX_APP_LIST {
            problem(path, format!("{length} entries; at most {MAX_APP_LIST}"));
        }
    }
    if to_raw(&details.settings).get().len() > MAX_APP_SETTINGS_BYTES {
        problem("settings", format!("larger than {MAX_APP_SETTINGS_BYTES} bytes"));
    }
    let config = platform.config.load();
    let times = [
        ("callTimeoutMs", details.call_timeout_ms, config.max_call_timeout_ms),
        ("wakeTimeoutMs", details.wake_timeout_ms, config.max_wake_timeout_ms),
    ];
    for (path, wish, most) in times {
        if wish.is_some_and(|wish| wish == 0 || wish > most) {
            problem(path, format!("expected 1 to {most} milliseconds"));
        }
    }
    problems
}
