//! Permissions, as people are asked about them.

use toolyard_protocol::plugin::{PluginPermissions, Storage};

/// What a plugin may do with these permissions, a line each; none where it may do nothing but compute.
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
    fn permissions_are_told_in_words() {
        let told = |text: &str| permission_lines(&serde_json::from_str(text).unwrap());
        assert!(told("{}").is_empty());
        assert_eq!(
            told(r#"{"network":["a.b","*.example.com"],"storage":{"bytes":5},"clock":true}"#),
            [
                "talks to a.b",
                "talks to everything under example.com",
                "keeps data between calls, at most 5 bytes",
                "knows the time"
            ]
        );
        assert_eq!(told(r#"{"storage":true}"#), ["keeps data between calls"]);
    }
}
