//! Write a mini-app in Rust.
//!
//! An app brings tools, and may show and hear something while a user has it open. The platform talks to it over HTTP
//! (`POST /tool`, `POST /webhook`) and, for sessions, over a socket that the app opens. This crate is the app's side of
//! all that; you write functions.
//!
//! # A tool
//!
//! A function with a typed argument becomes a tool: the type's schema is what the model sees.
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
//!     let greet = create_tool("greet", "Greets somebody by name.", greet)
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
//! | say how far the work is, notice that the caller has gone | [`ToolContext::progress`], [`ToolContext::cancelled`] |
//! | a prompt that a user picks | [`create_prompt`] |
//! | something to read under a URI, or under many | [`create_resource`], [`create_resource_template`] |
//! | one function for all tools, as older apps have it | [`AppServerBuilder::on_tool_call`] |
//! | upload the definitions | [`AppServer::register`] |
//! | run until Ctrl-C, or until the service is stopped | [`AppServer::run_until_signal`] |
//! | show, speak, hear | [`Session`] |
//! | bounds | [`AppLimits`] |
//!
//! # What callers get
//!
//! | the handler | status | `error.code` |
//! | --- | --- | --- |
//! | gives a reply | 200 | |
//! | gives [`ToolReply::failed`] | 200 | `EXECUTION_ERROR` |
//! | gives an error, or panics | 500 | `HANDLER_ERROR` |
//! | is not asked, because the arguments do not fit its type | 400 | `INVALID_ARGUMENTS` |
//! | is not there | 404 | `TOOL_NOT_FOUND`; for prompts and resources `NOT_FOUND` |
//! | has no room ([`AppLimits::calls`]) | 503 | `OVERLOADED` |
//!
//! A panic ends its call and nothing else. The text of a handler's error goes to the caller; what a panic says does not.
//!
//! Where the platform takes lines (`Accept: application/x-ndjson`) and the handler has told of progress before it was done,
//! the answer has status 200 and comes in lines, the last of which says how it ended.
//!
//! # Sessions
//!
//! A session begins with a webhook that names the user and a socket. The app connects there only if it is the server that
//! it was configured with, because the first message carries its key. [`AppServerBuilder::on_session`] runs once for each
//! session, [`AppServerBuilder::on_stop`] once at its end. A connection that breaks is made again after 1, 2 and 4 seconds;
//! meanwhile [`ToolContext::session`] is `None`, since nothing could be shown.
//!
//! # Who is calling?
//!
//! With a signing secret, every `POST` must carry a fresh HMAC of the platform; anything else is answered with 401. Without
//! one the app believes everybody, and says so in its log.

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
