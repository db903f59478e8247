//! Whether each upstream answers, as the server sees it.

use toolyard_protocol::upstream::{UpstreamAuth, UpstreamState, UpstreamSummary};

use super::Check;
use crate::{
    client::Client,
    commands::upstreams::{Upstreams, words},
};

/// Most upstreams that are told.
const MAX_UPSTREAMS: usize = 50;

pub(super) async fn checks(client: &Client) -> Vec<Check> {
    match client.find::<Upstreams>("api/upstreams").await {
        Ok(Some(all)) => all.upstreams.iter().take(MAX_UPSTREAMS).map(check).collect(),
        // Only developers and operators see them, and the check of who we are has said everything else.
        Ok(None) | Err(_) => Vec::new(),
    }
}

/// An upstream of the user's that we may not see.
pub(super) async fn hidden(client: &Client, id: &str) -> Option<Check> {
    let name = format!("upstream {id}");
    match client.find::<UpstreamSummary>(&format!("api/upstreams/{id}")).await {
        Ok(Some(_)) => None,
        Ok(None) => {
            let next = "ask whoever added it, or use a developer's or operator's token";
            Some(Check::warn(&name, "not checked: only whoever added it may see how it is doing", next))
        }
        Err(error) => Some(Check::failed(&name, &error)),
    }
}

fn check(upstream: &UpstreamSummary) -> Check {
    let (name, said) = (format!("upstream {}", upstream.id), words::doing(upstream));
    let (status, next) = (&upstream.status, words::next(upstream));
    match (status.state, upstream.details.auth, next) {
        (UpstreamState::NeedsAuthorization, UpstreamAuth::OAuth, Some(next)) => {
            Check::ok(&name, format!("it answers; {next}"))
        }
        (UpstreamState::Unknown | UpstreamState::Disabled, _, Some(next)) => Check::warn(&name, said, next),
        (UpstreamState::Down | UpstreamState::NeedsAuthorization, _, Some(next)) => {
            Check::fail(&name, said, next)
        }
        // No warning: it may be what the operator wants, and the rest can be used.
        _ if !status.set_aside.is_empty() => {
            let (count, id) = (status.set_aside.len(), &upstream.id);
            Check::ok(&name, format!("{said}; {count} set aside, `toolyard upstreams show {id}` says why"))
        }
        _ => Check::ok(&name, said),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::Status, *};

    #[test]
    fn every_state_has_its_verdict() {
        for (state, auth, aside, expected) in [
            ("up", "headers", json!([]), Status::Ok),
            ("up", "headers", json!([{ "name": "t", "reason": "r" }]), Status::Ok),
            ("unknown", "headers", json!([]), Status::Warn),
            ("down", "headers", json!([]), Status::Fail),
            ("down", "oauth", json!([]), Status::Fail),
            ("needs-authorization", "headers", json!([]), Status::Fail),
            ("needs-authorization", "oauth", json!([]), Status::Ok),
            ("disabled", "headers", json!([]), Status::Warn),
        ] {
            let upstream = json!({
                "id": "x", "packageName": "mcp.x", "owner": "o", "managed": false,
                "details": { "url": "https://x", "auth": auth },
                "status": {
                    "state": state, "tools": 0, "prompts": 0, "resources": 0, "templates": 0, "setAside": aside,
                },
            });
            let check = check(&serde_json::from_value(upstream).unwrap());
            assert_eq!(check.status, expected, "{state} {auth}");
            assert_eq!(check.message.contains("1 set aside"), aside != json!([]), "{}", check.message);
            assert_eq!(check.next.is_some(), expected != Status::Ok, "{state} {auth}");
        }
    }
}
