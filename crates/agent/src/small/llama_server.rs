//! llama.cpp's server as a [`Scorer`].
//!
//! It does not tell how likely the words of a prompt are, only those that it writes. So a continuation is scored by having
//! it written: its tokens as a grammar, and the probabilities are those before the grammar. What several of them have in
//! common at their beginning, as the names of one app's tools do, is written once.

use std::{fmt, iter::once};

use async_trait::async_trait;
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_protocol::secret::Secret;
use url::Url;

use super::{Completion, MAX_CONTINUATION, Scorer};
use crate::model::{Bounds, ModelError, ModelTrouble, Usage, trouble::Whom, web};

/// Longest answer in bytes.
const MAX_ANSWER: usize = 1024 * 1024;
/// What a token that cannot come at all counts.
const NEVER: f64 = -100.0;
/// Where the model begins another turn.
const STOPS: [&str; 2] = ["<|im_end|>", "<|im_start|>"];

/// A model behind llama.cpp's server.
pub struct LlamaServer {
    client: Client,
    whom: Whom,
    bounds: Bounds,
}

impl fmt::Debug for LlamaServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlamaServer").field("whom", &self.whom).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Tokens {
    tokens: Vec<u32>,
}

#[derive(Deserialize)]
struct Written {
    content: String,
    stop_type: String,
    #[serde(default)]
    tokens_evaluated: u64,
    #[serde(default)]
    tokens_predicted: u64,
    #[serde(default)]
    completion_probabilities: Vec<Token>,
}

#[derive(Deserialize)]
struct Token {
    logprob: Option<f64>,
}

impl LlamaServer {
    /// At that URL, with or without `/v1` at its end. `id` is what the model is called in errors.
    pub fn new(id: &str, url: &Url, key: Option<Secret>, bounds: Bounds) -> Result<Self, ModelError> {
        let mut url = url.clone();
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/", path.strip_suffix("/v1").unwrap_or(path));
        url.set_path(&path);
        url.set_query(None);
        url.set_fragment(None);
        let key_from = format!("the configuration of {id}");
        let whom = Whom { id: id.into(), url, key, key_from };
        Ok(Self { client: web::client(&bounds)?, whom, bounds })
    }

    async fn post<T: for<'a> Deserialize<'a>>(&self, path: &str, body: &Value) -> Result<T, ModelError> {
        let url = self.whom.url.join(path).map_err(|error| self.whom.broken(&error.to_string()))?;
        let mut request = self.client.post(url).json(body);
        if let Some(key) = &self.whom.key {
            request = request.bearer_auth(key.expose());
        }
        let exchange = async {
            let response = request.send().await.map_err(|error| self.whom.transport(&error))?;
            let (status, headers) = (response.status(), response.headers().clone());
            let text = web::text(response, MAX_ANSWER).await.map_err(|error| self.whom.transport(&error))?;
            if !status.is_success() {
                return Err(self.whom.status(status, &headers, &text.unwrap_or_default()));
            }
            text.ok_or_else(|| self.whom.broken("an answer that is too long"))
        };
        let text = tokio::time::timeout(self.bounds.first_byte, exchange)
            .await
            .map_err(|_| self.whom.late(self.bounds.first_byte))??;
        serde_json::from_str(&text).map_err(|error| {
            let text = format!("{} does not speak as llama.cpp's server does; check its URL.", self.whom.id);
            self.whom.error(ModelTrouble::Broken, text, Some(&error.to_string()))
        })
    }

    async fn tokens(&self, continuation: &str) -> Result<Vec<u32>, ModelError> {
        let asked = json!({ "content": continuation, "add_special": false, "parse_special": false });
        let Tokens { mut tokens } = self.post("tokenize", &asked).await?;
        tokens.truncate(MAX_CONTINUATION);
        Ok(tokens)
    }

    /// How likely these tokens are after the prompt and those before them.
    async fn score_tokens(&self, prompt: &str, before: &[u32], tokens: &[u32]) -> Result<f64, ModelError> {
        let rule: Vec<_> = tokens.iter().map(|token| format!("<[{token}]>")).collect();
        let prompt: Vec<Value> = once(json!(prompt)).chain(before.iter().map(|token| json!(token))).collect();
        let body = json!({
            "prompt": prompt,
            "n_predict": tokens.len(),
            "grammar": format!("root ::= {}", rule.join(" ")),
            "n_probs": 1,
            "temperature": 0.0,
            "cache_prompt": true,
        });
        let written: Written = self.post("completion", &body).await?;
        let probabilities = written.completion_probabilities;
        if probabilities.len() < tokens.len() {
            return Err(self.whom.broken("fewer probabilities than tokens"));
        }
        Ok(probabilities.iter().take(tokens.len()).map(|token| token.logprob.unwrap_or(NEVER)).sum())
    }
}

/// Tokens that some texts have in common: those from `from` to `to`, after ones that they have in common, too.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    of: Vec<usize>,
    from: usize,
    to: usize,
}

/// Cuts texts into pieces that have to be scored once. What lies behind a piece follows it, while the model still has it.
fn pieces(texts: &[Vec<u32>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut open = vec![((0..texts.len()).collect::<Vec<_>>(), 0)];
    while let Some((members, from)) = open.pop() {
        let mut left: Vec<usize> = members.into_iter().filter(|one| texts[*one].len() > from).collect();
        let Some(first) = left.first().copied() else { continue };
        let of: Vec<usize> = left.extract_if(.., |one| texts[*one][from] == texts[first][from]).collect();
        let alike = |to: &usize| of.iter().all(|one| texts[*one].get(*to) == texts[first].get(*to));
        let to = (from + 1..texts[first].len()).find(|to| !alike(to)).unwrap_or(texts[first].len());
        open.push((left, from));
        open.push((of.clone(), to));
        pieces.push(Piece { of, from, to });
    }
    pieces
}

#[async_trait]
impl Scorer for LlamaServer {
    async fn score(&self, prompt: &str, continuations: &[String]) -> Result<Vec<f64>, ModelError> {
        let mut tokens = Vec::with_capacity(continuations.len());
        for continuation in continuations {
            tokens.push(self.tokens(continuation).await?);
        }
        let mut scores = vec![0.0; tokens.len()];
        // One after the other: the prompt stays read, and side by side they would only wait for each other.
        for piece in pieces(&tokens) {
            let Some(all) = piece.of.first().and_then(|one| tokens.get(*one)) else { continue };
            let score = self.score_tokens(prompt, &all[..piece.from], &all[piece.from..piece.to]).await?;
            scores
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| piece.of.contains(at))
                .for_each(|(_, sum)| *sum += score);
        }
        Ok(scores)
    }

    async fn complete(
        &self,
        prompt: &str,
        grammar: Option<&str>,
        max_tokens: u32,
    ) -> Result<Completion, ModelError> {
        let mut body = json!({
            "prompt": prompt,
            "n_predict": max_tokens,
            "temperature": 0.0,
            "cache_prompt": true,
            "stop": STOPS,
        });
        if let Some(grammar) = grammar {
            body["grammar"] = json!(grammar);
        }
        let written: Written = self.post("completion", &body).await?;
        Ok(Completion {
            text: written.content,
            whole: written.stop_type != "limit",
            usage: Usage { input: written.tokens_evaluated, output: written.tokens_predicted },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_texts_have_in_common_is_one_piece() {
        let texts = [vec![1, 2, 3, 4], vec![7], vec![1, 2, 3, 5, 6], vec![], vec![1, 2, 9], vec![7]];
        let piece = |of: &[usize], from, to| Piece { of: of.to_vec(), from, to };
        let expected = [
            piece(&[0, 2, 4], 0, 2),
            piece(&[0, 2], 2, 3),
            piece(&[0], 3, 4),
            piece(&[2], 3, 5),
            piece(&[4], 2, 3),
            piece(&[1, 5], 0, 1),
        ];
        assert_eq!(pieces(&texts), expected);
        assert_eq!(pieces(&[]), []);
        assert_eq!(pieces(&[vec![], vec![]]), []);
    }

    #[test]
    fn each_token_is_in_one_piece_of_each_text() {
        let texts: Vec<Vec<u32>> =
            (0..40u32).map(|n| (0..n % 7).map(|place| (n * 31 + place * place) % 3).collect()).collect();
        for (at, text) in texts.iter().enumerate() {
            let mut counted = vec![0; text.len()];
            for piece in pieces(&texts).iter().filter(|piece| piece.of.contains(&at)) {
                counted[piece.from..piece.to].iter_mut().for_each(|count| *count += 1);
            }
            assert!(counted.iter().all(|count| *count == 1), "{at}: {counted:?}");
        }
    }
}
