//! Keeps change notifications coming: one subscription in the modern era, the standing stream and single subscriptions
//! in the handshake era.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value, json};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep, timeout},
};
use toolyard_protocol::{mcp::method, raw::to_raw};

use crate::{
    error::McpClientError, events::ServerEvent, http::StreamResumption, limits::BackOff, link::ServerLink,
    list::UpstreamListKind, request::RequestOptions, server::ServerDescription, session::SessionDoubt,
};

/// Which changes to report. Servers report only changes that they declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeFilter {
    /// Changes of the tool list.
    pub tools: bool,
    /// Changes of the prompt list.
    pub prompts: bool,
    /// Changes of the resource list.
    pub resources: bool,
    /// Updates of single resources.
    pub uris: BTreeSet<String>,
}

impl Default for ChangeFilter {
    /// Every list, no single resource.
    fn default() -> Self {
        Self { tools: true, prompts: true, resources: true, uris: BTreeSet::new() }
    }
}

impl ChangeFilter {
    /// No changes.
    pub fn none() -> Self {
        Self { tools: false, prompts: false, resources: false, uris: BTreeSet::new() }
    }

    /// The part of the filter that this server supports.
    fn supported_by(&self, server: &ServerDescription) -> Self {
        Self {
            tools: self.tools && server.notifies_list_changes(UpstreamListKind::Tools),
            prompts: self.prompts && server.notifies_list_changes(UpstreamListKind::Prompts),
            resources: self.resources && server.notifies_list_changes(UpstreamListKind::Resources),
            uris: if server.notifies_resource_updates() { self.uris.clone() } else { BTreeSet::new() },
        }
    }

    fn is_none(&self) -> bool {
        *self == Self::none()
    }

    /// The params of `subscriptions/listen`.
    fn to_listen_params(&self) -> Value {
        let mut filter = Map::new();
        for (wanted, name) in [
            (self.tools, "toolsListChanged"),
            (self.prompts, "promptsListChanged"),
            (self.resources, "resourcesListChanged"),
        ] {
            if wanted {
                filter.insert(name.to_owned(), Value::Bool(true));
            }
        }
        if !self.uris.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(self.uris));
        }
        json!({ "notifications": filter })
    }

    /// After a gap: everything watched may have changed, if it was read before.
    fn assume_changed(&self, link: &ServerLink) {
        if !link.was_listed() {
            return;
        }
        let hub = link.wire().hub();
        for (watched, event) in [
            (self.tools, ServerEvent::ToolsChanged),
            (self.prompts, ServerEvent::PromptsChanged),
            (self.resources, ServerEvent::ResourcesChanged),
        ] {
            if watched {
                hub.publish(event);
            }
        }
        for uri in &self.uris {
            hub.publish(ServerEvent::ResourceUpdated(uri.clone()));
        }
    }
}

/// Starts the tasks that receive changes, for the lifetime of the client. Returns once server requests can arrive, if
/// there is a handler: servers do not repeat them.
pub(crate) async fn start_watching(link: &Arc<ServerLink>) {
    let hub = link.wire().hub();
    if link.server().revision.is_modern() {
        hub.tasks.spawn_until_stop(keep_subscription(link.clone()));
        return;
    }
    hub.tasks.spawn_until_stop(keep_resource_subscriptions(link.clone()));
    if link.wire().http().is_some() {
        let (tried, first_try) = oneshot::channel();
        hub.tasks.spawn_until_stop(keep_standing_stream(link.clone(), tried));
        if hub.answers_server_requests() && timeout(link.wire().courtesy(), first_try).await.is_err() {
            tracing::debug!("standing stream not open yet");
        }
    }
}

/// The modern era: one subscription, renewed when it ends or when the filter changes.
async fn keep_subscription(link: Arc<ServerLink>) {
    let mut filters = link.change_filter();
    let mut back_off = link.back_off();
    loop {
        let filter = filters.borrow_and_update().supported_by(&link.server());
        let again = async {
            if !filter.is_none() && subscribe_once(&link, &filter, &mut back_off).await {
                sleep(back_off.next()).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = again => {}
            changed = filters.changed() => if changed.is_err() { return },
        }
    }
}

/// Runs one subscription to its end. `false` if another one is of no use.
async fn subscribe_once(link: &ServerLink, filter: &ChangeFilter, back_off: &mut BackOff) -> bool {
    let stands = Arc::new(Notify::new());
    let revision = Some(link.server().revision);
    let params = to_raw(&filter.to_listen_params());
    let made =
        link.wire().prepare_request(revision, method::LISTEN, Some(&params), RequestOptions::default());
    let Ok(mut call) = made else { return false };
    call.inbox.acknowledged = Some(stands.clone());
    let mut listening = std::pin::pin!(link.wire().exchange(call));
    let mut since = Instant::now();
    let ended = loop {
        tokio::select! {
            () = stands.notified() => {
                since = Instant::now();
                filter.assume_changed(link);
            }
            ended = &mut listening => break ended,
        }
    };
    back_off.reset_if_stable(since);
    match ended.map_err(|failed| failed.error) {
        Err(McpClientError::Rpc(error)) => {
            tracing::debug!(%error, "server refused the subscription");
            false
        }
        Err(error) => {
            tracing::debug!(%error, "subscription ended");
            true
        }
        Ok(_) => true,
    }
}

/// The handshake era over HTTP: the standing stream. It also carries server requests that belong to no request of ours.
async fn keep_standing_stream(link: Arc<ServerLink>, tried: oneshot::Sender<()>) {
    let Some(http) = link.wire().http() else { return };
    let mut tried = Some(tried);
    let mut filters = link.change_filter();
    let mut sessions = link.session_counter();
    let mut resume = StreamResumption::new(link.back_off());
    loop {
        let filter = filters.borrow_and_update().supported_by(&link.server());
        if filter.is_none() && !link.wire().hub().answers_server_requests() {
            drop(tried.take());
            if filters.changed().await.is_err() {
                return;
            }
            continue;
        }
        let session = http.session();
        sessions.mark_unchanged();
        resume.record_attempt();
        let opened = |is_gap: bool| {
            drop(tried.take());
            if is_gap {
                filter.assume_changed(&link);
            }
        };
        let ended = http.read_standing_stream(link.wire(), &mut resume, opened).await;
        drop(tried.take());
        match ended {
            Ok(()) => {}
            Err(McpClientError::Status { status, text }) if status.is_client_error() => {
                let error = McpClientError::Status { status, text };
                // Without a session there is none to lose: such a server has no standing stream, and is not asked
                // again.
                let doubt = match session.id.is_some() {
                    true => SessionDoubt::from_status(status, &error, true),
                    false => SessionDoubt::None,
                };
                if link.is_lost(&session, doubt).await {
                    resume.forget_position();
                    if let Err(error) = link.reopen_session(&session).await {
                        tracing::debug!(%error, "session lost");
                    }
                } else {
                    tracing::debug!(%status, "server has no standing stream");
                    // The next session may be with another version of the server.
                    if sessions.changed().await.is_err() {
                        return;
                    }
                }
            }
            Err(error) => tracing::debug!(%error, "standing stream ended"),
        }
        sleep(resume.next_delay()).await;
    }
}

/// The handshake era: subscriptions to single resources, renewed in each new session.
async fn keep_resource_subscriptions(link: Arc<ServerLink>) {
    let mut filters = link.change_filter();
    let mut sessions = link.session_counter();
    let mut held = BTreeSet::new();
    loop {
        let filter = filters.borrow_and_update().supported_by(&link.server()).uris;
        let (more, less): (Vec<_>, Vec<_>) =
            (filter.difference(&held).cloned().collect(), held.difference(&filter).cloned().collect());
        let all = more.iter().map(|uri| (method::RESOURCES_SUBSCRIBE, uri));
        for (method, uri) in all.chain(less.iter().map(|uri| (method::RESOURCES_UNSUBSCRIBE, uri))) {
            let params = to_raw(&json!({ "uri": uri }));
            if let Err(error) = link.request(method, Some(&params), RequestOptions::default()).await {
                tracing::debug!(%error, method, uri, "resource subscription failed");
            }
        }
        held = filter;
        tokio::select! {
            changed = filters.changed() => if changed.is_err() { return },
            changed = sessions.changed() => match changed {
                Ok(()) => held.clear(),
                Err(_) => return,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::mcp::McpRevision;

    use super::*;

    #[test]
    fn only_supported_changes_are_subscribed() {
        let said = json!({ "capabilities": { "tools": { "listChanged": true }, "prompts": {},
            "resources": { "subscribe": true } } });
        let server = ServerDescription::from_result(McpRevision::NEWEST, to_raw(&said)).unwrap();
        let filters = ChangeFilter { uris: ["a:b".to_owned()].into(), ..ChangeFilter::default() };
        let filter =
            json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["a:b"] } });
        assert_eq!(filters.supported_by(&server).to_listen_params(), filter);
        let silent = ServerDescription::from_result(
            McpRevision::NEWEST,
            to_raw(&json!({ "capabilities": { "tools": {} } })),
        )
        .unwrap();
        assert!(filters.supported_by(&silent).is_none());
    }
}
