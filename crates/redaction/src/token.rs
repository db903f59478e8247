//! Formats of tokens that have several parts or a mark inside.

use std::ops::Range;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::alphabet::{Alphabet, ScannedText};

/// Longest header of a JWT that is decoded; those with a chain of certificates are the long ones.
const MAX_JWT_HEADER: usize = 16 * 1024;
/// Shortest signature or tag of a JWT. An unsigned one proves nothing, so it is no secret.
const MIN_JWT_SIGNATURE: usize = 16;

/// `sk-` is also a common start of names: it needs OpenAI's mark in the middle, or exactly the length of older keys.
pub(crate) fn find_openai_key(text: &mut ScannedText<'_>, start: usize, body: usize) -> Option<Range<usize>> {
    let end = text.run_end(Alphabet::UrlSafe, body);
    let key = text.text.get(body..end)?;
    if !text.is_key_start(start) || key.len() > 250 {
        return None;
    }
    let is_marked = key.len() >= 40 && key.contains("T3BlbkFJ");
    let is_plain = key.len() == 48 && key.bytes().all(|byte| Alphabet::Alnum.contains(byte));
    let is_hex = key.len() == 32 && key.bytes().all(|byte| Alphabet::Hex.contains(byte));
    (is_marked || is_plain || is_hex).then_some(start..end)
}

/// Slack's tokens differ in their parts, but all start with a number.
pub(crate) fn find_slack_token(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let end = text.run_end(Alphabet::AlnumHyphen, body);
    let is_token = text.byte(body)?.is_ascii_digit() && (16..=400).contains(&(end - body));
    (is_token && text.is_key_start(start)).then_some(start..end)
}

/// An installation token of the newer form: `ghs_`, the number of the app, and a JWT.
pub(crate) fn find_github_app_token(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let number = text.run_end(Alphabet::Digits, body);
    let jwt = number + 1;
    let is_token = number > body && text.byte(number) == Some(b'_') && text.is_key_start(start);
    let is_jwt = is_token && text.text.get(jwt..)?.starts_with("eyJ");
    is_jwt.then(|| jwt_end(text, jwt)).flatten().map(|end| start..end)
}

/// GitLab's tokens: 20 characters, or the longer routable form that ends in a dot and nine characters.
pub(crate) fn find_gitlab_token(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let end = text.run_end(Alphabet::UrlSafe, body);
    if !(20..=300).contains(&(end - body)) || !text.is_key_start(start) {
        return None;
    }
    let tail = end + 1;
    if text.byte(end) == Some(b'.') && end - body >= 27 && text.run_end(Alphabet::Alnum, tail) == tail + 9 {
        return Some(start..tail + 9);
    }
    (end - body <= 80).then_some(start..end)
}

/// `SG.`, 22 characters, a dot, 43 characters.
pub(crate) fn find_sendgrid_key(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let first = text.run_end(Alphabet::UrlSafe, body);
    let is_key = first == body + 22
        && text.byte(first) == Some(b'.')
        && text.run_end(Alphabet::UrlSafe, first + 1) == first + 44
        && text.is_key_start(start);
    is_key.then_some(start..first + 44)
}

/// `ntn_`, eleven digits, 35 characters.
pub(crate) fn find_notion_token(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let end = text.run_end(Alphabet::Alnum, body);
    let digits = text.text.as_bytes().get(body..body + 11)?;
    let is_token = end == body + 46 && digits.iter().all(u8::is_ascii_digit) && text.is_key_start(start);
    is_token.then_some(start..end)
}

/// `PMAK-`, 24 hexadecimal digits, a hyphen, 34 of them.
pub(crate) fn find_postman_key(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    find_two_hex_parts(text, start, body, (24, b'-', 34))
}

/// `lsv2_pt_`, 32 hexadecimal digits, an underscore, ten of them.
pub(crate) fn find_langsmith_key(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    find_two_hex_parts(text, start, body, (32, b'_', 10))
}

fn find_two_hex_parts(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
    (first, separator, second): (usize, u8, usize),
) -> Option<Range<usize>> {
    let middle = body + first;
    let end = middle + 1 + second;
    let is_key = text.run_end(Alphabet::AnyHex, body) == middle
        && text.byte(middle) == Some(separator)
        && text.run_end(Alphabet::AnyHex, middle + 1) == end
        && text.is_key_start(start)
        && text.is_key_end(end);
    is_key.then_some(start..end)
}

/// `xkeysib-`, 64 hexadecimal digits, a hyphen, 16 characters.
pub(crate) fn find_brevo_key(text: &mut ScannedText<'_>, start: usize, body: usize) -> Option<Range<usize>> {
    let middle = text.run_end(Alphabet::Hex, body);
    let is_key = middle == body + 64
        && text.byte(middle) == Some(b'-')
        && text.run_end(Alphabet::Alnum, middle + 1) == middle + 17
        && text.is_key_start(start);
    is_key.then_some(start..middle + 17)
}

/// The bot's number, a colon, 35 characters that start with `AA`. In URLs, `bot` is written before the number.
pub(crate) fn find_telegram_token(
    text: &mut ScannedText<'_>,
    colon: usize,
    body: usize,
) -> Option<Range<usize>> {
    let end = text.run_end(Alphabet::UrlSafe, body);
    let before = &text.text.as_bytes()[..colon];
    let digits = before.iter().rev().take(11).take_while(|byte| byte.is_ascii_digit()).count();
    let start = colon - digits;
    let starts = text.is_key_start(start) || before[..start].ends_with(b"bot");
    (end == body + 33 && (8..=10).contains(&digits) && starts).then_some(start..end)
}

/// Three characters, a digit, `Q~`, 31 to 34 characters.
pub(crate) fn find_azure_client_secret(
    text: &mut ScannedText<'_>,
    mark: usize,
    body: usize,
) -> Option<Range<usize>> {
    let allowed = |byte: &u8| Alphabet::UrlSafe.contains(*byte) || matches!(byte, b'~' | b'.');
    let bytes = text.text.as_bytes();
    let start = mark.checked_sub(4)?;
    if !bytes[mark - 1].is_ascii_digit() {
        return None;
    }
    let length = bytes[body..].iter().take(35).take_while(|byte| allowed(byte)).count();
    let is_secret =
        bytes[start..mark].iter().all(allowed) && (31..=34).contains(&length) && text.is_key_start(start);
    is_secret.then_some(start..body + length)
}

/// A refresh token of Google. Its prefix also occurs in base64, so that what follows must not look like base64.
pub(crate) fn find_google_refresh_token(
    text: &mut ScannedText<'_>,
    start: usize,
    body: usize,
) -> Option<Range<usize>> {
    let end = text.run_end(Alphabet::UrlSafe, body);
    let is_apart = !matches!(text.byte(end), Some(b'+' | b'/' | b'='))
        && !matches!(start.checked_sub(1).and_then(|before| text.byte(before)), Some(b'+' | b'/'));
    ((60..=220).contains(&(end - body)) && is_apart && text.is_key_start(start)).then_some(start..end)
}

/// A signed or encrypted JWT: its first part is a JSON object that names an algorithm.
pub(crate) fn find_jwt(text: &mut ScannedText<'_>, start: usize, _: usize) -> Option<Range<usize>> {
    let before = start.checked_sub(1).and_then(|before| text.byte(before));
    // Otherwise a run of base64 could start again and again inside of itself.
    if !text.is_key_start(start) || matches!(before, Some(b'-' | b'_')) {
        return None;
    }
    jwt_end(text, start).map(|end| start..end)
}

fn jwt_end(text: &mut ScannedText<'_>, start: usize) -> Option<usize> {
    let mut ends = [0; 5];
    let mut at = start;
    let mut count = 0;
    for end in &mut ends {
        *end = text.run_end(Alphabet::UrlSafe, at);
        count += 1;
        if text.byte(*end) != Some(b'.') {
            break;
        }
        at = *end + 1;
    }
    let length = |part: usize| ends[part].saturating_sub(ends[part - 1] + 1);
    let is_header = ends[0] - start <= MAX_JWT_HEADER && is_jwt_header(text.text.get(start..ends[0])?);
    // An encrypted token has five parts, of which the second may be empty.
    if count == 5 && length(2) > 0 && length(3) > 0 && length(4) >= MIN_JWT_SIGNATURE && is_header {
        return Some(ends[4]);
    }
    let is_signed = count >= 3 && length(1) > 0 && length(2) >= MIN_JWT_SIGNATURE;
    (is_signed && is_header).then_some(ends[2])
}

fn is_jwt_header(part: &str) -> bool {
    let Ok(header) = URL_SAFE_NO_PAD.decode(part) else { return false };
    let header: Result<serde_json::Map<_, _>, _> = serde_json::from_slice(&header);
    header.is_ok_and(|header| header.get("alg").is_some_and(serde_json::Value::is_string))
}
