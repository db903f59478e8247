//! Ten megabytes in which nothing is a secret: lock files with checksums, ids, hashes, images.

use std::{fmt::Write as _, path::Path};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use toolyard_redaction::{Redactor, find_secrets};

/// Bytes that look random and are always the same.
struct NoiseBytes(u64);

impl NoiseBytes {
    fn next_bytes(&mut self, count: usize) -> Vec<u8> {
        let mut next = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 24) as u8
        };
        (0..count).map(|_| next()).collect()
    }

    fn next_hex(&mut self, count: usize) -> String {
        self.next_bytes(count).iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
    }
}

fn made_up() -> String {
    let mut noise = NoiseBytes(0x9e37_79b9_7f4a_7c15);
    let mut json = String::from("[");
    for _ in 0..8_000 {
        let id = noise.next_hex(16);
        let (commit, sum) = (noise.next_hex(20), STANDARD.encode(noise.next_bytes(64)));
        let cursor = URL_SAFE_NO_PAD.encode(noise.next_bytes(48));
        write!(
            json,
            r#"{{"id":"{}-{}-{}","commit":"{commit}","integrity":"sha512-{sum}","next":"https://example.com/?c={cursor}"}},"#,
            &id[..8],
            &id[8..12],
            &id[12..]
        )
        .unwrap();
    }
    for _ in 0..60 {
        write!(json, r#""data:image/png;base64,{}","#, STANDARD.encode(noise.next_bytes(90_000))).unwrap();
    }
    json.push_str("0]");
    json
}

#[test]
fn ten_megabytes_without_secrets_stay_as_they_are() {
    let mut texts = vec![made_up()];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in
        ["web", "web/client", "web/console", "tests/mcp-clients", "tests/chat-clients", "tests/mentra-sdk"]
    {
        texts.push(std::fs::read_to_string(root.join(folder).join("package-lock.json")).unwrap());
    }
    assert!(texts.iter().map(String::len).sum::<usize>() >= 10_000_000);
    let mut redactor = Redactor::new([1; 32]);
    for text in &texts {
        assert_eq!(find_secrets(text), []);
        assert_eq!(redactor.redact_json("com.example.files", text).count, 0);
    }
}
