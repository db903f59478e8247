//! Keeps the way open on which a server tells what changed: a subscription in the modern era, the standing stream and
//! single subscriptions in the handshake era.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value, json};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep, timeout},
};
use toolyard_protocol::{mcp::method, raw::to_raw};

use crate::{
    error::ClientError, events::ServerEvent, http::Resume, limits::BackOff, link::Link, list::ListKind,
    request::RequestOptions, server::Server, session::SessionDoubt,
};

/// What to hear of. Servers tell only what they offer to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// The list of tools.
    pub tools: bool,
    /// The list of prompts.
    pub prompts: bool,
    /// The list of resources.
    pub resources: bool,
    /// Single resources.
    pub uris: BTreeSet<String>,
}

impl Default for Watch {
    /// Every list, no single resource.
    fn default() -> Self {
        Self { tools: true, prompts: true, resources: true, uris: BTreeSet::new() }
    }
}

impl Watch {
    /// Nothing at all.
    pub fn nothing() -> Self {
        Self { tools: false, prompts: false, resources: false, uris: BTreeSet::new() }
    }

    /// What of it this server tells.
    fn of(&self, server: &Server) -> Self {
        Self {
            tools: self.tools && server.tells_changes(ListKind::Tools),
            prompts: self.prompts && server.tells_changes(ListKind::Prompts),
            resources: self.resources && server.tells_changes(ListKind::Resources),
            uris: if server.tells_updates() { self.uris.clone() } else { BTreeSet::new() },
        }
    }

    fn is_nothing(&self) -> bool {
        *self == Self::nothing()
    }

    /// As `subscriptions/listen` wants it.
    fn filter(&self) -> Value {
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

    /// After a gap: whatever is watched may have changed, if anybody has looked at it before.
    fn assume_changed(&self, link: &Link) {
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
                hub.tell(event);
            }
        }
        for uri in &self.uris {
            hub.tell(ServerEvent::ResourceUpdated(uri.clone()));
        }
    }
}

/// Starts what keeps the way open, for as long as the client lives. Returns once questions can come in, if somebody is
/// there to answer them: servers do not ask twice.
pub(crate) async fn start(link: &Arc<Link>) {
    let hub = link.wire().hub();
    if link.server().revision.is_modern() {
        hub.tasks.spawn_until_stop(listen(link.clone()));
        return;
    }
    hub.tasks.spawn_until_stop(subscribe(link.clone()));
    if link.wire().http().is_some() {
        let (tried, first_try) = oneshot::channel();
        hub.tasks.spawn_until_stop(stand_by(link.clone(), tried));
        if hub.takes_asks() && timeout(link.wire().courtesy(), first_try).await.is_err() {
            tracing::debug!("the standing stream is not open yet");
        }
    }
}

/// The modern era: one subscription, made anew when it ends or when something else is wanted.
async fn listen(link: Arc<Link>) {
    let mut wish = link.watched();
    let mut back_off = link.back_off();
    loop {
        let wanted = wish.borrow_and_update().of(&link.server());
        let again = async {
            if !wanted.is_nothing() && listen_once(&link, &wanted, &mut back_off).await {
                sleep(back_off.next()).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = again => {}
            changed = wish.changed() => if changed.is_err() { return },
        }
    }
}

/// One subscription to its end. False where there is no use in another.
async fn listen_once(link: &Link, wanted: &Watch, back_off: &mut BackOff) -> bool {
    let stands = Arc::new(Notify::new());
    let revision = Some(link.server().revision);
    let params = to_raw(&wanted.filter());
    let made = link.wire().make(revision, method::LISTEN, Some(&params), RequestOptions::default());
    let Ok(mut call) = made else { return false };
    call.inbox.stands = Some(stands.clone());
    let mut listening = std::pin::pin!(link.wire().exchange(call));
    let mut since = Instant::now();
    let ended = loop {
        tokio::select! {
            () = stands.notified() => {
                since = Instant::now();
                wanted.assume_changed(link);
            }
            ended = &mut listening => break ended,
        }
    };
    back_off.stood(since);
    match ended.map_err(|failed| failed.error) {
        Err(ClientError::Rpc(error)) => {
            tracing::debug!(%error, "the server takes no subscription");
            false
        }
        Err(error) => {
            tracing::debug!(%error, "the subscription ended");
            true
        }
        Ok(_) => true,
    }
}

/// The handshake era over HTTP: the standing stream. It is also where questions come in that belong to no request.
async fn stand_by(link: Arc<Link>, tried: oneshot::Sender<()>) {
    let Some(http) = link.wire().http() else { return };
    let mut tried = Some(tried);
    let mut wish = link.watched();
    let mut sessions = link.sessions();
    let mut resume = Resume::new(link.back_off());
    loop {
        let wanted = wish.borrow_and_update().of(&link.server());
        if wanted.is_nothing() && !link.wire().hub().takes_asks() {
            drop(tried.take());
            if wish.changed().await.is_err() {
                return;
            }
            continue;
        }
        let session = http.session();
        sessions.mark_unchanged();
        resume.failed();
        let opened = |is_gap: bool| {
            drop(tried.take());
            if is_gap {
                wanted.assume_changed(&link);
            }
        };
        let ended = http.stand_by(link.wire(), &mut resume, opened).await;
        drop(tried.take());
        match ended {
            Ok(()) => {}
            Err(ClientError::Status { status, text }) if status.is_client_error() => {
                let error = ClientError::Status { status, text };
                // Without a session there is none to lose: such a server has no standing stream, and is not asked twice.
                let doubt = match session.id.is_some() {
                    true => SessionDoubt::from_status(status, &error, true),
                    false => SessionDoubt::None,
                };
                if link.is_lost(&session, doubt).await {
                    resume.forget();
                    if let Err(error) = link.reopen(&session).await {
                        tracing::debug!(%error, "the session is lost");
                    }
                } else {
                    tracing::debug!(%status, "the server has no standing stream");
                    // Another session may be one of another version of the server.
                    if sessions.changed().await.is_err() {
                        return;
                    }
                }
            }
            Err(error) => tracing::debug!(%error, "the standing stream ended"),
        }
        sleep(resume.wait()).await;
    }
}

/// The handshake era: subscriptions to single resources, made again in each new session.
async fn subscribe(link: Arc<Link>) {
    let mut wish = link.watched();
    let mut sessions = link.sessions();
    let mut held = BTreeSet::new();
    loop {
        let wanted = wish.borrow_and_update().of(&link.server()).uris;
        let (more, less): (Vec<_>, Vec<_>) =
            (wanted.difference(&held).cloned().collect(), held.difference(&wanted).cloned().collect());
        let all = more.iter().map(|uri| (method::RESOURCES_SUBSCRIBE, uri));
        for (method, uri) in all.chain(less.iter().map(|uri| (method::RESOURCES_UNSUBSCRIBE, uri))) {
            let params = to_raw(&json!({ "uri": uri }));
            if let Err(error) = link.request(method, Some(&params), RequestOptions::default()).await {
                tracing::debug!(%error, uri, "`{method}` failed");
            }
        }
        held = wanted;
        tokio::select! {
            changed = wish.changed() => if changed.is_err() { return },
            changed = sessions.changed() => match changed {
                Ok(()) => held.clear(),
                Err(_) => return,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::mcp::Revision;

    use super::*;

    #[test]
    fn only_what_the_server_tells_is_asked_for() {
        let said = json!({ "capabilities": { "tools": { "listChanged": true }, "prompts": {},
            "resources": { "subscribe": true } } });
        let server = Server::read(Revision::NEWEST, to_raw(&said)).unwrap();
        let wish = Watch { uris: ["a:b".to_owned()].into(), ..Watch::default() };
        let filter =
            json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["a:b"] } });
        assert_eq!(wish.of(&server).filter(), filter);
        let silent =
            Server::read(Revision::NEWEST, to_raw(&json!({ "capabilities": { "tools": {} } }))).unwrap();
        assert!(wish.of(&silent).is_nothing());
    }
}
