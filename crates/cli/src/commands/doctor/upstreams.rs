//! Checks of the upstreams, as the server sees them.

use toolyard_protocol::upstream::{UpstreamAuth, UpstreamState, UpstreamSummary};

use super::DoctorCheck;
use crate::{
    client::ApiClient,
    commands::upstreams::{UpstreamsOutput, formatting},
};

/// Most upstreams that are checked.
const MAX_UPSTREAMS: usize = 50;

pub(super) async fn upstream_checks(client: &ApiClient) -> Vec<DoctorCheck> {
    match client.get_optional::<UpstreamsOutput>("api/upstreams").await {
        Ok(Some(all)) => all.upstreams.iter().take(MAX_UPSTREAMS).map(check_upstream).collect(),
        // Only developers and operators can list them; other errors were reported by the identity check.
        Ok(None) | Err(_) => Vec::new(),
    }
}

/// A warning for an installed upstream that we cannot see.
pub(super) async fn check_hidden_upstream(client: &ApiClient, id: &str) -> Option<DoctorCheck> {
    let name = format!("upstream {id}");
    match client.get_optional::<UpstreamSummary>(&format!("api/upstreams/{id}")).await {
        Ok(Some(_)) => None,
        Ok(None) => {
            let next = "ask its owner, or use a developer's or operator's token";
            Some(DoctorCheck::warn(&name, "not checked: only its owner can see its status", next))
        }
        Err(error) => Some(DoctorCheck::from_error(&name, &error)),
    }
}

fn check_upstream(upstream: &UpstreamSummary) -> DoctorCheck {
    let (name, status_text) = (format!("upstream {}", upstream.id), formatting::format_status(upstream));
    let (status, next) = (&upstream.status, formatting::next_step(upstream));
    match (status.state, upstream.details.auth, next) {
        (UpstreamState::NeedsAuthorization, UpstreamAuth::OAuth, Some(next)) => {
            DoctorCheck::ok(&name, format!("it responds; {next}"))
        }
        (UpstreamState::Unknown | UpstreamState::Disabled, _, Some(next)) => {
            DoctorCheck::warn(&name, status_text, next)
        }
        (UpstreamState::Down | UpstreamState::NeedsAuthorization, _, Some(next)) => {
            DoctorCheck::fail(&name, status_text, next)
        }
        // Not a warning: the operator may want it so, and the rest works.
        _ if !status.set_aside.is_empty() => {
            let (count, id) = (status.set_aside.len(), &upstream.id);
            DoctorCheck::ok(
                &name,
                format!("{status_text}; {count} set aside, `toolyard upstreams show {id}` says why"),
            )
        }
        _ => DoctorCheck::ok(&name, status_text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::CheckStatus, *};

    #[test]
    fn every_state_has_its_verdict() {
        for (state, auth, aside, expected) in [
            ("up", "headers", json!([]), CheckStatus::Ok),
            ("up", "headers", json!([{ "name": "t", "reason": "r" }]), CheckStatus::Ok),
            ("unknown", "headers", json!([]), CheckStatus::Warn),
            ("down", "headers", json!([]), CheckStatus::Fail),
            ("down", "oauth", json!([]), CheckStatus::Fail),
            ("needs-authorization", "headers", json!([]), CheckStatus::Fail),
            ("needs-authorization", "oauth", json!([]), CheckStatus::Ok),
            ("disabled", "headers", json!([]), CheckStatus::Warn),
        ] {
            let upstream = json!({
                "id": "x", "packageName": "mcp.x", "owner": "o", "managed": false,
                "details": { "url": "https://x", "auth": auth },
                "status": {
                    "state": state, "tools": 0, "prompts": 0, "resources": 0, "templates": 0, "setAside": aside,
                },
            });
            let check = check_upstream(&serde_json::from_value(upstream).unwrap());
            assert_eq!(check.status, expected, "{state} {auth}");
            assert_eq!(check.message.contains("1 set aside"), aside != json!([]), "{}", check.message);
            assert_eq!(check.next.is_some(), expected != CheckStatus::Ok, "{state} {auth}");
        }
    }
}
