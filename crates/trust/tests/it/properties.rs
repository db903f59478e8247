//! The checks of the fuzz targets, on stable and with better structured inputs.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolyard_trust::check;

use crate::fixture::{OLDER, plugin};

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-1_000_000_i64..1_000_000).prop_map(Value::from),
        (-30_i32..30, any::<i32>()).prop_map(|(exponent, n)| json!(f64::from(n) * 10_f64.powi(exponent))),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-c\u{e000}-\u{10ffff}\u{0}-\u{20}\"\\\\/]{0,4}", Just("é".to_owned())]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text().prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Code from pieces that are hard to tell apart.
fn code() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "/",
        "*",
        "//",
        "/*",
        "*/",
        "`",
        "${",
        "}",
        "{",
        "'",
        "\"",
        "\\",
        "\n",
        "(",
        ")",
        "[",
        "]",
        "if",
        "return ",
        "eval",
        "\\u0065",
        "+",
        "-",
        "-->",
        "<!--",
        "fetch(",
        "'https://a.b'",
        "é",
        "\u{2028}",
        "1e+5",
        ".",
        " ",
    ]);
    prop::collection::vec(piece, 1..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn canonical_bytes_are_a_fixed_point(value in json()) {
        check::check_canonical_form(&value.to_string()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_text_is_refused_or_canonical(text in any::<String>()) {
        check::check_canonical_form(&text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_bytes_are_no_manifest_or_a_good_one(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check::check_manifest(&bytes).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_manifest_is_the_same_in_its_canonical_form(member in "[a-z]{1,9}|type|alg|keyId", value in json(), code in code()) {
        let mut manifest = plugin();
        manifest["tools"][0]["executorCode"] = code.into();
        manifest[member] = value;
        check::check_manifest(manifest.to_string().as_bytes()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_manifest_with_a_few_bytes_changed(places in prop::collection::vec((0..OLDER.len(), any::<u8>()), 0..4)) {
        let mut bytes = OLDER.as_bytes().to_vec();
        for (place, byte) in places {
            bytes[place] = byte;
        }
        check::check_manifest(&bytes).map_err(TestCaseError::fail)?;
    }
}
