//! A client of the platform's public REST API, as any app uses it: with its own key, for one user at a time.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header, request::Builder};
use http_body_util::Full;
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use tokio::time::timeout;
use toolyard_app_sdk::{PackageName, UserId};
use toolyard_core::{
    CallReply, ToolError,
    bounded_cache::BoundedCache,
    executor::{AwaitedApproval, AwaitedSignIn, CallOutcome},
    ports::NoticeSink,
};
use toolyard_net::{ClientSettings, Guard, HttpClient, HttpResponse, NetError, OutsideUrl, UrlRefused};
use toolyard_protocol::{
    ApprovalId, ErrorCode,
    approval::{AnswerRequest, ApprovalAnswer, ApprovalSurface, PendingApproval, PendingCall, PendingSignIn},
    raw::to_raw,
    result::{McpResult, ResultExtensions, ToolResult},
    secret::SecretText,
    upstream::{upstream_id, upstream_package},
};

use super::list::UserTools;

/// Largest listing, in bytes.
const MAX_LISTING: usize = 16 * 1024 * 1024;
/// Largest result, in bytes.
const MAX_RESULT: usize = 2 * 1024 * 1024;
/// Timeout of a listing.
const LIST_WAIT: Duration = Duration::from_secs(10);
/// Most cached listings, of all users and languages.
const MAX_KEPT: usize = 1_000;

/// Why a listing failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// The app is not installed for the user, or its key is wrong.
    #[error("the platform does not allow this app to act for the user: status {0}")]
    NotAllowed(StatusCode),
    /// The platform is unreachable or failing.
    #[error("the platform is not available: {0}")]
    Down(String),
}

/// Why the client cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlatformSetupError {
    /// Its URL.
    #[error("invalid URL of the server: {0}")]
    Url(#[from] UrlRefused),
    /// The key.
    #[error("the API key is not valid in a header; copy it again from the registration")]
    Key,
}

/// Cached listings with their ETag, by user and language.
type ToolListings = BoundedCache<(UserId, String), (HeaderValue, Arc<UserTools>)>;

/// A client of the platform.
#[derive(Debug)]
pub struct PlatformClient {
    client: HttpClient,
    server: OutsideUrl,
    package: PackageName,
    credential: HeaderValue,
    listings: ToolListings,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecuteResponse<'a> {
    success: bool,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<ExecuteFailure>,
    #[serde(default)]
    mentra_extensions: ResultExtensions,
    #[serde(default)]
    pending: Option<PendingCall>,
}

#[derive(Deserialize)]
struct ExecuteFailure {
    code: String,
    message: String,
    #[serde(default)]
    retryable: bool,
}

impl PlatformClient {
    /// A client for the platform at that URL. The operator configured it, so any address is allowed.
    pub fn new(server: &str, package: PackageName, key: &SecretText) -> Result<Self, PlatformSetupError> {
        let credential = HeaderValue::try_from(format!("Bearer {package}:{}", key.expose()));
        let mut credential = credential.map_err(|_| PlatformSetupError::Key)?;
        credential.set_sensitive(true);
        Ok(Self {
            client: HttpClient::new(Guard::unrestricted(), ClientSettings::default()),
            server: OutsideUrl::parse(server, &Guard::unrestricted())?,
            package,
            credential,
            listings: BoundedCache::new(MAX_KEPT),
        })
    }

    /// Lists the user's tools, with phrases in a language. Requested each time; an unchanged listing is not sent again.
    pub async fn list_tools(&self, user: &UserId, language: &str) -> Result<Arc<UserTools>, ListingError> {
        let key = (user.clone(), language.to_owned());
        let known = self.listings.get(&key);
        let mut request = self.build_request("GET", "api/tools", "?hidden=true", user);
        if let Some((etag, _)) = &known {
            request = request.header(header::IF_NONE_MATCH, etag.clone());
        }
        let down = |error: &dyn std::fmt::Display| ListingError::Down(error.to_string());
        let request = request.body(Full::default()).map_err(|error| down(&error))?;
        let asking = async {
            let response = self.client.send(request).await?;
            let (status, etag) = (response.status, response.headers.get(header::ETAG).cloned());
            Ok::<_, NetError>((status, etag, response.bytes(MAX_LISTING).await?))
        };
        let answer = timeout(LIST_WAIT, asking).await.map_err(|_| down(&"it took too long"))?;
        let (status, etag, body) = answer.map_err(|error| down(&error))?;
        match (status, known) {
            (StatusCode::NOT_MODIFIED, Some((_, tools))) => Ok(tools),
            (StatusCode::OK, _) => {
                let tools = Arc::new(
                    UserTools::parse_listing(&body, language, &self.package).map_err(|error| down(&error))?,
                );
                if let Some(etag) = etag {
                    self.listings.insert(key, (etag, tools.clone()));
                }
                Ok(tools)
            }
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => Err(ListingError::NotAllowed(status)),
            (status, _) => Err(down(&format!("status {status}"))),
        }
    }

    /// Calls a tool by its canonical name and reports its progress. Dropping the future cancels the call.
    pub async fn execute_tool(
        &self,
        user: &UserId,
        tool: &str,
        arguments: &RawValue,
        news: &NoticeSink,
    ) -> CallOutcome {
        let body = to_raw(&json!({ "name": tool, "arguments": arguments })).get().to_owned();
        let request = self
            .build_request("POST", "api/tools/execute", "", user)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .body(Full::new(Bytes::from(body)));
        let request = request.map_err(|error| unreachable_error(&error))?;
        let response = self.client.send(request).await.map_err(|error| unreachable_error(&error))?;
        let kind = response.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return follow_events(response, news, tool).await;
        }
        read_outcome(response, tool).await?
    }

    /// Answers an approval in the user's name. The operator decides whether this app may.
    pub async fn answer_approval(
        &self,
        user: &UserId,
        id: &ApprovalId,
        answer: ApprovalAnswer,
        surface: ApprovalSurface,
    ) -> Result<(), ToolError> {
        let request = AnswerRequest {
            answer,
            remember: None,
            surface: Some(surface),
            note: None,
            arguments_digest: None,
        };
        let request = self
            .build_request("POST", &format!("api/approvals/{id}"), "", user)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(to_raw(&request).get().to_owned())));
        let request = request.map_err(|error| unreachable_error(&error))?;
        let response = self.client.send(request).await.map_err(|error| unreachable_error(&error))?;
        match response.status {
            status if status.is_success() => Ok(()),
            // Answered elsewhere meanwhile: the outcome tells how.
            StatusCode::CONFLICT => Ok(()),
            status => {
                let text = "The platform did not accept the answer, so it was not run.";
                Err(ToolError::new(ErrorCode::Denied, text).with_cause(status))
            }
        }
    }

    /// Waits for the outcome of a call that needs approval. The call may still wait for its answer after that. The error is of
    /// the platform, not of the call.
    pub async fn approved_outcome(
        &self,
        user: &UserId,
        awaited: &AwaitedApproval,
    ) -> Result<CallOutcome, ToolError> {
        let path = format!("api/approvals/{}/outcome", awaited.id);
        let request = self.build_request("GET", &path, "?wait=60", user).body(Full::default());
        let request = request.map_err(|error| unreachable_error(&error))?;
        let response = self.client.send(request).await.map_err(|error| unreachable_error(&error))?;
        read_outcome(response, awaited.tool.as_str()).await
    }

    /// Waits until the user has signed in at an upstream, at most this long. Returns whether they have.
    pub async fn wait_for_sign_in(
        &self,
        user: &UserId,
        package: &PackageName,
        wait: Duration,
    ) -> Result<bool, ToolError> {
        #[derive(Deserialize)]
        struct Authorization {
            authorized: bool,
        }
        let path = format!("api/upstreams/{}/authorize", upstream_id(package));
        let query = format!("?wait={}", wait.as_secs());
        let request = self.build_request("GET", &path, &query, user).body(Full::default());
        let request = request.map_err(|error| unreachable_error(&error))?;
        let response = self.client.send(request).await.map_err(|error| unreachable_error(&error))?;
        let status = response.status;
        let body = response.bytes(MAX_RESULT).await.map_err(|error| broken_connection(&error))?;
        let read = serde_json::from_slice::<Authorization>(&body);
        read.map(|state| state.authorized).map_err(|_| invalid_response_error(&format!("status {status}")))
    }

    fn build_request(&self, method: &str, path: &str, query: &str, user: &UserId) -> Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}{query}", self.server.join(path)))
            .header(header::AUTHORIZATION, self.credential.clone())
            // As bytes: user ids need not be ASCII.
            .header("x-user-id", user.as_str().as_bytes())
    }
}

/// Reads a result that is not a stream.
async fn read_outcome(response: HttpResponse, tool: &str) -> Result<CallOutcome, ToolError> {
    let status = response.status;
    let body = response.bytes(MAX_RESULT).await.map_err(|error| broken_connection(&error))?;
    parse_outcome(&body, tool).ok_or_else(|| invalid_response_error(&format!("status {status}")))
}

/// Reads progress events until the result.
async fn follow_events(response: HttpResponse, news: &NoticeSink, tool: &str) -> CallOutcome {
    let mut events = response.into_events(MAX_RESULT);
    while let Some(event) = events.next().await.map_err(|error| broken_connection(&error))? {
        match event.name.as_str() {
            "progress" => {
                if let Ok(progress) = serde_json::from_slice(&event.data) {
                    news.send_progress(progress);
                }
            }
            "result" => {
                return parse_outcome(&event.data, tool)
                    .unwrap_or_else(|| Err(invalid_response_error("a result")));
            }
            _ => {}
        }
    }
    Err(broken_connection(&"there was no result"))
}

/// The approval that a call waits for.
fn awaited_approval(pending: PendingApproval, tool: &str) -> Option<AwaitedApproval> {
    Some(AwaitedApproval {
        id: pending.id,
        tool: tool.parse().ok()?,
        summary: Arc::new(pending.summary?),
        risk: pending.risk?,
        expires_at: pending.expires_at.parse().ok()?,
        url: pending.url,
    })
}

fn parse_outcome(body: &[u8], tool: &str) -> Option<CallOutcome> {
    let answer: ExecuteResponse<'_> = serde_json::from_slice(body).ok()?;
    match answer.pending {
        Some(PendingCall::Approval(pending)) => {
            return Some(Ok(CallReply::AwaitingApproval(awaited_approval(pending, tool)?)));
        }
        Some(PendingCall::SignIn(PendingSignIn { id, name, url })) => {
            let awaited = AwaitedSignIn { package: upstream_package(&id).ok()?, name, url };
            return Some(Ok(CallReply::AwaitingSignIn(Arc::new(awaited))));
        }
        None => {}
    }
    if !answer.success {
        let failed = answer.error?;
        // An unknown code counts as a failure of the tool.
        let code = ErrorCode::from_wire(&failed.code).unwrap_or(ErrorCode::ExecutionError);
        let mut error = ToolError::new(code, failed.message);
        error.retryable = failed.retryable;
        return Some(Err(error));
    }
    let mcp = match answer.content {
        None => McpResult::empty(),
        Some(content) => match serde_json::from_str::<String>(content.get()) {
            Ok(text) => McpResult::from_text(&text),
            Err(_) if content.get().starts_with('[') => McpResult::from_blocks(content, None),
            Err(_) => McpResult::from_structured(content),
        },
    };
    Some(Ok(CallReply::Done(ToolResult { mcp, extensions: answer.mentra_extensions })))
}

fn unreachable_error(error: &dyn std::fmt::Display) -> ToolError {
    ToolError::new(ErrorCode::NetworkError, "The app platform cannot be reached.").with_cause(error)
}

fn broken_connection(error: &dyn std::fmt::Display) -> ToolError {
    ToolError::new(ErrorCode::InvalidResponse, "The connection was lost; whether the tool ran is not known.")
        .with_cause(error)
}

fn invalid_response_error(what: &str) -> ToolError {
    ToolError::new(ErrorCode::InvalidResponse, "The platform sent an invalid response.").with_cause(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(body: &str) -> ToolResult {
        match parse_outcome(body.as_bytes(), "com.a:b").unwrap().unwrap() {
            CallReply::Done(result) => result,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_three_forms_of_content_and_extensions() {
        assert_eq!(done(r#"{"success":true,"content":"hi"}"#).mcp.all_text(), "hi");
        let structured = done(r#"{"success":true,"content":{"n":1}}"#);
        assert_eq!(structured.mcp.parts().structured_content.unwrap().get(), r#"{"n":1}"#);
        let blocks =
            done(r#"{"success":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#);
        assert_eq!(blocks.mcp.all_text(), "a\nb");
        let silent = done(
            r#"{"success":true,"mentraExtensions":{"suppressVoiceResponse":true,"suggestedFollowUps":["x"]}}"#,
        );
        assert!(silent.extensions.suppress_voice_response);
        assert_eq!(silent.extensions.suggested_follow_ups, ["x"]);
    }

    #[test]
    fn failures_keep_their_code() {
        let failed = |body: &str| parse_outcome(body.as_bytes(), "com.a:b").unwrap().unwrap_err();
        let down = failed(
            r#"{"success":false,"error":{"code":"APP_NOT_AVAILABLE","message":"no","retryable":true}}"#,
        );
        assert_eq!((down.code, down.retryable), (ErrorCode::AppNotAvailable, true));
        let new = failed(r#"{"success":false,"error":{"code":"OF_TOMORROW","message":"no"}}"#);
        assert_eq!(new.code, ErrorCode::ExecutionError);
        assert!(parse_outcome(b"<html>", "com.a:b").is_none());
        assert!(parse_outcome(br#"{"success":false}"#, "com.a:b").is_none());
    }

    #[test]
    fn an_invalid_key_is_refused_and_keys_are_hidden() {
        let package = || "com.toolyard.assistant".parse::<PackageName>().unwrap();
        let bad = PlatformClient::new("http://127.0.0.1:1", package(), &SecretText::new("a\nb")).unwrap_err();
        assert_eq!(bad, PlatformSetupError::Key);
        assert!(matches!(
            PlatformClient::new("nonsense", package(), &SecretText::new("k")),
            Err(PlatformSetupError::Url(_))
        ));
        let cloud = PlatformClient::new("http://127.0.0.1:1", package(), &SecretText::new("hush")).unwrap();
        assert!(!format!("{cloud:?}").contains("hush"));
    }
}
