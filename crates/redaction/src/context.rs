//! Secrets without a prefix of their own, known by what is written around them.

use std::ops::Range;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::alphabet::{Alphabet, ScannedText};

/// Longest user information of a URL.
const MAX_USER_INFO: usize = 512;
/// Most bytes between `Authorization` and its scheme, or between a name and its value: quotes, colons, escapes, spaces.
const MAX_GAP: usize = 24;
/// Shortest bearer token; what is shorter is an example.
const MIN_BEARER: usize = 16;
const MAX_BEARER: usize = 8 * 1024;

/// Names under which AWS's secret keys are written.
pub(crate) const AWS_NAMES: &[&str] = &[
    "aws_secret_access_key",
    "AWS_SECRET_ACCESS_KEY",
    "aws_secret_key",
    "AWS_SECRET_KEY",
    "secretAccessKey",
    "SecretAccessKey",
    "secret_access_key",
];
/// The scheme of bearer tokens as clients write it, with the space after it encoded or not.
pub(crate) const BEARER_WORDS: &[&str] =
    &["Bearer ", "bearer ", "BEARER ", "Bearer%20", "bearer%20", "Bearer+", "bearer+"];
/// The same for user names with passwords.
pub(crate) const BASIC_WORDS: &[&str] = &["Basic ", "basic ", "BASIC "];
/// Passwords that only show where one belongs.
const SAMPLE_PASSWORDS: &[&str] =
    &["pass", "passwd", "password", "pwd", "pw", "secret", "token", "test", "user", "example", "redacted"];

/// Whether the bytes are only what is written between a name and its value.
fn is_gap(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| {
        byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'=' | b':' | b'\\' | b'>' | b'[')
    })
}

/// AWS's secret key: 40 characters of base64 after one of its names.
pub(crate) fn find_aws_secret(text: &mut ScannedText<'_>, _: usize, name_end: usize) -> Option<Range<usize>> {
    let bytes = text.text.as_bytes().get(name_end..)?;
    let gap = bytes.iter().take(MAX_GAP).take_while(|byte| is_gap(&[**byte])).count();
    let start = name_end + gap;
    let end = text.run_end(Alphabet::Base64, start);
    (gap > 0 && end == start + 40).then_some(start..end)
}

/// Whether a JSON text may have a member that only [`member_secret`] knows. The other names are formats of their own.
pub(crate) fn may_name_secret(json: &str) -> bool {
    ["ccountKey\"", "haredAccessKey\""].iter().any(|end| json.contains(end))
}

/// The kind of secret that the whole text is, if it is the value of a JSON member with a telling name.
pub(crate) fn member_secret(text: &ScannedText<'_>) -> Option<&'static str> {
    let member = text.member?;
    let (kind, length) = match member {
        _ if AWS_NAMES.contains(&member) => ("aws-secret-key", 40),
        "AccountKey" | "accountKey" => ("azure-storage-key", 88),
        "SharedAccessKey" | "sharedAccessKey" => ("azure-shared-access-key", 44),
        _ => return None,
    };
    let is_secret =
        text.text.len() == length && text.text.bytes().all(|byte| Alphabet::Base64.contains(byte));
    is_secret.then_some(kind)
}

/// The signature of a shared access URL: 32 bytes in base64, usually percent-encoded.
pub(crate) fn find_azure_signature(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let end = text.run_end(Alphabet::EncodedBase64, body);
    let signature = text.text.get(body..end)?;
    if signature.len() > 44 * 3 || !text.is_key_start(start) {
        return None;
    }
    let decoded = decode_percent(signature)?;
    let is_signature = decoded.len() == 44 && decoded.ends_with(b"=");
    (is_signature && decoded.iter().all(|byte| Alphabet::Base64.contains(*byte))).then_some(body..end)
}

fn decode_percent(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    Some(decoded)
}

/// The password in `scheme://user:password@host`.
pub(crate) fn find_url_password(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let bytes = text.text.as_bytes();
    // RFC 3986: what a URL may have before its path. Brackets and braces belong to templates and regular expressions.
    let is_authority = |byte: &u8| {
        Alphabet::UrlSafe.contains(*byte)
            || matches!(
                byte,
                b'.' | b'~' | b'%' | b':' | b'@' | b'!' | b'$' | b'&' | b'*' | b'+' | b',' | b';' | b'='
            )
    };
    let length = bytes[body..].iter().take(MAX_USER_INFO).take_while(|byte| is_authority(byte)).count();
    let authority = &text.text[body..body + length];
    let user_info = &authority[..authority.rfind('@')?];
    let colon = user_info.find(':')?;
    let password = &user_info[colon + 1..];
    let host = authority.as_bytes().get(user_info.len() + 1)?;
    let is_scheme = start.checked_sub(1).and_then(|before| text.byte(before))?.is_ascii_alphanumeric();
    let is_secret = is_scheme && !password.is_empty() && host.is_ascii_alphanumeric() && !is_sample(password);
    is_secret.then(|| body + colon + 1..body + user_info.len())
}

/// Whether it only stands for a password: a word of documentation, a variable, stars.
fn is_sample(password: &str) -> bool {
    let is_variable = password.starts_with('$') || password.starts_with("%s") || password.starts_with("%(");
    let is_one_character = password.bytes().all(|byte| Some(byte) == password.bytes().next());
    is_variable
        || is_one_character
        || SAMPLE_PASSWORDS.iter().any(|sample| password.eq_ignore_ascii_case(sample))
}

/// The token after `Authorization: Bearer`.
pub(crate) fn find_bearer_token(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let run = text.run_end(Alphabet::BearerToken, body);
    let token = text.text.get(body..run)?.trim_end_matches('.');
    let end = body + token.len();
    let fits = (MIN_BEARER..=MAX_BEARER).contains(&token.len());
    // The cheap check first: a run of `Bearer+` is searched from each of its starts.
    (fits && is_authorization(text, start, end) && looks_issued(token)).then_some(body..end)
}

/// The base64 after `Authorization: Basic`: a name and a password.
pub(crate) fn find_basic_credentials(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let end = text.run_end(Alphabet::Base64, body);
    if end - body > MAX_BEARER || !is_authorization(text, start, end) {
        return None;
    }
    let decoded = STANDARD.decode(text.text.get(body..end)?).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    (colon + 1 < decoded.len()).then_some(body..end)
}

/// Examples (`YOUR_TOKEN`, `my-access-token`) have neither a digit nor both cases.
fn looks_issued(token: &str) -> bool {
    let has = |class: fn(&u8) -> bool| token.as_bytes().iter().any(class);
    has(u8::is_ascii_digit) || (has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase))
}

/// Whether the scheme at `start` is that of an authorization header: after its name, in a JSON member of that name, or as a whole
/// string, as in lists of names and values.
fn is_authorization(text: &ScannedText<'_>, start: usize, end: usize) -> bool {
    if start == 0 && text.member.is_some_and(is_authorization_name) {
        return true;
    }
    let bytes = text.text.as_bytes();
    let before = &bytes[..start];
    let starts = before.last().is_none_or(|byte| *byte == b'"');
    let ends = bytes.get(end).is_none_or(|byte| matches!(byte, b'"' | b'\\'));
    if starts && ends {
        return true;
    }
    let gap = before.iter().rev().take(MAX_GAP).take_while(|byte| is_gap(&[**byte])).count();
    let name = b"authorization";
    let before = &before[..start - gap];
    gap > 0 && before.len() >= name.len() && before[before.len() - name.len()..].eq_ignore_ascii_case(name)
}

fn is_authorization_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("proxy-authorization")
}
