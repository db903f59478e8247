//! Checks the result of a run. The engine wrote it as JSON, but the code can influence that, so nothing is trusted.

use serde_json::value::RawValue;

use crate::error::SandboxError;
use crate::limits::SandboxLimits;

/// Checks that the result is within its limits.
pub(crate) fn check_output(text: String, limits: &SandboxLimits) -> Result<Box<RawValue>, SandboxError> {
    if text.len() > limits.output_bytes {
        return Err(SandboxError::OutputTooLarge { limit: limits.output_bytes });
    }
    if nesting_depth(&text) > limits.output_depth {
        return Err(SandboxError::OutputTooDeep { limit: limits.output_depth });
    }
    let text = replace_lone_surrogates(text);
    RawValue::from_string(text).map_err(|error| SandboxError::NotJson { text: error.to_string() })
}

/// Nesting depth of arrays and objects.
fn nesting_depth(text: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in text.bytes() {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'[' | b'{' => {
                now += 1;
                most = most.max(now);
            }
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// JavaScript strings may contain half of a surrogate pair, which JSON writes as `\ud83d`. Most parsers refuse such a
/// text, so the half is replaced by the replacement character. Whole pairs are never escaped.
fn replace_lone_surrogates(text: String) -> String {
    if !text.contains("\\ud") {
        return text;
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        clean.push_str(before);
        let is_half = escape
            .as_bytes()
            .get(1..4)
            .is_some_and(|head| head.starts_with(b"ud") && matches!(head[2], b'8'..=b'9' | b'a'..=b'f'));
        let length = if is_half { 6 } else { 2 };
        let Some((escape, after)) = escape.split_at_checked(length) else { break };
        clean.push_str(if is_half { "\u{fffd}" } else { escape });
        rest = after;
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_texts() {
        for (text, expected) in
            [("1", 0), ("[]", 1), (r#"{"a":[1,{"b":"[[[["}]}"#, 3), (r#"["\"[[\\",[]]"#, 2), ("[[],[[]]]", 3)]
        {
            assert_eq!(nesting_depth(text), expected, "{text}");
        }
    }

    #[test]
    fn half_a_pair_is_replaced_and_nothing_else() {
        for (text, expected) in [
            (r#""\ud83d""#, "\"\u{fffd}\""),
            (r#""a\udffff\n""#, "\"a\u{fffd}f\\n\""),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d\u0007""#, "\"\\\\\u{fffd}\\u0007\""),
            (r#""\ud7ff""#, r#""\ud7ff""#),
        ] {
            assert_eq!(replace_lone_surrogates(text.to_owned()), expected, "{text}");
        }
    }

    #[test]
    fn bounds_hold() {
        let limits = SandboxLimits { output_bytes: 10, output_depth: 2, ..SandboxLimits::default() };
        assert_eq!(
            check_output("[[1234567]]".into(), &limits).unwrap_err(),
            SandboxError::OutputTooLarge { limit: 10 }
        );
        assert_eq!(
            check_output("[[[1]]]".into(), &limits).unwrap_err(),
            SandboxError::OutputTooDeep { limit: 2 }
        );
        assert_eq!(check_output("[[123456]]".into(), &limits).unwrap().get(), "[[123456]]");
        assert!(matches!(check_output("nope".into(), &limits), Err(SandboxError::NotJson { .. })));
    }
}
