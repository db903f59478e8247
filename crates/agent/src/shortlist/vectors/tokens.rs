//! The tokenizer of the table: byte-pair merges as in Llama 2 (SentencePiece, with bytes for unknown characters), read
//! from a Hugging Face `tokenizer.json`. Words are tokenized one by one, each with a space before it. No token spans
//! two words, so whole texts give the same tokens.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::VectorsError;

/// Most tokens, and most merges.
const MAX_ENTRIES: usize = 1_000_000;
/// Represents a space.
const SPACE: char = '▁';

#[derive(Deserialize)]
struct TokenizerFile {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    model: TokenizerModel,
}

#[derive(Deserialize)]
struct TokenizerModel {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    byte_fallback: bool,
    vocab: HashMap<String, u32>,
    merges: Vec<MergeEntry>,
}

/// Older files write a pair as one text.
#[derive(Deserialize)]
#[serde(untagged)]
enum MergeEntry {
    Text(String),
    Pair(String, String),
}

/// From words to tokens.
#[derive(Debug)]
pub(in super::super) struct WordTokenizer {
    characters: HashMap<char, u32>,
    bytes: [u32; 256],
    /// The token that a pair becomes, and its rank.
    merges: HashMap<u64, (u32, u32), BuildHasherDefault<PairHasher>>,
    highest: u32,
}

impl WordTokenizer {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, VectorsError> {
        let file: TokenizerFile = serde_json::from_slice(bytes)
            .map_err(|error| VectorsError::Tokenizer(format!("it is not a supported tokenizer: {error}")))?;
        Self::from_file(file).map_err(VectorsError::Tokenizer)
    }

    fn from_file(TokenizerFile { normalizer, pre_tokenizer, model }: TokenizerFile) -> Result<Self, String> {
        let spaces = json!({ "type": "Sequence", "normalizers": [
            { "type": "Prepend", "prepend": SPACE },
            { "type": "Replace", "pattern": { "String": " " }, "content": SPACE },
        ] });
        if model.kind != "BPE" || !model.byte_fallback || normalizer != spaces || !pre_tokenizer.is_null() {
            return Err("it must be BPE with byte_fallback, spaces as ▁, and no pre-tokenizer".to_owned());
        }
        if model.vocab.len() > MAX_ENTRIES || model.merges.len() > MAX_ENTRIES {
            return Err(format!("it has more than {MAX_ENTRIES} tokens or merges"));
        }
        let token =
            |text: &str| model.vocab.get(text).copied().ok_or_else(|| format!("it has no token {text:?}"));
        let mut bytes = [0; 256];
        for (byte, place) in bytes.iter_mut().enumerate() {
            *place = token(&format!("<0x{byte:02X}>"))?;
        }
        let mut merges = HashMap::with_capacity_and_hasher(model.merges.len(), Default::default());
        for (rank, merge) in (0..).zip(&model.merges) {
            let (left, right) = match merge {
                MergeEntry::Text(text) => text.split_once(' ').ok_or("it has a merge without a pair")?,
                MergeEntry::Pair(left, right) => (left.as_str(), right.as_str()),
            };
            let into = token(&format!("{left}{right}"))?;
            merges.insert(pair_key(token(left)?, token(right)?), (rank, into));
        }
        let single = |(text, &token): (&String, &u32)| {
            let mut characters = text.chars();
            characters.next().filter(|_| characters.next().is_none()).map(|character| (character, token))
        };
        let characters = model.vocab.iter().filter_map(single).collect();
        let highest = model.vocab.values().copied().max().unwrap_or_default();
        Ok(Self { characters, bytes, merges, highest })
    }

    /// The highest token.
    pub(super) fn highest_token(&self) -> u32 {
        self.highest
    }

    /// The tokens of a word. The time grows with the square of the length, so words must be short.
    pub(super) fn tokenize_word(&self, word: &str) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(word.len() + 1);
        for character in [SPACE].into_iter().chain(word.chars()) {
            match self.characters.get(&character) {
                Some(&token) => tokens.push(token),
                None => {
                    let mut buffer = [0; 4];
                    let encoded = character.encode_utf8(&mut buffer).bytes();
                    tokens.extend(encoded.map(|byte| self.bytes[usize::from(byte)]));
                }
            }
        }
        self.apply_merges(&mut tokens);
        tokens
    }

    /// Merges as long as possible: always the merge with the lowest rank, leftmost among equals.
    fn apply_merges(&self, tokens: &mut Vec<u32>) {
        let next = |left: u32, right: u32| self.merges.get(&pair_key(left, right)).copied();
        // The merge of each token with the next one, so that only the neighbours of a merge are looked up again.
        let mut ahead: Vec<Option<(u32, u32)>> = tokens.windows(2).map(|two| next(two[0], two[1])).collect();
        loop {
            let ranked =
                ahead.iter().enumerate().filter_map(|(at, merge)| merge.map(|(rank, into)| (rank, at, into)));
            let Some((_, at, into)) = ranked.min() else { return };
            tokens[at] = into;
            tokens.remove(at + 1);
            ahead.remove(at);
            if let Some(after) = tokens.get(at + 1) {
                ahead[at] = next(into, *after);
            }
            if let Some(before) = at.checked_sub(1) {
                ahead[before] = next(tokens[before], into);
            }
        }
    }
}

/// Two tokens as one key.
fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Hashes pairs. The table is fixed after loading, so its keys cannot be chosen to collide.
#[derive(Debug, Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn sample_tokenizer() -> Value {
        let mut vocab: serde_json::Map<_, _> =
            (0..256).map(|byte| (format!("<0x{byte:02X}>"), json!(byte))).collect();
        for (token, text) in (256..).zip(["▁", "a", "b", "ab", "▁ab", "ba"]) {
            vocab.insert(text.to_owned(), json!(token));
        }
        json!({
            "normalizer": { "type": "Sequence", "normalizers": [
                { "type": "Prepend", "prepend": "▁" },
                { "type": "Replace", "pattern": { "String": " " }, "content": "▁" },
            ] },
            "pre_tokenizer": null,
            "model": { "type": "BPE", "byte_fallback": true, "vocab": vocab,
                "merges": ["a b", ["▁", "ab"], "b a"] },
        })
    }

    pub(in super::super) fn tokenizer_file() -> Vec<u8> {
        serde_json::to_vec(&sample_tokenizer()).unwrap()
    }

    #[test]
    fn merges_go_by_rank_and_then_from_the_left() {
        let tokens = WordTokenizer::parse(&tokenizer_file()).unwrap();
        assert_eq!(tokens.tokenize_word("ab"), [260]);
        assert_eq!(tokens.tokenize_word("abab"), [260, 259]);
        assert_eq!(tokens.tokenize_word("bab"), [256, 258, 259], "`a b` comes before `b a`");
        assert_eq!(tokens.tokenize_word("bba"), [256, 258, 261]);
        assert_eq!(tokens.tokenize_word(""), [256]);
    }

    #[test]
    fn unknown_characters_become_bytes() {
        let tokens = WordTokenizer::parse(&tokenizer_file()).unwrap();
        assert_eq!(tokens.tokenize_word("é"), [256, 0xc3, 0xa9]);
        assert_eq!(tokens.highest_token(), 261);
    }

    #[test]
    fn other_kinds_of_tokenizers_are_refused() {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut sample = sample_tokenizer();
            change(&mut sample);
            WordTokenizer::parse(&serde_json::to_vec(&sample).unwrap()).unwrap_err().to_string()
        };
        for error in [
            with(&|file| file["model"]["type"] = json!("Unigram")),
            with(&|file| file["model"]["byte_fallback"] = json!(false)),
            with(&|file| file["normalizer"] = json!(null)),
            with(&|file| file["pre_tokenizer"] = json!({ "type": "Whitespace" })),
        ] {
            assert!(error.contains("must be BPE"), "{error}");
        }
        assert!(with(&|file| file["model"]["merges"] = json!(["ab"])).contains("without a pair"));
        assert!(with(&|file| file["model"]["merges"] = json!(["a a"])).contains("no token \"aa\""));
        assert!(with(&|file| file["model"]["vocab"] = json!({ "a": 1 })).contains("<0x00>"));
        assert!(with(&|file| file["model"] = json!([])).contains("not a supported tokenizer"));
        assert!(WordTokenizer::parse(b"").is_err());
    }
}
