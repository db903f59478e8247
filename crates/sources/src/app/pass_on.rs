//! Prompts and resources of apps: `POST {publicUrl}/prompt` and `POST {publicUrl}/resource`.
//!
//! An app need not run for them: they are answered without a session, so nobody is woken.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use toolyard_core::{
    CallContext, ToolError,
    catalog::AppHead,
    ports::{Passed, PassedMethod},
};
use toolyard_net::NetError;
use toolyard_protocol::{
    ErrorCode,
    call::AppReply,
    items::ask::{AskContext, NOT_FOUND, PromptAsk, ResourceAsk},
    raw::{RawFields, to_raw},
    session::iso_millis,
};

use super::{AppSource, reply, request};

/// What an app can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Prompt,
    Resource,
}

impl AppSource {
    /// Asks the app, and gives back what it said as it came.
    pub(super) async fn ask(
        &self,
        cx: &CallContext,
        app: &AppHead,
        passed: &Passed,
    ) -> Result<Box<RawValue>, ToolError> {
        let wanted = match passed.method {
            PassedMethod::GetPrompt => Wanted::Prompt,
            PassedMethod::ReadResource if app.has_resources => Wanted::Resource,
            PassedMethod::ReadResource
            | PassedMethod::Complete
            | PassedMethod::Subscribe
            | PassedMethod::Unsubscribe => return Err(not_offered(app, passed.method)),
        };
        let asked = Asked { app, name: &passed.name, wanted };
        let request = self.asking(cx, &asked, passed)?;
        let answered = self.parts.http.send(request).await.map_err(|error| asked.not_answered(error))?;
        let status = answered.status;
        let body = answered
            .bytes(self.parts.limits.result_bytes)
            .await
            .map_err(|error| asked.not_answered(error))?;
        asked.read(status, &body)
    }

    fn asking(
        &self,
        cx: &CallContext,
        asked: &Asked<'_>,
        passed: &Passed,
    ) -> Result<Request<Full<Bytes>>, ToolError> {
        let target = self.target(asked.app)?;
        let now = self.parts.clock.now();
        let context =
            AskContext { user_id: cx.user.clone(), timestamp: iso_millis(now), call_id: cx.id.clone() };
        let name = passed.name.clone();
        let (to, body) = match asked.wanted {
            Wanted::Prompt => {
                let arguments = arguments_of(passed)?;
                (&target.prompt, to_raw(&PromptAsk { name, arguments, context }))
            }
            Wanted::Resource => (&target.resource, to_raw(&ResourceAsk { uri: name, context })),
        };
        let body = body.get().as_bytes().to_vec();
        request::post(cx, &target, to, "application/json", now, body).map_err(|error| {
            let text = format!("{} cannot be asked for {}.", asked.app.package(), asked.what());
            ToolError::new(ErrorCode::InvalidRequest, text).because(error)
        })
    }
}

/// The arguments of a prompt: an object, empty where nothing was said.
fn arguments_of(passed: &Passed) -> Result<Box<RawValue>, ToolError> {
    let params: RawFields = serde_json::from_str(passed.params.get()).unwrap_or_default();
    match params.get("arguments") {
        Some(raw) if raw.get().starts_with('{') => Ok(raw.to_owned()),
        Some(raw) if raw.get() != "null" => {
            let text = "The arguments of a prompt must be an object with named members.";
            Err(ToolError::new(ErrorCode::InvalidRequest, text))
        }
        Some(_) | None => Ok(to_raw(&serde_json::Map::new())),
    }
}

fn not_offered(app: &AppHead, method: PassedMethod) -> ToolError {
    ToolError::new(ErrorCode::ToolNotFound, format!("{} does not offer {}.", app.package(), method.as_str()))
}

/// One request, for whoever reads its answer.
struct Asked<'a> {
    app: &'a AppHead,
    name: &'a str,
    wanted: Wanted,
}

impl Asked<'_> {
    fn what(&self) -> String {
        let name: String = self.name.chars().take(200).collect();
        match self.wanted {
            Wanted::Prompt => format!("the prompt {name}"),
            Wanted::Resource => format!("the resource {name}"),
        }
    }

    fn read(&self, status: StatusCode, body: &[u8]) -> Result<Box<RawValue>, ToolError> {
        // An app without these addresses says so as HTTP does; one that was built with our SDK in words as well.
        if status == StatusCode::NOT_FOUND {
            return Err(self.not_found());
        }
        let said = serde_json::from_slice::<AppReply<'_>>(body);
        match said {
            Ok(said) if !status.is_success() || has_failed(&said) => Err(self.failed(status, &said)),
            Err(_) if !status.is_success() => Err(self.http_error(status)),
            Ok(_) => self.result(body),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    /// The answer as it came, once it has the shape that MCP clients rely on.
    fn result(&self, body: &[u8]) -> Result<Box<RawValue>, ToolError> {
        let shape = match self.wanted {
            Wanted::Prompt => serde_json::from_slice::<PromptShape>(body).map(drop),
            Wanted::Resource => serde_json::from_slice::<ResourceShape>(body).map(drop),
        };
        shape.and_then(|()| serde_json::from_slice(body)).map_err(|error| self.unreadable(error))
    }

    fn failed(&self, status: StatusCode, said: &AppReply<'_>) -> ToolError {
        let Some(error) = reply::error_of(said) else { return self.http_error(status) };
        if error.code == NOT_FOUND {
            return self.not_found();
        }
        let code = match ErrorCode::from_wire(&error.code) {
            Some(ErrorCode::ToolNotFound | ErrorCode::ToolNotHandled) => return self.not_found(),
            Some(ErrorCode::HandlerError) => ErrorCode::HandlerError,
            // A fault of the request, which MCP tells as one.
            Some(ErrorCode::InvalidArguments) => ErrorCode::InvalidRequest,
            _ => ErrorCode::ExecutionError,
        };
        let fallback = || format!("{} could not give {}.", self.app.package(), self.what());
        let message = Some(reply::shown(&error.message)).filter(|message| !message.is_empty());
        ToolError::new(code, message.unwrap_or_else(fallback))
            .because(format!("the app's code: {}", error.code))
    }

    fn not_found(&self) -> ToolError {
        let text = format!("{} says that it does not know {}.", self.app.package(), self.what());
        ToolError::new(ErrorCode::ToolNotHandled, text)
    }

    fn unreadable(&self, error: serde_json::Error) -> ToolError {
        let expected = match self.wanted {
            Wanted::Prompt => "`messages`, each with `role` and `content`",
            Wanted::Resource => "`contents`, each with `uri` and `text` or `blob`",
        };
        let text = format!(
            "{} answered with something that is not {}: expected {expected}.",
            self.app.package(),
            self.what()
        );
        ToolError::new(ErrorCode::InvalidResponse, text).because(error)
    }

    /// Asking again does no harm: nothing is done by it.
    fn http_error(&self, status: StatusCode) -> ToolError {
        let text = format!("{} answered with HTTP status {}.", self.app.package(), status.as_u16());
        ToolError::new(ErrorCode::HttpError, text).retryable_if(status.is_server_error())
    }

    fn not_answered(&self, error: NetError) -> ToolError {
        let app = self.app.package();
        let (code, text) = match &error {
            NetError::Refused(_) => {
                (ErrorCode::AppNotAvailable, format!("The address of {app} is not allowed here."))
            }
            NetError::NotSent(_) => (ErrorCode::NetworkError, format!("{app} cannot be reached.")),
            NetError::Broken { .. } => {
                (ErrorCode::InvalidResponse, format!("{app} broke off before it had answered."))
            }
            NetError::TooLarge { limit } => {
                (ErrorCode::InvalidResponse, format!("{} is larger than {limit} bytes.", self.what()))
            }
        };
        ToolError::new(code, text).because(error)
    }
}

fn has_failed(said: &AppReply<'_>) -> bool {
    said.success == Some(false) || (said.success.is_none() && said.status.as_deref() == Some("error"))
}

#[derive(Deserialize)]
struct PromptShape {
    #[serde(rename = "messages")]
    _messages: Vec<MessageShape>,
}

#[derive(Deserialize)]
struct MessageShape {
    #[serde(rename = "role")]
    _role: String,
    #[serde(rename = "content")]
    _content: IgnoredAny,
}

#[derive(Deserialize)]
struct ResourceShape {
    #[serde(rename = "contents")]
    _contents: Vec<ContentShape>,
}

#[derive(Deserialize)]
struct ContentShape {
    #[serde(rename = "uri")]
    _uri: String,
    #[serde(flatten)]
    _content: ContentBody,
}

#[derive(Deserialize)]
enum ContentBody {
    #[serde(rename = "text")]
    Text(#[expect(dead_code, reason = "its presence is what counts")] String),
    #[serde(rename = "blob")]
    Blob(#[expect(dead_code, reason = "its presence is what counts")] String),
}
