//! Upstreams as text for people.

use toolyard_protocol::upstream::{
    UpstreamAuth, UpstreamDetails, UpstreamEndpoint, UpstreamState, UpstreamStatus, UpstreamSummary,
};

use crate::text;

/// The name of a state.
pub(crate) const fn state_label(state: UpstreamState) -> &'static str {
    match state {
        UpstreamState::Unknown => "unknown",
        UpstreamState::Up => "up",
        UpstreamState::Down => "down",
        UpstreamState::NeedsAuthorization => "needs-authorization",
        UpstreamState::Disabled => "disabled",
    }
}

/// The URL, or the whole command.
pub(crate) fn format_location(details: &UpstreamDetails) -> String {
    match details.endpoint() {
        Some(UpstreamEndpoint::Url(url)) => url.to_owned(),
        Some(UpstreamEndpoint::Command(command)) => {
            text::shell_quote(std::iter::once(command).chain(details.args.iter().map(String::as_str)))
        }
        None => "(none)".to_owned(),
    }
}

/// What the server will do to reach the upstream. Shows the names of variables and headers, not their values.
pub(crate) fn connection_preview(details: &UpstreamDetails) -> String {
    let mut preview = match details.endpoint() {
        Some(UpstreamEndpoint::Command(_)) => format!("the server will run: {}", format_location(details)),
        Some(UpstreamEndpoint::Url(_)) | None => {
            format!("the server will connect to: {}", format_location(details))
        }
    };
    if let Some(folder) = &details.cwd {
        preview.push_str(&format!("\n  in {folder}"));
    }
    for (what, names) in [
        ("with the variables", details.env.keys().collect::<Vec<_>>()),
        ("with the headers", details.headers.keys().collect()),
    ] {
        if !names.is_empty() {
            let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
            preview.push_str(&format!("\n  {what} {}", names.join(", ")));
        }
    }
    preview
}

/// `4 tools, 1 prompt, 0 resources`
pub(crate) fn format_counts(status: &UpstreamStatus) -> String {
    let some = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let resources = status.resources + status.templates;
    format!(
        "{}, {}, {}",
        some(status.tools, "tool"),
        some(status.prompts, "prompt"),
        some(resources, "resource")
    )
}

/// `github is up: 4 tools, 0 prompts, 0 resources`, or what is wrong.
pub(crate) fn format_status(upstream: &UpstreamSummary) -> String {
    let (status, word) = (&upstream.status, state_label(upstream.status.state));
    match &status.problem {
        Some(problem) if status.state != UpstreamState::Up => {
            format!("{} is {word}: {}", upstream.id, text::sanitize_line(problem))
        }
        _ => format!("{} is {word}: {}", upstream.id, format_counts(status)),
    }
}

/// The items that were set aside, one line each, with the reason.
pub(crate) fn format_set_aside(status: &UpstreamStatus) -> Vec<String> {
    let line = |(name, reason): (&str, &str)| {
        format!("  set aside: {}: {}", text::sanitize_line(name), text::sanitize_line(reason))
    };
    status.set_aside.iter().map(|one| line((&one.name, &one.reason))).collect()
}

/// The next step for an upstream that is not up.
pub(crate) fn next_step(upstream: &UpstreamSummary) -> Option<String> {
    let (id, details) = (&upstream.id, &upstream.details);
    Some(match (upstream.status.state, details.auth) {
        (UpstreamState::Up, _) => return None,
        (UpstreamState::Unknown, _) => format!("check it now with `toolyard upstreams test {id}`"),
        (UpstreamState::Down, _) => match details.endpoint() {
            Some(UpstreamEndpoint::Command(_)) => format!(
                "run the command manually on the server's machine ({}), then `toolyard upstreams test {id}`",
                format_location(details)
            ),
            Some(UpstreamEndpoint::Url(_)) | None => {
                format!(
                    "check that it responds at {}, then `toolyard upstreams test {id}`",
                    format_location(details)
                )
            }
        },
        (UpstreamState::NeedsAuthorization, UpstreamAuth::OAuth) => {
            format!("each user must authorize it: `toolyard upstreams authorize {id} --user NAME`")
        }
        (UpstreamState::NeedsAuthorization, UpstreamAuth::Headers) => {
            "add it again with --header 'Authorization: …', or with --oauth if each user should authorize it"
                .to_owned()
        }
        (UpstreamState::Disabled, _) => {
            format!("add it to the configuration file again, or remove it: `toolyard upstreams rm {id}`")
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn upstream(details: &Value, status: &Value) -> UpstreamSummary {
        serde_json::from_value(json!({
            "id": "x", "packageName": "mcp.x", "owner": "o", "managed": false, "details": details, "status": status,
        }))
        .unwrap()
    }

    fn status(state: &str) -> Value {
        json!({ "state": state, "tools": 1, "prompts": 0, "resources": 1, "templates": 1, "problem": "no\u{1b}" })
    }

    #[test]
    fn every_state_has_its_word_and_its_next_step() {
        let url = json!({ "url": "https://x.example" });
        for (kind, words) in [
            ("unknown", "upstreams test x"),
            ("down", "responds at https://x.example"),
            ("needs-authorization", "--oauth"),
            ("disabled", "upstreams rm x"),
        ] {
            let upstream = upstream(&url, &status(kind));
            assert_eq!(format_status(&upstream), format!("x is {kind}: no "));
            assert!(next_step(&upstream).unwrap().contains(words), "{kind}");
        }
        let up = upstream(&url, &status("up"));
        assert_eq!(
            (format_status(&up).as_str(), next_step(&up)),
            ("x is up: 1 tool, 0 prompts, 2 resources", None)
        );
        let oauth = upstream(&json!({ "url": "u", "auth": "oauth" }), &status("needs-authorization"));
        assert!(next_step(&oauth).unwrap().contains("upstreams authorize x"));
        let command = upstream(&json!({ "command": "a", "args": ["b c"] }), &status("down"));
        assert!(next_step(&command).unwrap().contains("(a 'b c')"));
    }

    #[test]
    fn the_preview_shows_the_command_without_its_secrets() {
        let details =
            json!({ "command": "npx", "args": ["-y", "x; rm"], "env": { "KEY": "s3cret" }, "cwd": "/srv" });
        let details: UpstreamDetails = serde_json::from_value(details).unwrap();
        let expected = "the server will run: npx -y 'x; rm'\n  in /srv\n  with the variables KEY";
        assert_eq!(connection_preview(&details), expected);
    }
}
