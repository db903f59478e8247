//! Short texts for calls and their results.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::text;

/// How much of all arguments of a call and of each argument is shown, in characters.
const ARGUMENTS_CHARS: usize = 60;
const ARGUMENT_CHARS: usize = 40;
/// How much of a result is shown, in characters.
pub(super) const RESULT_CHARS: usize = 80;

/// `text: "milk", n: 2`
pub(super) fn format_arguments(input: &Value) -> String {
    let shown = match input {
        Value::Null => String::new(),
        Value::Object(fields) => format_fields(fields),
        other => other.to_string(),
    };
    text::truncate_text(&text::sanitize_line(&shown), ARGUMENTS_CHARS)
}

fn format_fields(fields: &Map<String, Value>) -> String {
    let member = |(name, value): (&String, &Value)| {
        format!("{name}: {}", text::truncate_text(&value.to_string(), ARGUMENT_CHARS))
    };
    fields.iter().map(member).collect::<Vec<_>>().join(", ")
}

pub(super) fn summarize_output(output: &Value) -> String {
    match output {
        Value::Null => "done".to_owned(),
        Value::String(text) if text.trim().is_empty() => "done".to_owned(),
        Value::String(text) => {
            let first = text::first_line(text, RESULT_CHARS);
            let more = text.trim().lines().count() > 1 && !first.ends_with('…');
            if more { format!("{first} …") } else { first }
        }
        Value::Object(fields) if !fields.is_empty() => {
            text::truncate_text(&text::sanitize_line(&format_fields(fields)), RESULT_CHARS)
        }
        other => text::truncate_text(&text::sanitize_line(&other.to_string()), RESULT_CHARS),
    }
}

pub(super) fn format_duration(time: Duration) -> String {
    match time.as_millis() {
        ms if ms < 1_000 => format!("{ms} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_summarized() {
        for (output, words) in [
            (json!(null), "done"),
            (json!(" "), "done"),
            (json!("Added.\nMore."), "Added. …"),
            (json!({ "result": "42", "cut": false }), "result: \"42\", cut: false"),
            (json!({}), "{}"),
            (json!([1, 2]), "[1,2]"),
        ] {
            assert_eq!(summarize_output(&output), words);
        }
    }

    #[test]
    fn durations_have_a_readable_unit() {
        assert_eq!(format_duration(Duration::from_micros(999_900)), "999 ms");
        assert_eq!(format_duration(Duration::from_millis(1_250)), "1.2 s");
    }
}
