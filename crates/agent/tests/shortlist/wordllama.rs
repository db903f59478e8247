//! Our reader of word vectors against the original: tokens by `tokenizers`, vectors by `wordllama`.

use serde::Deserialize;

use crate::vectors;

#[derive(Deserialize)]
#[serde(untagged)]
enum Case {
    Word { word: String, tokens: Vec<u32> },
    Text { text: String, start: Vec<f32> },
}

#[test]
fn tokens_and_vectors_are_those_of_the_original() {
    let Some(vectors) = vectors() else { return };
    let cases = include_str!("wordllama.jsonl").lines().map(|line| serde_json::from_str(line).unwrap());
    let (mut words, mut texts) = (0, 0);
    for case in cases {
        match case {
            Case::Word { word, tokens } => {
                assert_eq!(vectors.word_tokens(&word), tokens, "{word:?}");
                words += 1;
            }
            Case::Text { text, start } => {
                let ours = vectors.embed(text.split(' '));
                for (ours, theirs) in ours.iter().zip(&start) {
                    assert!((ours - theirs).abs() < 1e-4, "{text}: {ours} is not {theirs}");
                }
                texts += 1;
            }
        }
    }
    assert!(words > 400 && texts > 5, "{words} {texts}");
}
