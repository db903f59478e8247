//! The canonical form of a JSON document (RFC 8785), over which signatures and hashes are computed.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use toolyard_protocol::{
    Problem,
    plugin::{ContentHash, strict},
};

/// The canonical bytes of a text. Ambiguous JSON is rejected.
pub fn canonical_json(text: &str) -> Result<Vec<u8>, Problem> {
    canonical_json_value(&strict::parse_strict(text)?)
}

/// The canonical bytes of a value from `parse_strict`, or of one built from strings and small numbers.
pub(crate) fn canonical_json_value(value: &Value) -> Result<Vec<u8>, Problem> {
    serde_json_canonicalizer::to_vec(value)
        .map_err(|error| Problem::new("", format!("has no canonical form: {error}")))
}

/// SHA-256 in hex.
pub fn content_hash(bytes: &[u8]) -> ContentHash {
    ContentHash::from_digest(&Sha256::digest(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical_text(text: &str) -> String {
        String::from_utf8(canonical_json(text).unwrap()).unwrap()
    }

    /// The examples of RFC 8785: section 3.2.2 and 3.2.3.
    #[test]
    fn the_examples_of_the_rfc() {
        let text = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        assert_eq!(
            canonical_text(text),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
        let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
            "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
        assert_eq!(
            canonical_text(text),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
        );
    }

    /// The table of appendix B, as far as JSON can write the numbers and our integer limit allows them.
    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        for (bits, written) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let number = f64::from_bits(bits);
            assert_eq!(canonical_text(&format!("{number:e}")), written);
            assert_eq!(canonical_text(written), written);
        }
    }

    #[test]
    fn what_has_no_one_form_is_refused() {
        for text in [r#"{"a":1,"a":1}"#, r#""\ud800""#, "9007199254740993", "1e400", "", "{} {}"] {
            assert!(canonical_json(text).is_err(), "{text}");
        }
    }
}
