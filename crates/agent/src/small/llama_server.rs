//! llama.cpp's server as a [`Scorer`].
//!
//! It does not tell how likely the words of a prompt are, only those that it writes. So a continuation is scored by having
//! it written: its tokens as a grammar, and the probabilities are those before the grammar.

use std::fmt;

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

    async fn score_one(&self, prompt: &str, continuation: &str) -> Result<f64, ModelError> {
        let asked = json!({ "content": continuation, "add_special": false, "parse_special": false });
        let Tokens { mut tokens } = self.post("tokenize", &asked).await?;
        tokens.truncate(MAX_CONTINUATION);
        if tokens.is_empty() {
            return Ok(0.0);
        }
        let rule: Vec<_> = tokens.iter().map(|token| format!("<[{token}]>")).collect();
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

#[async_trait]
impl Scorer for LlamaServer {
    async fn score(&self, prompt: &str, continuations: &[String]) -> Result<Vec<f64>, ModelError> {
        let mut scores = Vec::with_capacity(continuations.len());
        // One after the other: the prompt stays read, and side by side they would only wait for each other.
        for continuation in continuations {
            scores.push(self.score_one(prompt, continuation).await?);
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
