//! The content type of a page, and its character encoding.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How far a page is searched for a declaration of its encoding, in bytes; the HTML standard requires 1024.
const PRESCAN_BYTES: usize = 1024;

/// The value of a `Content-Type` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContentType {
    /// In lower case, without parameters.
    pub(super) name: String,
    charset: Option<String>,
}

impl ContentType {
    pub(super) fn parse(header: &str) -> Self {
        let mut parts = header.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (key, value) = part.split_once('=')?;
            key.trim()
                .eq_ignore_ascii_case("charset")
                .then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        Self { name, charset }
    }

    pub(super) fn is_html(&self) -> bool {
        matches!(self.name.as_str(), "text/html" | "application/xhtml+xml")
    }

    pub(super) fn is_text(&self) -> bool {
        let known =
            ["json", "ld+json", "xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "x-ndjson"];
        match self.name.split_once('/') {
            Some(("text", _)) => true,
            Some(("application", kind)) => {
                known.contains(&kind) || kind.ends_with("+json") || kind.ends_with("+xml")
            }
            _ => false,
        }
    }
}

/// Decodes the bytes. Invalid characters become `�`.
pub(super) fn decode_text(bytes: &[u8], kind: Option<&ContentType>, is_html: bool) -> String {
    let (encoding, mark) = encoding_of(bytes, kind, is_html);
    encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned()
}

/// Whether the encoding has zero bytes in ordinary text.
pub(super) fn is_wide(bytes: &[u8], kind: Option<&ContentType>) -> bool {
    let encoding = encoding_of(bytes, kind, false).0;
    encoding == UTF_16LE || encoding == UTF_16BE
}

/// The encoding and the length of the byte order mark, in the precedence of the HTML standard.
fn encoding_of(bytes: &[u8], kind: Option<&ContentType>, is_html: bool) -> (&'static Encoding, usize) {
    if let Some(found) = Encoding::for_bom(bytes) {
        return found;
    }
    let named =
        kind.and_then(|kind| kind.charset.as_deref()).and_then(|label| Encoding::for_label(label.as_bytes()));
    let noted = || if is_html { declared_encoding(bytes) } else { None };
    let encoding = named.or_else(noted).unwrap_or_else(|| {
        // Not declared anywhere: valid UTF-8 is hardly ever anything else.
        if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 }
    });
    (encoding, 0)
}

/// From `<meta charset="...">`, `<meta ... content="text/html; charset=...">` or `<?xml encoding="..."?>`.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes[..bytes.len().min(PRESCAN_BYTES)].to_ascii_lowercase();
    let start = String::from_utf8_lossy(&start);
    let after = start.split_once("charset").or_else(|| start.split_once("encoding"))?.1;
    let value = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(value.len());
    let encoding = Encoding::for_label(&value.as_bytes()[..end])?;
    // A declaration that could be read byte by byte is not in UTF-16, whatever it says.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(bytes: &[u8], header: &str) -> String {
        decode_text(bytes, Some(&ContentType::parse(header)), true)
    }

    #[test]
    fn the_header_counts_before_the_note() {
        assert_eq!(html(b"caf\xe9", "text/html; charset=ISO-8859-1"), "café");
        assert_eq!(
            html(b"<meta charset=utf-8>caf\xe9", "text/html; Charset=\"latin1\""),
            "<meta charset=utf-8>café"
        );
        assert_eq!(html("日本".as_bytes(), "text/html;charset=utf-8"), "日本");
        assert_eq!(html(b"\x93\xfa\x96\x7b", "text/html; charset=shift_jis"), "日本");
    }

    #[test]
    fn a_note_in_the_page_counts_next() {
        for note in [
            "<meta charset=windows-1251>",
            "<META CHARSET = \"windows-1251\">",
            "<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'>",
            "<?xml version='1.0' encoding='windows-1251'?>",
        ] {
            let text = html(&[note.as_bytes(), b"\xe4\xe0"].concat(), "text/html");
            assert!(text.ends_with("да"), "{text}");
        }
        let late = [" ".repeat(PRESCAN_BYTES).as_bytes(), b"<meta charset=windows-1251>\xe4"].concat();
        assert!(html(&late, "text/html").ends_with('ä'));
        assert!(html("<meta charset=utf-16>é".as_bytes(), "text/html").ends_with('é'));
    }

    #[test]
    fn without_a_note_it_is_utf8_or_the_old_western_one() {
        assert_eq!(html("naïve".as_bytes(), "text/html"), "naïve");
        assert_eq!(html(b"na\xefve \x80", "text/html"), "naïve €");
        assert_eq!(html(b"x", "text/html; charset=martian"), "x");
    }

    #[test]
    fn a_byte_order_mark_counts_most() {
        assert_eq!(html(b"\xef\xbb\xbfna\xc3\xafve", "text/html; charset=latin1"), "naïve");
        assert_eq!(html(b"\xff\xfea\0b\0", "text/html"), "ab");
        assert!(is_wide(b"\xff\xfea\0", None));
        assert!(!is_wide(b"a\0", None));
    }

    #[test]
    fn types_are_sorted() {
        for (header, is_text, is_html) in [
            ("text/html", true, true),
            ("Text/HTML; charset=utf-8", true, true),
            ("application/xhtml+xml", true, true),
            ("text/plain", true, false),
            ("text/markdown", true, false),
            ("application/json", true, false),
            ("application/problem+json; x=y", true, false),
            ("application/rss+xml", true, false),
            ("application/pdf", false, false),
            ("image/svg+xml", false, false),
            ("image/png", false, false),
            ("application/octet-stream", false, false),
            ("", false, false),
        ] {
            let kind = ContentType::parse(header);
            assert_eq!((kind.is_text(), kind.is_html()), (is_text, is_html), "{header}");
        }
    }
}
