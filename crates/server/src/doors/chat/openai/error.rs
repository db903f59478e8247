//! Errors in OpenAI's format.

use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use toolyard_agent::model::ModelError;
use toolyard_protocol::chat::{
    openai::{OpenAiError, OpenAiErrorBody},
    sampling::SamplingOption,
};

use crate::{
    doors::chat::{
        begin::{InvalidClientTool, TurnStartError},
        model_error_status, truncate_name, with_model_retry_after, with_retry_after,
    },
    error::{self, RequestError, json_response},
};

/// The OpenAI API of a request. The two spell some parameters differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenAiApi {
    Completions,
    Responses,
}

impl OpenAiApi {
    const fn param_name(self, option: SamplingOption) -> &'static str {
        match (option, self) {
            (SamplingOption::ReasoningEffort, Self::Responses) => "reasoning.effort",
            (SamplingOption::JsonObject | SamplingOption::JsonSchema, Self::Responses) => "text.format",
            (option, _) => option.param_name(),
        }
    }

    /// Path suffix of the object that describes a tool.
    const fn tool_path_suffix(self) -> &'static str {
        match self {
            Self::Completions => ".function",
            Self::Responses => "",
        }
    }
}

/// The response if a turn could not start.
pub(super) fn start_error_response(api: OpenAiApi, why: TurnStartError) -> Response {
    match why {
        TurnStartError::Failure(failure) => failure_response(failure),
        TurnStartError::Model(error) => model_error_response(&error),
        TurnStartError::Tool(tool) => invalid_tool_response(api, tool),
        TurnStartError::Limited(refusal) => {
            let (code, text, wait) = refusal.to_error();
            with_retry_after(error_response(error::api_error_status(code), text, None), Some(wait))
        }
        TurnStartError::Unsupported(unsupported) => {
            let param = api.param_name(unsupported.option);
            let text = format!("{param}: {}", unsupported.error_message());
            error_response(StatusCode::BAD_REQUEST, text, Some(param.to_owned()))
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

pub(super) fn error_response(status: StatusCode, text: String, param: Option<String>) -> Response {
    json_response(status, &error_body(&text, status, param))
}

pub(super) fn model_error_response(error: &ModelError) -> Response {
    tracing::warn!(%error, cause = error.cause, "model request failed");
    with_model_retry_after(error_response(model_error_status(error), error.text.clone(), None), error)
}

/// The response for a rejected client tool, with the path as it was sent.
fn invalid_tool_response(api: OpenAiApi, tool: InvalidClientTool) -> Response {
    let name = tool.tool.as_ref().map(|(_, name)| format!(" ({})", truncate_name(name))).unwrap_or_default();
    let function = if tool.within.is_empty() { "" } else { api.tool_path_suffix() };
    let problem = tool.into_problem("tools", |index, _| format!("tools[{index}]{function}"));
    let text = format!("{}{name}: {}", problem.path, problem.message);
    error_response(StatusCode::BAD_REQUEST, text, Some(problem.path))
}

/// A request error in OpenAI's format.
pub(super) fn failure_response(failure: RequestError) -> Response {
    let (text, param) = match &failure {
        RequestError::Api(error) => {
            (error.message.clone(), error.problems.first().map(|problem| problem.path.clone()))
        }
        RequestError::Refused(refusal) => (refusal.to_string(), None),
    };
    let ours = failure.into_response();
    let mut response = error_response(ours.status(), text, param);
    for name in [header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = ours.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}
