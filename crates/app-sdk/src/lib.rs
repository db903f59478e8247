//! The SDK for Toolyard apps in Rust.
//!
//! An app provides tools, and it can use the display, speech and microphone while a user has it open. The platform calls it over
//! HTTP (`POST /tool`, `POST /webhook`) and, for sessions, over a WebSocket that the app opens. This crate implements the app's
//! side of the protocol; you write functions.
//!
//! # A tool
//!
//! A function with a typed argument becomes a tool. The model sees the schema of the type.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use toolyard_app_sdk::{AppServer, CancellationToken, Category, ToolContext, ToolReply, create_tool};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greeting {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! async fn greet(args: Greeting, cx: ToolContext) -> Result<ToolReply, std::fmt::Error> {
//!     let greeting = format!("Hello, {}!", args.name);
//!     match cx.session() {
//!         // The user has the app open: show it, and let the assistant be silent.
//!         Some(session) if session.show_text_wall(&greeting).await.is_ok() => {
//!             Ok(ToolReply::text(greeting).suppress_voice_response())
//!         }
//!         _ => Ok(greeting.into()),
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let greet = create_tool("greet", "Greets a person by name.", greet)
//!         .category(Category::Communication)
//!         .activation_phrases(["say hello to"])
//!         .build()?;
//!     let app = AppServer::builder("com.example.greeter")
//!         .server("http://127.0.0.1:8787")
//!         .api_key("the key from the registration")
//!         .signing_secret("the secret from the registration")
//!         .listen(([127, 0, 0, 1], 0).into())
//!         .register_tool(greet)
//!         .on_session(|session| async move { session.show_text_wall("Ready to greet").await })
//!         .build()?;
//!     let stop = CancellationToken::new();
//! #   stop.cancel();
//!     app.run(stop).await?;
//!     Ok(())
//! }
//! ```
//!
//! | to do this | take |
//! | --- | --- |
//! | a schema written by hand | [`create_dynamic_tool`] |
//! | a structured result with its schema | [`Json`] |
//! | a result with follow-ups, or a silent one | [`ToolReply`] |
//! | report progress, detect that the call was cancelled | [`ToolContext::progress`], [`ToolContext::cancelled`] |
//! | a prompt that a user picks | [`create_prompt`] |
//! | a resource under a URI or a URI template | [`create_resource`], [`create_resource_template`] |
//! | one function for all tools, as in older apps | [`AppServerBuilder::on_tool_call`] |
//! | upload the definitions | [`AppServer::register`] |
//! | run until Ctrl-C or SIGTERM | [`AppServer::run_until_signal`] |
//! | display, speech, events | [`Session`] |
//! | limits | [`AppLimits`] |
//!
//! # What callers get
//!
//! | the handler | status | `error.code` |
//! | --- | --- | --- |
//! | gives a reply | 200 | |
//! | gives [`ToolReply::failed`] | 200 | `EXECUTION_ERROR` |
//! | gives an error, or panics | 500 | `HANDLER_ERROR` |
//! | is not called, because the arguments do not match its type | 400 | `INVALID_ARGUMENTS` |
//! | does not exist | 404 | `TOOL_NOT_FOUND`; for prompts and resources `NOT_FOUND` |
//! | cannot run because of the call limit ([`AppLimits::calls`]) | 503 | `OVERLOADED` |
//!
//! A panic ends only its call. The caller gets the text of a handler's error, but not the message of a panic.
//!
//! If the platform accepts lines (`Accept: application/x-ndjson`) and the handler reports progress before it ends, the response
//! has status 200 and consists of lines. The last line is the outcome.
//!
//! # Sessions
//!
//! A session begins with a webhook that names the user and a WebSocket URL. The app connects only to its configured server,
//! because the first message contains its API key. [`AppServerBuilder::on_session`] runs once for each
//! session, [`AppServerBuilder::on_stop`] once at its end. A lost connection is reopened after 1, 2 and 4 seconds;
//! meanwhile [`ToolContext::session`] is `None`, since nothing could be shown.
//!
//! # Authentication
//!
//! With a signing secret, every `POST` must have a valid and recent HMAC signature of the platform; otherwise the app responds
//! with 401. Without one the app accepts requests from anyone, and logs a warning.

#![warn(missing_docs)]

mod builder;
mod clock;
mod http;
mod items;
mod limits;
mod log_lines;
mod register;
mod server;
mod session;
mod tool;

pub use builder::{AppServerBuilder, BuildError};
pub use clock::{Clock, SystemClock};
pub use items::{
    InvalidItem, Prompt, PromptBuilder, PromptReply, PromptRole, Resource, ResourceBuilder, ResourceReply,
    create_prompt, create_resource, create_resource_template,
};
pub use limits::{AppLimits, MAX_BODY_BYTES, MAX_MESSAGE_BYTES, MAX_REPLY_BYTES, MAX_SPEECH_BYTES};
pub use log_lines::LogLines;
pub use register::RegisterError;
pub use server::AppServer;
pub use session::{
    ButtonPress, EndReason, PressType, Session, SessionConnection, SessionError, SessionEvents, ShowRequest,
    UserSettings,
};
pub use tool::{
    FallbackCall, IntoToolReply, InvalidTool, Json, NoArguments, Tool, ToolBuilder, ToolContext, ToolReply,
    create_dynamic_tool, create_tool,
};

pub use jiff::Timestamp;
pub use tokio_util::sync::CancellationToken;
pub use toolyard_net::{NetError, UrlRefused};
pub use toolyard_protocol::{
    AppSessionId, CallId, InvalidName, PackageName, Problem, UserId,
    call::GIVE_APP_CONTROL_OF_TOOL_RESPONSE,
    device::Capabilities,
    session::{Layout, speech::Transcription, webhook::StopReason},
    tool::{Category, ToolDefinition},
    trace::TraceParent,
};
