//! Converts database values to JSON, and JSON parameters to database values.

use rusqlite::types::{Value as Sql, ValueRef};
use serde_json::{Number, Value};

/// Bytes of a blob that are shown.
const SHOWN_BLOB_BYTES: usize = 32;

/// A value as a model reads it. Long texts are cut, blobs are summarized.
pub(super) fn to_json(value: ValueRef<'_>, max_chars: usize) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::from(number),
        // JSON cannot represent infinity and NaN.
        ValueRef::Real(number) => {
            Number::from_f64(number).map_or_else(|| Value::from(number.to_string()), Value::Number)
        }
        ValueRef::Text(text) => Value::from(cut_text(&String::from_utf8_lossy(text), max_chars)),
        ValueRef::Blob(bytes) => {
            let shown: String =
                bytes.iter().take(SHOWN_BLOB_BYTES).map(|byte| format!("{byte:02x}")).collect();
            let more = if bytes.len() > SHOWN_BLOB_BYTES { "…" } else { "" };
            Value::from(format!("(blob of {} bytes: {shown}{more})", bytes.len()))
        }
    }
}

fn cut_text(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}… (cut: the first {max_chars} of {} characters)", &text[..end], text.chars().count())
        }
    }
}

/// A parameter as a database value. `None` for a list or an object.
pub(super) fn to_sql(value: &Value) -> Option<Sql> {
    match value {
        Value::Null => Some(Sql::Null),
        Value::Bool(truth) => Some(Sql::Integer((*truth).into())),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Some(Sql::Integer(whole)),
            None => number.as_f64().map(Sql::Real),
        },
        Value::String(text) => Some(Sql::Text(text.clone())),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_value_is_shown() {
        let shown = |value| to_json(value, 4);
        assert_eq!(shown(ValueRef::Null), json!(null));
        assert_eq!(shown(ValueRef::Integer(i64::MIN)), json!(i64::MIN));
        assert_eq!(shown(ValueRef::Real(0.5)), json!(0.5));
        assert_eq!(shown(ValueRef::Real(f64::INFINITY)), json!("inf"));
        assert_eq!(shown(ValueRef::Text("äöüß".as_bytes())), json!("äöüß"));
        assert_eq!(
            shown(ValueRef::Text("äöüßx".as_bytes())),
            json!("äöüß… (cut: the first 4 of 5 characters)")
        );
        assert_eq!(shown(ValueRef::Text(&[b'a', 0xff])), json!("a\u{fffd}"));
        assert_eq!(shown(ValueRef::Blob(&[0, 255])), json!("(blob of 2 bytes: 00ff)"));
        let long = shown(ValueRef::Blob(&[7; 33]));
        assert_eq!(long, json!(format!("(blob of 33 bytes: {}…)", "07".repeat(32))));
    }

    #[test]
    fn parameters_are_converted() {
        assert_eq!(to_sql(&json!(null)), Some(Sql::Null));
        assert_eq!(to_sql(&json!(true)), Some(Sql::Integer(1)));
        assert_eq!(to_sql(&json!(-3)), Some(Sql::Integer(-3)));
        assert_eq!(to_sql(&json!(u64::MAX)), Some(Sql::Real(u64::MAX as f64)));
        assert_eq!(to_sql(&json!("x")), Some(Sql::Text("x".to_owned())));
        assert_eq!((to_sql(&json!([])), to_sql(&json!({}))), (None, None));
    }
}
