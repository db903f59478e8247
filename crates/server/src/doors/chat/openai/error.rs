//! Errors in the form that OpenAI's clients read.

use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use toolyard_agent::model::ModelError;
use toolyard_protocol::chat::{
    openai::{OpenAiError, OpenAiErrorBody},
    sampling::SamplingOption,
};

use crate::{
    doors::chat::{
        begin::{BadTool, NotBegun},
        short, status_of, with_retry, with_wait,
    },
    error::{self, Failure, json},
};

/// Which of OpenAI's APIs a request came through: they spell some parameters differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Completions,
    Responses,
}

impl Api {
    const fn param(self, option: SamplingOption) -> &'static str {
        match (option, self) {
            (SamplingOption::TopP, _) => "top_p",
            (SamplingOption::Stop, _) => "stop",
            (SamplingOption::Seed, _) => "seed",
            (SamplingOption::FrequencyPenalty, _) => "frequency_penalty",
            (SamplingOption::PresencePenalty, _) => "presence_penalty",
            (SamplingOption::ReasoningEffort, Self::Completions) => "reasoning_effort",
            (SamplingOption::ReasoningEffort, Self::Responses) => "reasoning.effort",
            (SamplingOption::JsonObject | SamplingOption::JsonSchema, Self::Completions) => "response_format",
            (SamplingOption::JsonObject | SamplingOption::JsonSchema, Self::Responses) => "text.format",
        }
    }

    /// Where a part of a tool is.
    const fn function(self) -> &'static str {
        match self {
            Self::Completions => ".function",
            Self::Responses => "",
        }
    }
}

/// Why there is no turn.
pub(super) fn not_begun(api: Api, why: NotBegun) -> Response {
    match why {
        NotBegun::Failure(failure) => refused(failure),
        NotBegun::Model(error) => model_failed(&error),
        NotBegun::Tool(tool) => bad_tool(api, tool),
        NotBegun::Limited(refusal) => {
            let (code, text, wait) = refusal.told();
            with_retry(failed(error::status_of(code), text, None), Some(wait))
        }
        NotBegun::Unsupported(unsupported) => {
            let param = api.param(unsupported.option);
            let text = format!("{param}: {}", unsupported.message());
            failed(StatusCode::BAD_REQUEST, text, Some(param.to_owned()))
        }
    }
}

pub(super) fn error_body(text: &str, status: StatusCode, param: Option<String>) -> OpenAiError {
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "authentication_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "server_error",
    };
    OpenAiError { error: OpenAiErrorBody { message: text.to_owned(), r#type: kind, param, code: None } }
}

pub(super) fn failed(status: StatusCode, text: String, param: Option<String>) -> Response {
    json(status, &error_body(&text, status, param))
}

pub(super) fn model_failed(error: &ModelError) -> Response {
    tracing::warn!(cause = error.cause, "{error}");
    with_wait(failed(status_of(error), error.text.clone(), None), error)
}

/// A tool of the caller that is not taken, named as it was sent.
fn bad_tool(api: Api, tool: BadTool) -> Response {
    let name = tool.tool.as_ref().map(|(_, name)| format!(" ({})", short(name))).unwrap_or_default();
    let function = if tool.within.is_empty() { "" } else { api.function() };
    let problem = tool.problem("tools", |index, _| format!("tools[{index}]{function}"));
    let text = format!("{}{name}: {}", problem.path, problem.message);
    failed(StatusCode::BAD_REQUEST, text, Some(problem.path))
}

/// A refusal of ours in the form that these clients read.
pub(super) fn refused(failure: Failure) -> Response {
    let (text, param) = match &failure {
        Failure::Api(error) => {
            (error.message.clone(), error.problems.first().map(|problem| problem.path.clone()))
        }
        Failure::Refused(refusal) => (refusal.to_string(), None),
    };
    let ours = failure.into_response();
    let mut response = failed(ours.status(), text, param);
    for name in [header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = ours.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}
