//! Header names, and how text is encoded in a header.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The protocol revision of a request.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method, repeated from the body.
pub const METHOD: &str = "mcp-method";
/// The name or URI that the method refers to, repeated from the body.
pub const NAME: &str = "mcp-name";
/// The session id of a handshake revision.
pub const SESSION: &str = "mcp-session-id";
/// Prefix of the header of a mirrored parameter.
pub const PARAM_PREFIX: &str = "mcp-param-";

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// Encodes a text for a header: unchanged if it is plain, else in base64.
pub fn encode_header(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|b| (0x20..=0x7e).contains(&b))
        && text.trim() == text
        && strip_base64_marker(text).is_none();
    if plain { text.into() } else { format!("{OPEN}{}{CLOSE}", STANDARD.encode(text)).into() }
}

/// Decodes a header. `None` if the encoding is invalid.
pub fn decode_header(value: &str) -> Option<Cow<'_, str>> {
    match strip_base64_marker(value) {
        None => Some(value.into()),
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok().map(Cow::Owned),
    }
}

fn strip_base64_marker(value: &str) -> Option<&str> {
    value.strip_prefix(OPEN)?.strip_suffix(CLOSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back() {
        for text in
            ["plain", "two words", " lead", "trail\t", "größe", "a\nb", "", "=?base64?YQ==?=", "=?base64?"]
        {
            let sent = encode_header(text);
            assert!(sent.bytes().all(|b| (0x20..=0x7e).contains(&b)), "{sent}");
            assert_eq!(decode_header(&sent).as_deref(), Some(text), "{sent}");
        }
        assert_eq!(encode_header("plain"), "plain");
        assert_eq!(decode_header("=?base64?!!?="), None);
        assert_eq!(decode_header("=?base64?/w==?="), None);
    }
}
