//! MCP servers in the world as sources of tools, prompts and resources.
//!
//! | look for | in |
//! | --- | --- |
//! | how one is reached, and its secrets | `spec` |
//! | its connections | `connections` |
//! | its lists, kept up to date | `sync` |
//! | what one user's connection tells, resources that are watched | `hear`, `watched` |
//! | one request, with everything that is said meanwhile | `exchange` |
//! | who asks, in every question to a user | `origin` |
//! | whether it answers | `health`, `call_watch` |
//! | users who have to say yes first | `authorize` |

mod authorize;
mod call_watch;
mod changes;
mod connections;
mod errors;
mod exchange;
mod health;
mod hear;
mod held;
mod origin;
mod spec;
mod sync;
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
    CallContext, Reply, Tool, ToolError,
    catalog::AppHead,
    ports::{
        Change, ChangeSubscriber, Clock, Ids, Passed, PassedMethod, PassedReply, ReadyTool, Secrets, Stores,
        ToolSource, UpstreamRecord,
    },
    schema::ValidArguments,
};
use toolyard_mcp_client::{Client, ClientError};
use toolyard_net::{Guard, HttpClient, ReferralClients};
use toolyard_protocol::{
    ErrorCode, PackageName, UserId,
    mcp::method,
    raw::{RawFields, to_raw},
    result::{McpResult, ToolResult},
    upstream::UpstreamStatus,
};

pub use toolyard_mcp_client::oauth::Callback;

use self::{
    authorize::UserTokens,
    connections::{Connections, Key, NoConnection},
    exchange::{Got, Wanted},
    health::Health,
    held::HeldRequests,
    watched::{MAX_WATCHED, TooMany, Watched},
};
pub use self::{
    authorize::{AuthorizeError, Authorized, OAuthSetup},
    spec::{BadSpec, Environment},
};
use crate::links;

/// Every bound of upstreams.
#[derive(Debug, Clone)]
pub struct UpstreamSettings {
    /// For reaching one, a process's start included.
    pub connect: Duration,
    /// For each page of a list.
    pub list: Duration,
    /// Lists are read again after this time, whatever an upstream says.
    pub refresh: Duration,
    /// A user's connection is closed after this time without use.
    pub idle: Duration,
    /// How long a request is held open for a caller to come back.
    pub held: Duration,
    /// Requests held open at once.
    pub max_held: usize,
    /// Connections at once.
    pub max_connections: usize,
    /// Largest result of a tool, a prompt or a resource, in bytes.
    pub result_bytes: usize,
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
        }
    }
}

/// What the source needs.
pub struct UpstreamParts {
    /// Upstreams, their last good lists, and users' tokens.
    pub stores: Stores,
    /// Seals and opens.
    pub secrets: Arc<dyn Secrets>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Unguessable numbers.
    pub ids: Arc<dyn Ids>,
    /// Requests that leave.
    pub http: HttpClient,
    /// Requests to addresses that an upstream names, for its authorization.
    pub referrals: ReferralClients,
    /// Where they may go.
    pub guard: Guard,
    /// The server's environment.
    pub environment: Environment,
    /// Where users come back to after they authorized an upstream.
    pub oauth: OAuthSetup,
    /// Background work.
    pub tasks: TaskTracker,
    /// Fires when the server stops.
    pub stopping: CancellationToken,
    /// Every bound.
    pub settings: UpstreamSettings,
}

/// The source.
pub struct UpstreamSource {
    /// For tasks that hear connections and must not keep the source alive.
    me: Weak<Self>,
    parts: UpstreamParts,
    /// Ends the connections: later than `stopping`, because calls under way need them.
    over: CancellationToken,
    connections: Connections,
    held: HeldRequests,
    health: DashMap<PackageName, Health>,
    followed: DashMap<PackageName, Arc<Notify>>,
    watched: Watched,
    tokens: UserTokens,
    /// Upstreams as they are connected. A change that was announced twice is followed once.
    connected: DashMap<PackageName, UpstreamRecord>,
}

impl UpstreamSource {
    /// A source of these parts. Nothing is asked before [`UpstreamSource::start`].
    pub fn new(parts: UpstreamParts) -> Arc<Self> {
        let held = HeldRequests::new(parts.settings.held, parts.settings.max_held);
        let tokens = UserTokens::new(&parts);
        let source = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            parts,
            over: CancellationToken::new(),
            connections: Connections::new(),
            held,
            health: DashMap::new(),
            followed: DashMap::new(),
            watched: Watched::default(),
            tokens,
            connected: DashMap::new(),
        });
        let subscriber: Arc<dyn ChangeSubscriber> = source.clone();
        source.parts.stores.announcements.subscribe(Arc::downgrade(&subscriber));
        source
    }

    /// How an upstream is doing. What it offers is the catalog's to say.
    pub fn status(&self, package: &PackageName) -> UpstreamStatus {
        self.health(package).status()
    }

    /// Who this server is, for authorization servers.
    pub fn client_metadata(&self) -> serde_json::Value {
        self.parts.oauth.client_metadata()
    }

    /// Closes what nobody uses. Called now and then, with whoever could hear of a change now.
    pub fn tidy(&self, listens: impl Fn(&UserId) -> bool) {
        self.held.end_late();
        let (idle, now) = (self.parts.settings.idle.as_secs(), self.connections.now_s());
        for key in self.watched.drop_unheard(now, idle, listens) {
            self.watch_again(&key);
        }
        self.connections.close_idle(idle, |key| {
            let for_all = key.user.is_none() && self.followed.contains_key(&key.package);
            for_all || (key.declared.is_none() && self.watched.any(key))
        });
    }

    /// Ends all connections. Called when the last call is over.
    pub fn close(&self) {
        self.over.cancel();
    }

    fn health(&self, package: &PackageName) -> Health {
        self.health.get(package).map(|health| health.clone()).unwrap_or_default()
    }

    fn health_mut(&self, package: &PackageName, with: impl FnOnce(&mut Health)) {
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

    /// Refuses an answer that is larger than any source may give.
    fn fits(&self, app: &AppHead, answer: &RawValue) -> Result<(), ToolError> {
        let (size, limit) = (answer.get().len(), self.parts.settings.result_bytes);
        if size <= limit {
            return Ok(());
        }
        let text = format!(
            "{} did what it was asked, but its answer has {size} bytes and at most {limit} are taken; ask for less. \
             The operator can raise calls.result_bytes.",
            app.package()
        );
        Err(ToolError::new(ErrorCode::InvalidResponse, text))
    }

    /// Writes down why there is no connection.
    fn no_connection(&self, package: &PackageName, record: &UpstreamRecord, error: &NoConnection) {
        self.health_mut(package, |health| match error {
            NoConnection::Client(ClientError::AuthorizationNeeded { .. }) => {
                health.wants_authorization(record.details.auth);
            }
            // One user's, or ours: nobody else has to wait for that.
            NoConnection::Client(ClientError::Credentials(_)) | NoConnection::TooMany(_) => {
                tracing::warn!(%package, %error, "no connection to an upstream");
            }
            // What this side closes while it stops is no trouble of theirs.
            _ if self.parts.stopping.is_cancelled() => {}
            error => {
                tracing::warn!(%package, %error, "an upstream cannot be reached");
                health.failed(error.to_string());
            }
        });
    }

    /// Watches a resource for a user, as long as the user listens now and then.
    async fn watch(&self, cx: &CallContext, app: &AppHead, uri: &str) -> Result<(), ToolError> {
        let package = app.package();
        let record = app.record.upstream().ok_or_else(|| errors::not_one(package))?;
        let key = Key::base(package, record, Some(&cx.user));
        let wanted = self.watched.want(&key, uri, &cx.user, self.connections.now_s());
        wanted.map_err(|TooMany| {
            let text = format!("{MAX_WATCHED} resources of {package} are watched already.");
            ToolError::new(ErrorCode::Overloaded, text)
        })?;
        let base = self.base(package, record, Some(&cx.user)).await;
        base.map_err(|error| errors::unreachable(package, &error))?;
        self.watch_again(&key);
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
        let record = tool.app.record.upstream().ok_or_else(|| errors::not_one(tool.app.package()))?;
        let client = self.ready_client(cx, &tool.app, record).await?;
        Ok(Box::new(ConnectedUpstream { source: self, cx, tool, client }))
    }

    async fn pass_on(
        &self,
        cx: &CallContext,
        app: &AppHead,
        request: &Passed,
    ) -> Result<PassedReply, ToolError> {
        if matches!(request.method, PassedMethod::Subscribe | PassedMethod::Unsubscribe) {
            if request.method == PassedMethod::Subscribe {
                self.watch(cx, app, &request.name).await?;
            }
            return Ok(PassedReply::Done(to_raw(&serde_json::Map::new())));
        }
        let params = serde_json::from_str(RawValue::get(&request.params)).unwrap_or_default();
        let wanted = Wanted {
            method: request.method.as_str(),
            name: &request.name,
            params,
            mirrored: Vec::new(),
            harmless: true,
        };
        match self.ask(cx, app, wanted, None).await? {
            Got::Awaited(awaited) => Ok(PassedReply::AwaitingInput(awaited)),
            Got::Done(raw) => {
                self.fits(app, &raw)?;
                Ok(PassedReply::Done(links::mapped(app.package(), links::anonymous(raw))))
            }
        }
    }
}

/// An upstream with an open connection for this caller.
struct ConnectedUpstream<'a> {
    source: &'a UpstreamSource,
    cx: &'a CallContext,
    tool: &'a Tool,
    client: Client,
}

#[async_trait]
impl ReadyTool for ConnectedUpstream<'_> {
    async fn invoke(self: Box<Self>, arguments: &ValidArguments) -> Result<Reply, ToolError> {
        let Self { source, cx, tool, client } = *self;
        let mut params = RawFields::default();
        params.set("arguments", arguments.raw().to_owned());
        params.set("name", to_raw(&*tool.remote));
        let mirrored = tool.mirrored().iter();
        let mirrored = mirrored.filter_map(|one| Some((one.header.clone(), one.to_send(arguments.value())?)));
        let wanted = Wanted {
            method: method::TOOLS_CALL,
            name: &tool.remote,
            params,
            mirrored: mirrored.collect(),
            harmless: tool.definition.is_harmless(),
        };
        match source.ask(cx, &tool.app, wanted, Some(client)).await? {
            Got::Awaited(awaited) => Ok(Reply::AwaitingInput(awaited)),
            Got::Done(raw) => {
                source.fits(&tool.app, &raw)?;
                let raw = links::mapped(tool.app.package(), links::anonymous(raw));
                let result = McpResult::from_raw(raw).ok_or_else(|| {
                    let text =
                        format!("{} answered with something that is no tool result.", tool.app.package());
                    ToolError::new(ErrorCode::InvalidResponse, text)
                })?;
                Ok(Reply::Done(ToolResult::plain(result)))
            }
        }
    }
}
