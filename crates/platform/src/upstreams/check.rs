//! Validation of upstreams, and who may set what.

use std::collections::HashSet;

use serde_json::Value;
use toolyard_core::{ports::UpstreamRecord, upstream_secrets::HIDDEN};
use toolyard_net::{OutsideUrl, url_origin};
use toolyard_protocol::{
    Problem, app::MAX_APP_NAME_BYTES, tool::MAX_DESCRIPTION_BYTES, upstream::UpstreamDetails,
};

use crate::{Actor, Platform, PlatformError};

pub(super) fn read_details(details: Value) -> Result<UpstreamDetails, PlatformError> {
    serde_path_to_error::deserialize(details).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.into_inner());
        PlatformError::invalid_with("the upstream cannot be read", vec![Problem::new(path, why.to_string())])
    })
}

/// Commands run on this machine, and environment variables are the server's, so only operators may set them.
pub(super) fn require_may_name(
    platform: &Platform,
    actor: &Actor,
    details: &UpstreamDetails,
) -> Result<(), PlatformError> {
    if details.needs_operator() && !actor.is_operator() {
        let text = "only an operator may set a command, environment variables, or `forAll`";
        return Err(PlatformError::forbidden(text));
    }
    if details.command.is_some() && !platform.config.load().allow_commands {
        let text = "commands are only taken from the configuration file here; set upstream_settings.allow_commands to change that";
        return Err(PlatformError::forbidden(text));
    }
    Ok(())
}

/// Upstreams in the configuration file must be changed there.
pub(super) fn require_not_managed(record: &UpstreamRecord) -> Result<(), PlatformError> {
    if record.managed {
        let text = "this upstream is defined in the configuration file; change it there";
        return Err(PlatformError::conflict(text));
    }
    Ok(())
}

pub(super) fn require_valid(platform: &Platform, details: &UpstreamDetails) -> Result<(), PlatformError> {
    let mut problems = details.problems();
    if details.name.len() > MAX_APP_NAME_BYTES {
        problems.push(Problem::new("name", format!("longer than {MAX_APP_NAME_BYTES} bytes")));
    }
    if details.description.len() > MAX_DESCRIPTION_BYTES {
        problems.push(Problem::new("description", format!("longer than {MAX_DESCRIPTION_BYTES} bytes")));
    }
    if let Some(url) = &details.url
        && let Err(error) = OutsideUrl::parse(url, &platform.guard)
    {
        problems.push(Problem::new("url", error.to_string()));
    }
    let most = platform.config.load().max_call_timeout_ms;
    if details.call_timeout_ms.is_some_and(|wish| wish == 0 || wish > most) {
        problems.push(Problem::new("callTimeoutMs", format!("expected 1 to {most} milliseconds")));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(PlatformError::invalid_with("the details of the upstream are invalid", problems))
}

/// Whether an upstream has moved to another origin, so that secrets and tokens for the old one must not be sent to it.
pub(super) fn has_moved(before: &UpstreamDetails, after: &UpstreamDetails) -> bool {
    let origin = |details: &UpstreamDetails| details.url.as_deref().map(url_origin);
    origin(before) != origin(after)
}

/// Secrets belong to one origin: if an upstream moves to another one, they must be sent again or removed.
pub(super) fn require_fresh_secrets(
    before: &UpstreamDetails,
    after: &UpstreamDetails,
    given: &HashSet<String>,
) -> Result<(), PlatformError> {
    let moves = has_moved(before, after);
    let secret_moves = moves || before.issuer != after.issuer;
    let is_hidden = |value: &String| value == HIDDEN;
    let carried = [
        ("headers", moves && !after.headers.is_empty(), after.headers.values().any(is_hidden)),
        (
            "clientSecret",
            secret_moves && after.client_secret.is_some(),
            after.client_secret.iter().any(is_hidden),
        ),
    ];
    let stale = carried
        .into_iter()
        .filter(|(name, is_sent, is_hidden)| *is_sent && (*is_hidden || !given.contains(*name)));
    let problems: Vec<_> = stale
        .map(|(name, _, _)| {
            let text = "the upstream moves to another address; give this again with its values for that address, \
                        or set it to null";
            Problem::new(name, text)
        })
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(PlatformError::invalid_with("secrets of the old address are not sent to the new one", problems))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_place_is_another_scheme_host_or_port() {
        let at = |url: &str| UpstreamDetails { url: Some(url.to_owned()), ..UpstreamDetails::default() };
        let before = at("https://u.example/mcp");
        for same in ["https://u.example/v2", "https://U.example:443/mcp?x=1"] {
            assert!(!has_moved(&before, &at(same)), "{same}");
        }
        for other in ["http://u.example/mcp", "https://u.example:8443/mcp", "https://evil.example/mcp"] {
            assert!(has_moved(&before, &at(other)), "{other}");
        }
        assert!(has_moved(&before, &UpstreamDetails::default()));
    }
}
