//! MCP servers outside of the platform as sources of tools, prompts and resources.
//!
//! | look for | in |
//! | --- | --- |
//! | how one is reached, and its secrets | `spec` |
//! | its connections | `connections` |
//! | its lists, kept up to date | `sync` |
//! | the pages and icons that its definitions name | `contents` |
//! | events of one user's connection, watched resources | `user_events`, `watched` |
//! | one request, with progress and questions | `exchange` |
//! | the origin label of questions to users | `origin` |
//! | health | `health`, `call_watch` |
//! | users who must authorize first | `authorize` |

mod authorize;
mod call_watch;
mod changes;
mod connections;
mod contents;
mod errors;
mod exchange;
mod health;
mod held;
mod origin;
mod spec;
mod sync;
mod user_events;
mod watched;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use dashmap::DashMap;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::{
    CallContext, CallReply, Tool, ToolError,
    catalog::AppHead,
    ports::{
        Change, ChangeSubscriber, Clock, ClusterStore, ForwardedMethod, ForwardedReply, ForwardedRequest,
        IdGenerator, OfferReview, ReadyTool, SecretSealer, Stores, ToolSource, UpstreamRecord,
    },
    schema::ValidArguments,
};
use toolyard_mcp_client::{McpClient, McpClientError};
use toolyard_net::{Guard, HttpClient, ReferralClients};
use toolyard_protocol::{
    ErrorCode, PackageName, UserId,
    mcp::method,
    raw::{RawFields, to_raw},
    result::{McpResult, ToolResult},
    upstream::{UpstreamState, UpstreamStatus},
};

pub use toolyard_mcp_client::oauth::OAuthCallback;

use self::{
    authorize::UserTokens,
    connections::{ConnectionKey, UpstreamConnectError, UpstreamConnections},
    exchange::{UpstreamOutcome, UpstreamRequest},
    health::UpstreamHealth,
    held::HeldRequests,
    watched::{MAX_WATCHED, TooManyWatched, WatchedResources},
};
pub use self::{
    authorize::{AuthorizeError, OAuthSetup, StartedAuthorization},
    spec::{BadSpec, UpstreamEnvironment},
};
use crate::links;

/// Limits of upstreams.
#[derive(Debug, Clone)]
pub struct UpstreamSettings {
    /// Time to connect, including the start of a process.
    pub connect: Duration,
    /// Time for each page of a list.
    pub list: Duration,
    /// Lists are read again after this time, in any case.
    pub refresh: Duration,
    /// A user's connection is closed after this time without use.
    pub idle: Duration,
    /// How long a request is held open for a caller to return.
    pub held: Duration,
    /// Requests held open at the same time.
    pub max_held: usize,
    /// Open connections.
    pub max_connections: usize,
    /// Largest result of a tool, a prompt or a resource, in bytes.
    pub result_bytes: usize,
    /// Whether pages and icons are read, to pin them.
    pub read_contents: bool,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            list: Duration::from_secs(20),
            refresh: Duration::from_secs(300),
            idle: Duration::from_secs(600),
            held: Duration::from_secs(300),
            max_held: 1_000,
            max_connections: 10_000,
            result_bytes: 1024 * 1024,
            read_contents: true,
        }
    }
}

/// Dependencies of the upstream source.
pub struct UpstreamParts {
    /// Upstreams, their last valid lists, and users' tokens.
    pub stores: Stores,
    /// Seals and opens secrets.
    pub secrets: Arc<dyn SecretSealer>,
    /// The current time.
    pub clock: Arc<dyn Clock>,
    /// Creates unguessable ids.
    pub ids: Arc<dyn IdGenerator>,
    /// Sends the requests.
    pub http: HttpClient,
    /// Sends requests to URLs that an upstream names, for its authorization.
    pub referrals: ReferralClients,
    /// Decides which URLs are allowed.
    pub guard: Guard,
    /// The server's environment.
    pub environment: UpstreamEnvironment,
    /// Which node of a cluster follows which upstream. None if this server is alone.
    pub leases: Option<Arc<dyn ClusterStore>>,
    /// Where the browser returns to after an authorization.
    pub oauth: OAuthSetup,
    /// Compares what upstreams offer with what was accepted.
    pub review: Arc<dyn OfferReview>,
    /// Runs background tasks.
    pub tasks: TaskTracker,
    /// Cancelled when the server stops.
    pub stopping: CancellationToken,
    /// Limits.
    pub settings: UpstreamSettings,
}

/// Runs the tools of upstreams.
pub struct UpstreamSource {
    /// For tasks that follow connections and must not keep the source alive.
    me: Weak<Self>,
    parts: UpstreamParts,
    /// Closes the connections: later than `stopping`, because running calls need them.
    over: CancellationToken,
    connections: UpstreamConnections,
    held: HeldRequests,
    health: DashMap<PackageName, UpstreamHealth>,
    followed: DashMap<PackageName, Arc<Notify>>,
    watched: WatchedResources,
    tokens: UserTokens,
    /// The records with which upstreams are connected. A change that is announced twice is followed once.
    connected: DashMap<PackageName, UpstreamRecord>,
}

impl UpstreamSource {
    /// Creates the source. No upstream is contacted before [`UpstreamSource::start`].
    pub fn new(parts: UpstreamParts) -> Arc<Self> {
        let held = HeldRequests::new(parts.settings.held, parts.settings.max_held);
        let tokens = UserTokens::new(&parts);
        let source = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            parts,
            over: CancellationToken::new(),
            connections: UpstreamConnections::new(),
            held,
            health: DashMap::new(),
            followed: DashMap::new(),
            watched: WatchedResources::default(),
            tokens,
            connected: DashMap::new(),
        });
        let subscriber: Arc<dyn ChangeSubscriber> = source.clone();
        source.parts.stores.announcements.subscribe(Arc::downgrade(&subscriber));
        source
    }

    /// The health of an upstream. The catalog knows what it offers.
    pub fn status(&self, package: &PackageName) -> UpstreamStatus {
        self.health_snapshot(package).status()
    }

    /// The states of all upstreams of this node.
    pub fn states(&self) -> Vec<UpstreamState> {
        let state = |package: &PackageName, record: &UpstreamRecord| match record.disabled {
            true => UpstreamState::Disabled,
            false => self.status(package).state,
        };
        self.connected.iter().map(|one| state(one.key(), one.value())).collect()
    }

    /// The client metadata of this server, for authorization servers.
    pub fn client_metadata(&self) -> serde_json::Value {
        self.parts.oauth.client_metadata()
    }

    /// Closes what is no longer used. Called periodically; `listens` says which users can receive changes now.
    pub fn close_unused(&self, listens: impl Fn(&UserId) -> bool) {
        self.held.end_expired();
        let (idle, now) = (self.parts.settings.idle.as_secs(), self.connections.now_s());
        for key in self.watched.drop_unused(now, idle, listens) {
            self.update_watch(&key);
        }
        self.connections.close_idle(idle, |key| {
            let for_all = key.user.is_none() && self.followed.contains_key(&key.package);
            for_all || (key.declared.is_none() && self.watched.has_any(key))
        });
    }

    /// Closes all connections. Called after the last call.
    pub fn close(&self) {
        self.over.cancel();
    }

    fn health_snapshot(&self, package: &PackageName) -> UpstreamHealth {
        self.health.get(package).map(|health| health.clone()).unwrap_or_default()
    }

    fn health_mut(&self, package: &PackageName, with: impl FnOnce(&mut UpstreamHealth)) {
        let changed = {
            let mut health = self.health.entry(package.clone()).or_default();
            let before = (health.state, health.problem.clone());
            with(&mut health);
            before != (health.state, health.problem.clone())
        };
        if changed {
            self.parts.stores.announcements.notify(&Change::UpstreamStatusChanged);
        }
    }

    /// Refuses a response that is larger than the limit.
    fn check_size(&self, app: &AppHead, answer: &RawValue) -> Result<(), ToolError> {
        let (size, limit) = (answer.get().len(), self.parts.settings.result_bytes);
        if size <= limit {
            return Ok(());
        }
        let text = format!(
            "{} ran, but its response has {size} bytes and the limit is {limit}; ask for less. \
             The operator can raise calls.result_bytes.",
            app.package()
        );
        Err(ToolError::new(ErrorCode::InvalidResponse, text))
    }

    /// Records why there is no connection.
    fn record_no_connection(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        error: &UpstreamConnectError,
    ) {
        self.health_mut(package, |health| match error {
            UpstreamConnectError::Client(McpClientError::AuthorizationNeeded { .. }) => {
                health.record_authorization_needed(record.details.auth);
            }
            // Concerns one user, or our own limit: others are not affected.
            UpstreamConnectError::Client(McpClientError::Credentials(_))
            | UpstreamConnectError::TooMany(_) => {
                tracing::warn!(upstream = %package, %error, "no connection to upstream");
            }
            // Connections that close during shutdown are not failures.
            _ if self.parts.stopping.is_cancelled() => {}
            error => {
                tracing::warn!(upstream = %package, %error, "upstream unreachable");
                health.record_unreachable(error.to_string());
            }
        });
    }

    /// Watches a resource for a user, as long as the user keeps listening.
    async fn watch_resource(&self, cx: &CallContext, app: &AppHead, uri: &str) -> Result<(), ToolError> {
        let package = app.package();
        let record = app.record.upstream().ok_or_else(|| errors::not_an_upstream_error(package))?;
        let key = ConnectionKey::base_key(package, record, Some(&cx.user));
        let wanted = self.watched.add(&key, uri, &cx.user, self.connections.now_s());
        wanted.map_err(|TooManyWatched| {
            let text =
                format!("{MAX_WATCHED} resources of {package} are already watched; this is the limit.");
            ToolError::new(ErrorCode::Overloaded, text)
        })?;
        let base = self.base_connection(package, record, Some(&cx.user)).await;
        base.map_err(|error| errors::unreachable_error(package, &error))?;
        self.update_watch(&key);
        Ok(())
    }
}

#[async_trait]
impl ToolSource for UpstreamSource {
    async fn make_ready<'a>(
        &'a self,
        cx: &'a CallContext,
        tool: &'a Tool,
    ) -> Result<Box<dyn ReadyTool + 'a>, ToolError> {
        let record =
            tool.app.record.upstream().ok_or_else(|| errors::not_an_upstream_error(tool.app.package()))?;
        let client = self.ready_client(cx, &tool.app, record).await?;
        Ok(Box::new(ConnectedUpstream { source: self, cx, tool, client }))
    }

    async fn forward_request(
        &self,
        cx: &CallContext,
        app: &AppHead,
        request: &ForwardedRequest,
    ) -> Result<ForwardedReply, ToolError> {
        if matches!(request.method, ForwardedMethod::Subscribe | ForwardedMethod::Unsubscribe) {
            if request.method == ForwardedMethod::Subscribe {
                self.watch_resource(cx, app, &request.name).await?;
            }
            return Ok(ForwardedReply::Done(to_raw(&serde_json::Map::new())));
        }
        if let Some(reply) = contents::pinned_page(app, request) {
            return reply;
        }
        let params = serde_json::from_str(RawValue::get(&request.params)).unwrap_or_default();
        let wanted = UpstreamRequest {
            method: request.method.as_str(),
            name: &request.name,
            params,
            mirrored: Vec::new(),
            harmless: true,
        };
        match self.request_upstream(cx, app, wanted, None).await? {
            UpstreamOutcome::Awaited(awaited) => Ok(ForwardedReply::AwaitingInput(awaited)),
            UpstreamOutcome::Done(raw) => {
                self.check_size(app, &raw)?;
                Ok(ForwardedReply::Done(links::map_resource_links(
                    app.package(),
                    links::strip_server_info(raw),
                )))
            }
        }
    }
}

/// An upstream with an open connection for this caller.
struct ConnectedUpstream<'a> {
    source: &'a UpstreamSource,
    cx: &'a CallContext,
    tool: &'a Tool,
    client: McpClient,
}

#[async_trait]
impl ReadyTool for ConnectedUpstream<'_> {
    async fn invoke(self: Box<Self>, arguments: &ValidArguments) -> Result<CallReply, ToolError> {
        let Self { source, cx, tool, client } = *self;
        let mut params = RawFields::default();
        params.set("arguments", arguments.raw().to_owned());
        params.set("name", to_raw(&*tool.remote));
        let mirrored = tool.mirrored_parameters().iter();
        let mirrored =
            mirrored.filter_map(|one| Some((one.header.clone(), one.header_value(arguments.value())?)));
        let wanted = UpstreamRequest {
            method: method::TOOLS_CALL,
            name: &tool.remote,
            params,
            mirrored: mirrored.collect(),
            harmless: tool.definition.is_harmless(),
        };
        match source.request_upstream(cx, &tool.app, wanted, Some(client)).await? {
            UpstreamOutcome::Awaited(awaited) => Ok(CallReply::AwaitingInput(awaited)),
            UpstreamOutcome::Done(raw) => {
                source.check_size(&tool.app, &raw)?;
                let raw = links::map_resource_links(tool.app.package(), links::strip_server_info(raw));
                let result = McpResult::from_raw(raw).ok_or_else(|| {
                    let text =
                        format!("{} answered with something that is not a tool result.", tool.app.package());
                    ToolError::new(ErrorCode::InvalidResponse, text)
                })?;
                Ok(CallReply::Done(ToolResult::from_mcp(result)))
            }
        }
    }
}
