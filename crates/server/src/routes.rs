//! All routes in one table. The router with its access rules, the OpenAPI document and the test that requests every route
//! without permission are built from it, so no route can be forgotten.

use axum::{
    Router,
    handler::Handler,
    middleware,
    response::{IntoResponse as _, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use http::{Method, StatusCode, Uri};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::{
    auth::GuardedHandler, cluster::RouteHome, cluster::run_at_home, console, doors::chat, doors::mcp,
    doors::oauth, doors::rest, doors::sign_in, doors::ws, error::RequestError, state::ServerState,
    uninterrupted::UninterruptedHandler,
};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteAccess {
    /// Everyone, without a credential.
    Public,
    /// Everyone with a valid credential.
    Authenticated,
    /// A person with a token, not an app.
    Person,
    /// A user, or an operator on behalf of a user.
    User,
    /// A user, or an app that the operator trusts to ask the user.
    Approver,
    /// A user with a session, or an app or operator on behalf of one. A connected client needs a scope for tools.
    Caller,
    /// The same, but a connected client needs the scope `chat`.
    Chat,
    /// The same, but a connected client needs the scope `account`.
    Session,
    /// A developer, curator or operator, or an app with its key.
    Developer,
    /// The app's developer, an operator, or the app itself.
    Owner,
    /// A curator or operator.
    Curator,
    /// An operator.
    Operator,
    /// An operator, or a monitoring system with the token for metrics.
    Metrics,
    /// An app with its key.
    App,
    /// The same as `Caller`, but a refusal refers to the OAuth metadata, as MCP requires.
    Mcp,
    /// A socket that authenticates with its first message or a ticket.
    Socket,
}

/// One route.
pub struct Route {
    /// GET, POST …
    pub method: Method,
    /// `/api/apps/{package}`
    pub path: &'static str,
    /// Who may use it.
    pub access: RouteAccess,
    /// What it does.
    pub summary: &'static str,
    /// Whether what it does is in the audit log. A test checks that it is.
    pub audited: bool,
    /// Whether it is part of the API, as opposed to a file of the web console.
    pub documented: bool,
    pub(crate) home: RouteHome,
    pub(crate) request: Option<fn(&mut SchemaGenerator) -> Schema>,
    pub(crate) response: Option<fn(&mut SchemaGenerator) -> Schema>,
    pub(crate) failure: Option<fn(&mut SchemaGenerator) -> Schema>,
    pub(crate) query: &'static [(&'static str, &'static str)],
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) success: u16,
    pub(crate) deprecated: bool,
    handler: MethodRouter<ServerState>,
}

impl Route {
    /// A route whose access rule is enforced before its handler runs.
    pub(crate) fn new<H, T>(
        method: Method,
        path: &'static str,
        access: RouteAccess,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: Handler<T, ServerState>,
        T: 'static,
    {
        Self::checked_by_handler(method, path, access, summary, GuardedHandler { access, handler })
    }

    /// The same for a route whose changes are recorded in the audit log. It runs to its end even if the client disconnects.
    pub(crate) fn audited<H, T>(
        method: Method,
        path: &'static str,
        access: RouteAccess,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: Handler<T, ServerState>,
        T: 'static,
    {
        let handler = UninterruptedHandler(handler);
        Self { audited: true, ..Self::new(method, path, access, summary, handler) }
    }

    /// A route whose handler enforces the access rule itself, because its credential is in an unusual place, or its
    /// refusals have a format of their own.
    pub(crate) fn checked_by_handler<H, T>(
        method: Method,
        path: &'static str,
        access: RouteAccess,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: Handler<T, ServerState>,
        T: 'static,
    {
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET);
        Self {
            method,
            path,
            access,
            summary,
            audited: false,
            documented: true,
            home: RouteHome::of_access(access),
            request: None,
            response: None,
            failure: None,
            query: &[],
            headers: &[],
            success: 200,
            deprecated: false,
            handler: on(filter, handler),
        }
    }

    pub(crate) fn request_body<T: JsonSchema>(mut self) -> Self {
        self.request = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    pub(crate) fn response_body<T: JsonSchema>(mut self) -> Self {
        self.response = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// The format of its errors, in addition to the common one.
    pub(crate) fn error_body<T: JsonSchema>(mut self) -> Self {
        self.failure = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Where it runs in a cluster, if its access rule does not say so.
    pub(crate) fn runs_at(mut self, home: RouteHome) -> Self {
        self.home = home;
        self
    }

    pub(crate) fn headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.headers = headers;
        self
    }

    pub(crate) fn query(mut self, query: &'static [(&'static str, &'static str)]) -> Self {
        self.query = query;
        self
    }

    pub(crate) fn success_status(mut self, status: u16) -> Self {
        self.success = status;
        self
    }

    pub(crate) fn undocumented(mut self) -> Self {
        self.documented = false;
        self
    }

    pub(crate) fn deprecated(mut self) -> Self {
        self.deprecated = true;
        self
    }
}

/// Every route.
pub fn route_table() -> Vec<Route> {
    let mut routes = Vec::new();
    routes.extend(rest::tools::routes());
    routes.extend(rest::calls::routes());
    routes.extend(rest::approvals::routes());
    routes.extend(rest::approval_rules::routes());
    routes.extend(rest::push::routes());
    routes.extend(rest::definitions::routes());
    routes.extend(rest::changes::routes());
    routes.extend(rest::usage::routes());
    routes.extend(rest::audit::routes());
    routes.extend(rest::apps::routes());
    routes.extend(rest::tool_sets::routes());
    routes.extend(rest::tool_check::routes());
    routes.extend(rest::keys::routes());
    routes.extend(rest::icons::routes());
    routes.extend(rest::installs::routes());
    routes.extend(rest::settings::routes());
    routes.extend(rest::session::routes());
    routes.extend(rest::me::routes());
    routes.extend(rest::account::routes());
    routes.extend(sign_in::routes());
    routes.extend(rest::tokens::routes());
    routes.extend(rest::users::routes());
    routes.extend(rest::library::routes());
    routes.extend(rest::devices::routes());
    routes.extend(rest::sdk::routes());
    routes.extend(rest::legacy::routes());
    routes.extend(rest::upstreams::routes());
    routes.extend(rest::oauth::routes());
    routes.extend(rest::plugins::routes());
    routes.extend(oauth::routes());
    routes.extend(rest::models::routes());
    routes.extend(rest::tts::routes());
    routes.extend(rest::config::routes());
    routes.extend(rest::health::routes());
    routes.extend(mcp::routes());
    routes.extend(chat::routes());
    routes.extend(ws::routes());
    routes.extend(console::routes());
    routes
}

pub(crate) fn build_router(state: &ServerState) -> Router<ServerState> {
    let handler = |route: Route| match state.cluster.is_some() && route.home != RouteHome::Anywhere {
        true => route.handler.layer(middleware::from_fn_with_state((state.clone(), route.home), run_at_home)),
        false => route.handler,
    };
    let router = route_table()
        .into_iter()
        .fold(Router::new(), |router, route| router.route(route.path, handler(route)));
    router.fallback(route_not_found).method_not_allowed_fallback(method_not_allowed)
}

async fn route_not_found(uri: Uri) -> Response {
    RequestError::not_found(format_args!("route {}", uri.path())).into_response()
}

async fn method_not_allowed(method: Method, uri: Uri) -> Response {
    let text = format!("{} does not support {method}; see /api/openapi.json", uri.path());
    let mut response = RequestError::invalid_request(text).into_response();
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}
