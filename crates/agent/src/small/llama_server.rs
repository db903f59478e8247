//! llama.cpp's server as a [`Scorer`].
//!
//! The server returns probabilities only for tokens that it writes, not for a prompt. So a continuation is scored by
//! making the server write it, with its tokens as a grammar. The probabilities are those before the grammar. A common
//! beginning of several continuations, as in the tool names of one app, is scored once.

use std::{fmt, iter::once};

use async_trait::async_trait;
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_protocol::secret::SecretText;
use url::Url;

use super::{MAX_CONTINUATION, Scorer, ScorerCompletion};
use crate::model::{ModelError, ModelErrorKind, ModelUsage, RequestPolicy, errors::ModelTarget, web};

/// Longest response, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;
/// The score of an impossible token.
const NEVER: f64 = -100.0;
/// Where the model begins another turn.
const STOPS: [&str; 2] = ["<|im_end|>", "<|im_start|>"];

/// A model behind llama.cpp's server.
pub struct LlamaServer {
    client: Client,
    target: ModelTarget,
    bounds: RequestPolicy,
}

impl fmt::Debug for LlamaServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlamaServer").field("target", &self.target).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct TokenizeReply {
    tokens: Vec<u32>,
}

#[derive(Deserialize)]
struct CompletionReply {
    content: String,
    stop_type: String,
    #[serde(default)]
    tokens_evaluated: u64,
    #[serde(default)]
    tokens_predicted: u64,
    #[serde(default)]
    completion_probabilities: Vec<TokenProbability>,
}

#[derive(Deserialize)]
struct TokenProbability {
    logprob: Option<f64>,
}

impl LlamaServer {
    /// A server at this URL, with or without `/v1` at its end. `id` is the model's name in errors.
    pub fn new(
        id: &str,
        url: &Url,
        key: Option<SecretText>,
        bounds: RequestPolicy,
    ) -> Result<Self, ModelError> {
        let mut url = url.clone();
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/", path.strip_suffix("/v1").unwrap_or(path));
        url.set_path(&path);
        url.set_query(None);
        url.set_fragment(None);
        let key_from = format!("the configuration of {id}");
        let target = ModelTarget { id: id.into(), url, key, key_from };
        Ok(Self { client: web::http_client(&bounds)?, target, bounds })
    }

    async fn post_json<T: for<'a> Deserialize<'a>>(&self, path: &str, body: &Value) -> Result<T, ModelError> {
        let url = self.target.url.join(path).map_err(|error| self.target.broken_error(&error.to_string()))?;
        let mut request = self.client.post(url).json(body);
        if let Some(key) = &self.target.key {
            request = request.bearer_auth(key.expose());
        }
        let exchange = async {
            let response = request.send().await.map_err(|error| self.target.transport_error(&error))?;
            let (status, headers) = (response.status(), response.headers().clone());
            let text = web::read_text(response, MAX_ANSWER)
                .await
                .map_err(|error| self.target.transport_error(&error))?;
            if !status.is_success() {
                return Err(self.target.status_error(status, &headers, &text.unwrap_or_default()));
            }
            text.ok_or_else(|| self.target.broken_error("a response that is too long"))
        };
        let text = tokio::time::timeout(self.bounds.first_byte, exchange)
            .await
            .map_err(|_| self.target.timeout_error(self.bounds.first_byte))??;
        serde_json::from_str(&text).map_err(|error| {
            let text =
                format!("{} does not respond as llama.cpp's server does; check its URL.", self.target.id);
            self.target.new_error(ModelErrorKind::Broken, text, Some(&error.to_string()))
        })
    }

    async fn tokenize_text(&self, continuation: &str) -> Result<Vec<u32>, ModelError> {
        let body = json!({ "content": continuation, "add_special": false, "parse_special": false });
        let TokenizeReply { mut tokens } = self.post_json("tokenize", &body).await?;
        tokens.truncate(MAX_CONTINUATION);
        Ok(tokens)
    }

    /// The probability of these tokens after the prompt and the tokens before them.
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
        let written: CompletionReply = self.post_json("completion", &body).await?;
        let probabilities = written.completion_probabilities;
        if probabilities.len() < tokens.len() {
            return Err(self.target.broken_error("fewer probabilities than tokens"));
        }
        Ok(probabilities.iter().take(tokens.len()).map(|token| token.logprob.unwrap_or(NEVER)).sum())
    }
}

/// Tokens from `from` to `to` that some texts share, after a shared beginning.
#[derive(Debug, PartialEq, Eq)]
struct SharedPiece {
    texts: Vec<usize>,
    from: usize,
    to: usize,
}

/// Splits texts into pieces that are scored once each. Continuations of a piece follow it directly, while the server
/// has it cached.
fn shared_pieces(texts: &[Vec<u32>]) -> Vec<SharedPiece> {
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
        pieces.push(SharedPiece { texts: of, from, to });
    }
    pieces
}

#[async_trait]
impl Scorer for LlamaServer {
    async fn score(&self, prompt: &str, continuations: &[String]) -> Result<Vec<f64>, ModelError> {
        let mut tokens = Vec::with_capacity(continuations.len());
        for continuation in continuations {
            tokens.push(self.tokenize_text(continuation).await?);
        }
        let mut scores = vec![0.0; tokens.len()];
        // One after the other: the prompt stays cached, and parallel requests would only wait for each other.
        for piece in shared_pieces(&tokens) {
            let Some(all) = piece.texts.first().and_then(|one| tokens.get(*one)) else { continue };
            let score = self.score_tokens(prompt, &all[..piece.from], &all[piece.from..piece.to]).await?;
            scores
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| piece.texts.contains(at))
                .for_each(|(_, sum)| *sum += score);
        }
        Ok(scores)
    }

    async fn complete(
        &self,
        prompt: &str,
        grammar: Option<&str>,
        max_tokens: u32,
    ) -> Result<ScorerCompletion, ModelError> {
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
        let written: CompletionReply = self.post_json("completion", &body).await?;
        Ok(ScorerCompletion {
            text: written.content,
            whole: written.stop_type != "limit",
            usage: ModelUsage { input: written.tokens_evaluated, output: written.tokens_predicted },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_texts_have_in_common_is_one_piece() {
        let texts = [vec![1, 2, 3, 4], vec![7], vec![1, 2, 3, 5, 6], vec![], vec![1, 2, 9], vec![7]];
        let piece = |of: &[usize], from, to| SharedPiece { texts: of.to_vec(), from, to };
        let expected = [
            piece(&[0, 2, 4], 0, 2),
            piece(&[0, 2], 2, 3),
            piece(&[0], 3, 4),
            piece(&[2], 3, 5),
            piece(&[4], 2, 3),
            piece(&[1, 5], 0, 1),
        ];
        assert_eq!(shared_pieces(&texts), expected);
        assert_eq!(shared_pieces(&[]), []);
        assert_eq!(shared_pieces(&[vec![], vec![]]), []);
    }

    #[test]
    fn each_token_is_in_one_piece_of_each_text() {
        let texts: Vec<Vec<u32>> =
            (0..40u32).map(|n| (0..n % 7).map(|place| (n * 31 + place * place) % 3).collect()).collect();
        for (at, text) in texts.iter().enumerate() {
            let mut counted = vec![0; text.len()];
            for piece in shared_pieces(&texts).iter().filter(|piece| piece.texts.contains(&at)) {
                counted[piece.from..piece.to].iter_mut().for_each(|count| *count += 1);
            }
            assert!(counted.iter().all(|count| *count == 1), "{at}: {counted:?}");
        }
    }
}
