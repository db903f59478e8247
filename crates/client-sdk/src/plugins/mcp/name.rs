//! The name under which a model sees a tool of a server: `mcp_<server>_<tool>`.
//!
//! It depends only on the two names, so it stays the same when other servers and tools change: stored conversations and prompt
//! caches rely on it.

use toolyard_protocol::name_hash::{NAME_HASH_CHARS, ends_like_name_hash, name_hash};

/// Longest name, in characters.
const MAX_CHARS: usize = 64;
const PREFIX: &str = "mcp_";
/// Characters for server and tool in a name with a hash: without the prefix, the two `_` and the hash.
const ROOM: usize = MAX_CHARS - PREFIX.len() - 2 - NAME_HASH_CHARS;
/// Least characters of a long server name next to a long tool name.
const MIN_SERVER_CHARS: usize = 16;

/// The name of a tool: the plain form if it is valid and unambiguous, otherwise with a hash of both names.
pub(super) fn tool_name(server: &str, tool: &str) -> String {
    let plain = format!("{PREFIX}{server}_{tool}");
    if is_plain(server, tool) && plain.len() <= MAX_CHARS && !ends_like_name_hash(&plain) {
        return plain;
    }
    let hash = name_hash(&[server, tool]);
    let (server, tool) = (fold_name(server), fold_name(tool));
    let tool = truncate_name(&tool, ROOM - server.len().min(MIN_SERVER_CHARS));
    let server = truncate_name(&server, ROOM - tool.len());
    format!("{PREFIX}{server}_{tool}_{hash}")
}

/// Whether the two names can be separated again: the first `_` after the prefix ends the server name.
fn is_plain(server: &str, tool: &str) -> bool {
    let letters = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
    letters(server) && !tool.is_empty() && tool.split('_').all(|part| part.is_empty() || letters(part))
}

fn fold_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn truncate_name(text: &str, chars: usize) -> &str {
    &text[..text.len().min(chars)]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn plain_names_stay_plain() {
        for (server, tool, name) in [
            ("sqlite", "query", "mcp_sqlite_query"),
            ("Git2", "create_issue", "mcp_Git2_create_issue"),
            ("a", "_x", "mcp_a__x"),
            ("7", "9", "mcp_7_9"),
        ] {
            assert_eq!(tool_name(server, tool), name);
        }
    }

    #[test]
    fn changed_names_have_a_hash() {
        for (server, tool, begins) in [
            ("brave-search", "web", "mcp_brave_search_web_"),
            ("my_server", "x", "mcp_my_server_x_"),
            ("files", "read-text", "mcp_files_read_text_"),
            ("files", "läs/fil", "mcp_files_l_s_fil_"),
            ("a", "b_2aaaaaaaaaaaaa", "mcp_a_b_2aaaaaaaaaaaaa_"),
            ("", "x", "mcp__x_"),
            ("a", "", "mcp_a__"),
        ] {
            let name = tool_name(server, tool);
            assert!(name.starts_with(begins) && name.len() == begins.len() + NAME_HASH_CHARS, "{name}");
            assert!(ends_like_name_hash(&name), "{name}");
        }
    }

    #[test]
    fn long_names_keep_the_tool_and_some_of_the_server() {
        let name = tool_name(&"s".repeat(100), &"t".repeat(100));
        assert!(name.starts_with(&format!("mcp_{}_{}_", "s".repeat(16), "t".repeat(28))), "{name}");
        let name = tool_name(&"s".repeat(100), "tool");
        assert!(name.starts_with(&format!("mcp_{}_tool_", "s".repeat(40))) && name.len() == 64, "{name}");
        let name = tool_name("s", &"t".repeat(100));
        assert!(name.starts_with(&format!("mcp_s_{}_", "t".repeat(43))) && name.len() == 64, "{name}");
        let fits = tool_name("s", &"t".repeat(58));
        assert_eq!((fits.len(), ends_like_name_hash(&fits)), (64, false));
    }

    #[test]
    fn no_two_pairs_have_one_name() {
        let parts = ["a", "a_b", "b", "a-b", "b_c", "c", "", "_", "a_", "_b", "A", "ä", "b_2aaaaaaaaaaaaa"];
        let mut seen = HashMap::new();
        for server in parts {
            for tool in parts {
                let name = tool_name(server, tool);
                assert!(
                    name.len() <= MAX_CHARS && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                );
                if let Some(other) = seen.insert(name.clone(), (server, tool)) {
                    panic!("{name} is {other:?} and {:?}", (server, tool));
                }
            }
        }
    }
}
