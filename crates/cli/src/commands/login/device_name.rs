//! What a login is called, so that the user recognizes its token among others.

use std::path::Path;

use crate::{
    commands::token::{MAX_NAME_CHARS, parse_token_name},
    config, input,
};

/// Longest host name that is read, in bytes.
const MAX_HOST_BYTES: usize = 1_024;
/// The host name on Linux.
const HOST_FILE: &str = "/proc/sys/kernel/hostname";
/// Variables with the host name on other systems.
const HOST_VARIABLES: [&str; 3] = ["COMPUTERNAME", "HOSTNAME", "HOST"];

/// `toolyard on` and the name of this machine, or that of its operating system if it has none.
pub(super) fn default_device_name() -> String {
    let variable = || {
        let mut found = config::env_variables().filter(|(name, _)| HOST_VARIABLES.contains(&name.as_str()));
        found.next().map(|(_, value)| value)
    };
    let host = input::read_text_file(Path::new(HOST_FILE), MAX_HOST_BYTES).ok().or_else(variable);
    name_for_host(host.as_deref().unwrap_or_default())
}

fn name_for_host(host: &str) -> String {
    let name: String = format!("toolyard on {}", host.trim()).chars().take(MAX_NAME_CHARS).collect();
    match parse_token_name(&name) {
        Ok(name) if !host.trim().is_empty() => name,
        _ => format!("toolyard on {}", std::env::consts::OS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_api() {
        assert_eq!(name_for_host("laptop\n"), "toolyard on laptop");
        assert_eq!(name_for_host(&"x".repeat(300)).chars().count(), MAX_NAME_CHARS);
        for host in ["", " \n", "a\u{1b}b"] {
            assert_eq!(name_for_host(host), format!("toolyard on {}", std::env::consts::OS));
        }
    }
}
