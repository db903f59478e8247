//! Builds an app, with all checks at the end.

use std::{
    collections::HashSet,
    future::Future,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_net::{SigningKey, UrlRefused};
use toolyard_protocol::{InvalidName, items::MAX_ITEMS, secret::SecretText, tool::MAX_TOOLS};

use crate::{
    clock::{Clock, SystemClock},
    items::{Prompt, Resource},
    limits::AppLimits,
    server::{AppServer, AppShared, OnSession, OnStop},
    session::{AppSocketDialer, EndReason, PlatformServer, Session, SessionError, SessionTable},
    tool::{FallbackCall, FallbackHandler, Tool},
};

/// Default address. App developers know the port from the platform's other SDKs.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7010);

/// Why an app cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The package name is invalid.
    #[error(transparent)]
    Package(#[from] InvalidName),
    /// The server's URL cannot be used.
    #[error("the URL of the server cannot be used: {0}")]
    Server(#[from] UrlRefused),
    /// Two tools have the same name.
    #[error("the tool `{0}` is registered twice; give one of them another name")]
    DuplicateTool(String),
    /// More tools than the platform accepts.
    #[error("{0} tools are registered; an app can have {MAX_TOOLS}")]
    TooManyTools(usize),
    /// Two prompts have the same name, or two resources the same URI.
    #[error("`{0}` is added twice; give one of the two another name or URI")]
    DuplicateItem(String),
    /// More prompts or resources than the platform accepts.
    #[error("{0} prompts or resources are added; an app can have {MAX_ITEMS} of each")]
    TooManyItems(usize),
}

/// Builds an [`AppServer`].
#[must_use = "call `build`"]
pub struct AppServerBuilder {
    package: String,
    api_key: Option<SecretText>,
    signing_secret: Option<SecretText>,
    server: Option<String>,
    listen: SocketAddr,
    clock: Arc<dyn Clock>,
    limits: AppLimits,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    fallback: Option<FallbackHandler>,
    on_session: Option<OnSession>,
    on_stop: Option<OnStop>,
}

impl AppServerBuilder {
    pub(crate) fn new(package: String) -> Self {
        Self {
            package,
            api_key: None,
            signing_secret: None,
            server: None,
            listen: LISTEN,
            clock: Arc::new(SystemClock),
            limits: AppLimits::default(),
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            fallback: None,
            on_session: None,
            on_stop: None,
        }
    }

    /// Sets the API key from the app's registration. Without it the app answers tool calls, but cannot start sessions or register.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(SecretText::new(key));
        self
    }

    /// Sets the signing secret from the app's registration. With it every request must be signed by the platform. Without it
    /// anyone who can reach the app can call its tools for any user.
    pub fn signing_secret(mut self, secret: impl Into<String>) -> Self {
        self.signing_secret = Some(SecretText::new(secret));
        self
    }

    /// Sets the server that the app belongs to: `https://toolyard.example.com`. Sessions connect only to it. Without it they
    /// connect only to this machine.
    pub fn server(mut self, url: impl Into<String>) -> Self {
        self.server = Some(url.into());
        self
    }

    /// Sets the address for [`AppServer::run`]. The default is 127.0.0.1:7010.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Replaces the system clock.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Replaces the default limits.
    pub fn limits(mut self, limits: AppLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds a tool. [`build`](Self::build) refuses two with the same name.
    pub fn register_tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a prompt. [`build`](Self::build) refuses two with the same name.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds a resource or a resource template. [`build`](Self::build) refuses two with the same URI. If two templates match a
    /// URI, the one that was added first is used.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Handles calls of tools that are not registered, as apps did before typed tools. `None` means that the tool is unknown;
    /// [`GIVE_APP_CONTROL_OF_TOOL_RESPONSE`](crate::GIVE_APP_CONTROL_OF_TOOL_RESPONSE) means that the app shows the result itself.
    pub fn on_tool_call<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(FallbackCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<String>> + Send + 'static,
    {
        self.fallback = Some(FallbackHandler::new(handler));
        self
    }

    /// Runs when a user opens the app. It may run as long as the session; shortly after the session's end it is dropped. It does
    /// not run again after a reconnect.
    pub fn on_session<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Session) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), SessionError>> + Send + 'static,
    {
        self.on_session = Some(Arc::new(move |session| Box::pin(hook(session))));
        self
    }

    /// Runs once at the end of each session, for any reason.
    pub fn on_stop<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Session, EndReason) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.on_stop = Some(Arc::new(move |session, reason| Box::pin(hook(session, reason))));
        self
    }

    /// Checks the settings and builds the app.
    pub fn build(self) -> Result<AppServer, BuildError> {
        let package = self.package.parse()?;
        let platform = PlatformServer::new(self.server.as_deref())?;
        check_tools(&self.tools)?;
        check_items(self.prompts.iter().map(Prompt::name))?;
        check_items(self.resources.iter().map(Resource::uri))?;
        if self.signing_secret.is_none() {
            tracing::warn!(
                %package,
                "no signing secret: requests are not verified, so anyone who can reach this app can call its tools"
            );
        }
        Ok(AppServer::new(AppShared {
            package,
            api_key: self.api_key,
            signing: self.signing_secret.map(|secret| SigningKey::new(secret.expose())),
            platform,
            listen: self.listen,
            clock: self.clock,
            tools: self.tools,
            prompts: self.prompts,
            resources: self.resources,
            fallback: self.fallback,
            on_session: self.on_session,
            on_stop: self.on_stop,
            sessions: Arc::new(SessionTable::default()),
            dialer: AppSocketDialer::new(),
            session_room: Arc::new(Semaphore::new(self.limits.sessions.min(Semaphore::MAX_PERMITS))),
            call_room: Arc::new(Semaphore::new(self.limits.calls.min(Semaphore::MAX_PERMITS))),
            limits: self.limits,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            calls: CancellationToken::new(),
        }))
    }
}

fn check_tools(tools: &[Tool]) -> Result<(), BuildError> {
    if tools.len() > MAX_TOOLS {
        return Err(BuildError::TooManyTools(tools.len()));
    }
    let mut names = HashSet::new();
    match tools.iter().find(|tool| !names.insert(tool.name())) {
        Some(twice) => Err(BuildError::DuplicateTool(twice.name().to_owned())),
        None => Ok(()),
    }
}

fn check_items<'a>(items: impl ExactSizeIterator<Item = &'a str>) -> Result<(), BuildError> {
    if items.len() > MAX_ITEMS {
        return Err(BuildError::TooManyItems(items.len()));
    }
    let mut names = HashSet::new();
    match items.into_iter().find(|name| !names.insert(*name)) {
        Some(twice) => Err(BuildError::DuplicateItem(twice.to_owned())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoArguments, ToolContext, create_prompt, create_resource, create_tool};

    fn tool(name: &str) -> Tool {
        let done = |_: NoArguments, _: ToolContext| async { Ok::<_, &str>("done") };
        create_tool(name, "", done).build().unwrap()
    }

    fn error(builder: AppServerBuilder) -> BuildError {
        builder.build().unwrap_err()
    }

    #[test]
    fn invalid_settings_are_refused() {
        let twice = AppServer::builder("com.example").register_tool(tool("a")).register_tool(tool("a"));
        assert_eq!(error(twice), BuildError::DuplicateTool("a".to_owned()));
        let many = (0..=MAX_TOOLS)
            .fold(AppServer::builder("com.example"), |app, n| app.register_tool(tool(&format!("t{n}"))));
        assert_eq!(error(many), BuildError::TooManyTools(MAX_TOOLS + 1));
        assert!(matches!(error(AppServer::builder("Com Example")), BuildError::Package(_)));
        let server = AppServer::builder("com.example").server("127.0.0.1:8787");
        assert!(matches!(error(server), BuildError::Server(_)));
    }

    #[test]
    fn prompts_and_resources_have_unique_names_and_a_limit() {
        let prompt =
            create_prompt("a", "", |_: NoArguments, _| async { Ok::<_, &str>("go") }).build().unwrap();
        let resource =
            |uri: &str| create_resource(uri, "n", |_| async { Ok::<_, &str>("x") }).build().unwrap();
        let app = || AppServer::builder("com.example");
        let twice = BuildError::DuplicateItem("a".to_owned());
        assert_eq!(error(app().prompt(prompt.clone()).prompt(prompt)), twice);
        let twice = BuildError::DuplicateItem("a://b".to_owned());
        assert_eq!(error(app().resource(resource("a://b")).resource(resource("a://b"))), twice);
        let many = (0..=MAX_ITEMS).fold(app(), |app, n| app.resource(resource(&format!("a://{n}"))));
        assert_eq!(error(many), BuildError::TooManyItems(MAX_ITEMS + 1));
    }

    #[test]
    fn definitions_keep_their_order() {
        let app = AppServer::builder("com.example")
            .register_tool(tool("b"))
            .register_tool(tool("a"))
            .build()
            .unwrap();
        assert_eq!(app.definitions().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    }
}
