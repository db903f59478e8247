//! Prompts and resources of apps: `POST {publicUrl}/prompt` and `POST {publicUrl}/resource`.
//!
//! They need no session, so the app is not woken for them.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use toolyard_core::{
    CallContext, ToolError,
    catalog::AppHead,
    ports::{ForwardedMethod, ForwardedRequest},
};
use toolyard_net::NetError;
use toolyard_protocol::{
    ErrorCode,
    call::AppReply,
    items::request::{AppRequestContext, NOT_FOUND, PromptRequest, ResourceRequest},
    raw::{RawFields, to_raw},
    session::iso_millis,
};

use super::{AppSource, reply, request};

/// The kinds of items that an app can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AppItemKind {
    Prompt,
    Resource,
}

impl AppSource {
    /// Requests an item and returns the app's response unchanged.
    pub(super) async fn request_item(
        &self,
        cx: &CallContext,
        app: &AppHead,
        passed: &ForwardedRequest,
    ) -> Result<Box<RawValue>, ToolError> {
        let kind = match passed.method {
            ForwardedMethod::GetPrompt => AppItemKind::Prompt,
            ForwardedMethod::ReadResource if app.has_resources => AppItemKind::Resource,
            ForwardedMethod::ReadResource
            | ForwardedMethod::Complete
            | ForwardedMethod::Subscribe
            | ForwardedMethod::Unsubscribe => return Err(not_offered(app, passed.method)),
        };
        let item = ItemRequest { app, name: &passed.name, kind };
        let request = self.item_request(cx, &item, passed)?;
        let answered = self.parts.http.send(request).await.map_err(|error| item.no_response_error(error))?;
        let status = answered.status;
        let body = answered
            .bytes(self.parts.limits.load().result_bytes)
            .await
            .map_err(|error| item.no_response_error(error))?;
        item.read_reply(status, &body)
    }

    fn item_request(
        &self,
        cx: &CallContext,
        item: &ItemRequest<'_>,
        passed: &ForwardedRequest,
    ) -> Result<Request<Full<Bytes>>, ToolError> {
        let target = self.target_for(item.app)?;
        let now = self.parts.clock.now();
        let context = AppRequestContext {
            user_id: cx.user.clone(),
            timestamp: iso_millis(now),
            call_id: cx.id.clone(),
        };
        let name = passed.name.clone();
        let (to, body) = match item.kind {
            AppItemKind::Prompt => {
                let arguments = prompt_arguments(passed)?;
                (&target.prompt, to_raw(&PromptRequest { name, arguments, context }))
            }
            AppItemKind::Resource => (&target.resource, to_raw(&ResourceRequest { uri: name, context })),
        };
        let body = body.get().as_bytes().to_vec();
        request::signed_post(cx, &target, to, "application/json", now, body).map_err(|error| {
            let text =
                format!("The request to {} for {} cannot be built.", item.app.package(), item.describe());
            ToolError::new(ErrorCode::InvalidRequest, text).with_cause(error)
        })
    }
}

/// The arguments of a prompt: an object, empty by default.
fn prompt_arguments(passed: &ForwardedRequest) -> Result<Box<RawValue>, ToolError> {
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

fn not_offered(app: &AppHead, method: ForwardedMethod) -> ToolError {
    ToolError::new(ErrorCode::ToolNotFound, format!("{} does not offer {}.", app.package(), method.as_str()))
}

/// One request, as the reader of its response needs it.
struct ItemRequest<'a> {
    app: &'a AppHead,
    name: &'a str,
    kind: AppItemKind,
}

impl ItemRequest<'_> {
    fn describe(&self) -> String {
        let name: String = self.name.chars().take(200).collect();
        match self.kind {
            AppItemKind::Prompt => format!("the prompt {name}"),
            AppItemKind::Resource => format!("the resource {name}"),
        }
    }

    fn read_reply(&self, status: StatusCode, body: &[u8]) -> Result<Box<RawValue>, ToolError> {
        // An app without these paths responds with 404; an app on our SDK sends an error body as well.
        if status == StatusCode::NOT_FOUND {
            return Err(self.not_found_error());
        }
        let reply = serde_json::from_slice::<AppReply<'_>>(body);
        match reply {
            Ok(reply) if !status.is_success() || has_failed(&reply) => {
                Err(self.failure_error(status, &reply))
            }
            Err(_) if !status.is_success() => Err(self.http_error(status)),
            Ok(_) => self.check_result(body),
            Err(error) => Err(self.unreadable_error(error)),
        }
    }

    /// The response unchanged, once it has the shape that MCP clients rely on.
    fn check_result(&self, body: &[u8]) -> Result<Box<RawValue>, ToolError> {
        let shape = match self.kind {
            AppItemKind::Prompt => serde_json::from_slice::<PromptShape>(body).map(drop),
            AppItemKind::Resource => serde_json::from_slice::<ResourceShape>(body).map(drop),
        };
        shape.and_then(|()| serde_json::from_slice(body)).map_err(|error| self.unreadable_error(error))
    }

    fn failure_error(&self, status: StatusCode, reply: &AppReply<'_>) -> ToolError {
        let Some(error) = reply::reply_error(reply) else { return self.http_error(status) };
        if error.code == NOT_FOUND {
            return self.not_found_error();
        }
        let code = match ErrorCode::from_wire(&error.code) {
            Some(ErrorCode::ToolNotFound | ErrorCode::ToolNotHandled) => return self.not_found_error(),
            Some(ErrorCode::HandlerError) => ErrorCode::HandlerError,
            // An error of the request, which MCP reports as such.
            Some(ErrorCode::InvalidArguments) => ErrorCode::InvalidRequest,
            _ => ErrorCode::ExecutionError,
        };
        let fallback = || format!("{} could not provide {}.", self.app.package(), self.describe());
        let message = Some(reply::truncate_message(&error.message)).filter(|message| !message.is_empty());
        ToolError::new(code, message.unwrap_or_else(fallback))
            .with_cause(format!("the app's code: {}", error.code))
    }

    fn not_found_error(&self) -> ToolError {
        let text = format!("{} says that it does not know {}.", self.app.package(), self.describe());
        ToolError::new(ErrorCode::ToolNotHandled, text)
    }

    fn unreadable_error(&self, error: serde_json::Error) -> ToolError {
        let expected = match self.kind {
            AppItemKind::Prompt => "`messages`, each with `role` and `content`",
            AppItemKind::Resource => "`contents`, each with `uri` and `text` or `blob`",
        };
        let text = format!(
            "{} answered with something that is not {}: expected {expected}.",
            self.app.package(),
            self.describe()
        );
        ToolError::new(ErrorCode::InvalidResponse, text).with_cause(error)
    }

    /// A retry is safe: the request has no side effects.
    fn http_error(&self, status: StatusCode) -> ToolError {
        let text = format!("{} answered with HTTP status {}.", self.app.package(), status.as_u16());
        ToolError::new(ErrorCode::HttpError, text).retryable_if(status.is_server_error())
    }

    fn no_response_error(&self, error: NetError) -> ToolError {
        let app = self.app.package();
        let (code, text) = match &error {
            NetError::Refused(_) => {
                (ErrorCode::AppNotAvailable, format!("The address of {app} is not allowed here."))
            }
            NetError::NotSent(_) => (ErrorCode::NetworkError, format!("{app} cannot be reached.")),
            NetError::Broken { .. } => {
                (ErrorCode::InvalidResponse, format!("{app} closed the connection before it responded."))
            }
            NetError::TooLarge { limit } => {
                (ErrorCode::InvalidResponse, format!("{} is larger than {limit} bytes.", self.describe()))
            }
        };
        ToolError::new(code, text).with_cause(error)
    }
}

fn has_failed(reply: &AppReply<'_>) -> bool {
    reply.success == Some(false) || (reply.success.is_none() && reply.status.as_deref() == Some("error"))
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
