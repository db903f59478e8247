//! The life of a request on any transport: an injected fault, or the response of the method.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    FixtureSet,
    faults::InjectedFault,
    jobs,
    message::{AnswerStep, RequestEra, RpcFailure, UpstreamCall},
    state::{CancelSignal, OfferListKind, UpstreamShared},
};

impl UpstreamShared {
    /// Runs a request until it ends or the client cancels it.
    pub(super) async fn run_call(
        self: Arc<Self>,
        call: UpstreamCall,
        cancel: CancellationToken,
        how: CancelSignal,
    ) {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = cancel.cancelled() => self.record_cancelled(&call, how),
            () = self.serve_call(&call) => {}
        }
    }

    async fn serve_call(&self, call: &UpstreamCall) {
        if let Some(fault) = self.take_fault(call) {
            match fault {
                InjectedFault::Hold => self.gate.acquire().await.unwrap().forget(),
                fault => match fault.into_step(call) {
                    Some(out) => return drop(call.out.send(out).await),
                    None => return std::future::pending().await,
                },
            }
        }
        let answer = self.dispatch(call).await;
        match (&call.side, call.target()) {
            (RequestEra::Legacy(session), "test_reconnection") if !session.id.is_empty() => {
                let event = format!("event-{}", self.next_number());
                let message = match answer {
                    Ok(result) => json!({ "jsonrpc": "2.0", "id": call.id, "result": result }),
                    Err(failure) => failure.to_message(Some(&call.id)),
                };
                session.park_answer(&event, message.clone());
                drop(call.out.send(AnswerStep::Park { event, message }).await);
            }
            _ => call.send_answer(answer, &self.server_info()).await,
        }
    }

    fn take_fault(&self, call: &UpstreamCall) -> Option<InjectedFault> {
        let mut script = self.script.lock().unwrap();
        let size = script.options.page_size.unwrap_or(usize::MAX);
        let page = call.params["cursor"]
            .as_str()
            .map_or(1, |cursor| cursor_position(cursor).unwrap_or(0) / size + 1);
        script.orders.take_fault(call, page)
    }

    async fn dispatch(&self, call: &UpstreamCall) -> Result<Value, RpcFailure> {
        match (&call.side, call.method.as_str()) {
            (_, "tools/list") => self.list_page(call, OfferListKind::Tools),
            (_, "prompts/list") => self.list_page(call, OfferListKind::Prompts),
            (_, "resources/list") => self.list_page(call, OfferListKind::Resources),
            (_, "resources/templates/list") => self.list_page(call, OfferListKind::Templates),
            (_, "tools/call") => self.call_tool(call).await,
            (_, "prompts/get") => self.get_prompt(call).await,
            (_, "resources/read") => self.read_resource(call),
            (_, "completion/complete") => self.complete_argument(call),
            (RequestEra::Modern, "server/discover") => Ok(self.discover()),
            (RequestEra::Modern, "subscriptions/listen") => self.handle_listen(call).await,
            (RequestEra::Modern, "tasks/get" | "tasks/update" | "tasks/cancel") => self.handle_task(call),
            (RequestEra::Legacy(session), "initialize") => Ok(json!({
                "protocolVersion": session.version,
                "capabilities": self.capabilities(),
                "serverInfo": self.server_info(),
                "instructions": self.options().instructions,
            })),
            (RequestEra::Legacy(_), "ping") => Ok(json!({})),
            (RequestEra::Legacy(session), "logging/setLevel") => {
                let level = call.params["level"]
                    .as_str()
                    .ok_or_else(|| RpcFailure::invalid_params("level is missing"))?;
                session.set_level(level);
                Ok(json!({}))
            }
            (RequestEra::Legacy(session), "resources/subscribe") => {
                session.subscribe(call.target());
                Ok(json!({}))
            }
            (RequestEra::Legacy(session), "resources/unsubscribe") => {
                session.unsubscribe(call.target());
                Ok(json!({}))
            }
            (_, method) => Err(RpcFailure::method_not_found(method)),
        }
    }

    fn discover(&self) -> Value {
        let options = self.options();
        let mut capabilities = self.capabilities();
        if options.fixtures == FixtureSet::Conformance {
            capabilities["extensions"] = json!({ jobs::EXTENSION: {} });
        }
        json!({
            "supportedVersions": options.era.versions(),
            "capabilities": capabilities,
            "instructions": options.instructions,
            "ttlMs": options.ttl_ms,
            "cacheScope": options.cache_scope,
        })
    }

    fn list_page(&self, call: &UpstreamCall, list: OfferListKind) -> Result<Value, RpcFailure> {
        let script = self.script.lock().unwrap();
        let items =
            script.lists.items(list).as_ref().ok_or_else(|| RpcFailure::method_not_found(&call.method))?;
        let from = match &call.params["cursor"] {
            Value::Null => 0,
            cursor => cursor
                .as_str()
                .and_then(cursor_position)
                .filter(|from| *from <= items.len())
                .ok_or_else(|| RpcFailure::invalid_params("the cursor is not one of ours"))?,
        };
        let to = script.options.page_size.map_or(items.len(), |size| items.len().min(from + size));
        let key = match list {
            OfferListKind::Tools => "tools",
            OfferListKind::Prompts => "prompts",
            OfferListKind::Resources => "resources",
            OfferListKind::Templates => "resourceTemplates",
        };
        let mut page = json!({ key: items[from..to] });
        if to < items.len() {
            page["nextCursor"] = json!(format!("from-{to}"));
        }
        if call.is_modern() {
            page["ttlMs"] = json!(script.options.ttl_ms);
            page["cacheScope"] = json!(script.options.cache_scope);
        }
        Ok(page)
    }
}

fn cursor_position(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("from-")?.parse().ok()
}
