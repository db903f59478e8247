//! Permissions as text for people.

use toolyard_protocol::plugin::{PluginPermissions, Storage};

/// What a plugin may do with these permissions, one line each. Empty if it may only compute.
pub fn permission_lines(permissions: &PluginPermissions) -> Vec<String> {
    let mut lines: Vec<String> = permissions
        .network
        .iter()
        .map(|host| match host.as_str().strip_prefix("*.") {
            Some(name) => format!("talks to everything under {name}"),
            None => format!("talks to {host}"),
        })
        .collect();
    match permissions.storage {
        Storage::None => {}
        Storage::Usual => lines.push("keeps data between calls".to_owned()),
        Storage::Bytes(bytes) => lines.push(format!("keeps data between calls, at most {bytes} bytes")),
    }
    if permissions.clock {
        lines.push("knows the time".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_become_lines_of_text() {
        let lines = |text: &str| permission_lines(&serde_json::from_str(text).unwrap());
        assert!(lines("{}").is_empty());
        assert_eq!(
            lines(r#"{"network":["a.b","*.example.com"],"storage":{"bytes":5},"clock":true}"#),
            [
                "talks to a.b",
                "talks to everything under example.com",
                "keeps data between calls, at most 5 bytes",
                "knows the time"
            ]
        );
        assert_eq!(lines(r#"{"storage":true}"#), ["keeps data between calls"]);
    }
}
