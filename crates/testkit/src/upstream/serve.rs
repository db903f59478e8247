//! The life of a request, whatever transport brought it: a fault if one was ordered, else the method's answer.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Fixtures,
    behave::Behave,
    jobs,
    message::{Call, Failure, Out, Side},
    state::{Goodbye, Inner, List},
};

impl Inner {
    /// Runs a request to its end, or until the client gives it up.
    pub(super) async fn run(self: Arc<Self>, call: Call, cancel: CancellationToken, how: Goodbye) {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = cancel.cancelled() => self.gave_up(&call, how),
            () = self.serve(&call) => {}
        }
    }

    async fn serve(&self, call: &Call) {
        if let Some(fault) = self.fault(call) {
            match fault {
                Behave::Hold => self.gate.acquire().await.unwrap().forget(),
                fault => match fault.out(call) {
                    Some(out) => return drop(call.out.send(out).await),
                    None => return std::future::pending().await,
                },
            }
        }
        let answer = self.dispatch(call).await;
        match (&call.side, call.target()) {
            (Side::Legacy(session), "test_reconnection") if !session.id.is_empty() => {
                let event = format!("event-{}", self.number());
                let message = match answer {
                    Ok(result) => json!({ "jsonrpc": "2.0", "id": call.id, "result": result }),
                    Err(failure) => failure.message(Some(&call.id)),
                };
                session.park(&event, message.clone());
                drop(call.out.send(Out::Park { event, message }).await);
            }
            _ => call.answer(answer, &self.server_info()).await,
        }
    }

    fn fault(&self, call: &Call) -> Option<Behave> {
        let mut script = self.script.lock().unwrap();
        let size = script.options.page_size.unwrap_or(usize::MAX);
        let page =
            call.params["cursor"].as_str().map_or(1, |cursor| position(cursor).unwrap_or(0) / size + 1);
        script.orders.take(call, page)
    }

    async fn dispatch(&self, call: &Call) -> Result<Value, Failure> {
        match (&call.side, call.method.as_str()) {
            (_, "tools/list") => self.page(call, List::Tools),
            (_, "prompts/list") => self.page(call, List::Prompts),
            (_, "resources/list") => self.page(call, List::Resources),
            (_, "resources/templates/list") => self.page(call, List::Templates),
            (_, "tools/call") => self.call_tool(call).await,
            (_, "prompts/get") => self.get_prompt(call).await,
            (_, "resources/read") => self.read_resource(call),
            (_, "completion/complete") => self.complete(call),
            (Side::Modern, "server/discover") => Ok(self.discover()),
            (Side::Modern, "subscriptions/listen") => self.listen(call).await,
            (Side::Modern, "tasks/get" | "tasks/update" | "tasks/cancel") => self.job(call),
            (Side::Legacy(session), "initialize") => Ok(json!({
                "protocolVersion": session.version,
                "capabilities": self.capabilities(),
                "serverInfo": self.server_info(),
                "instructions": self.options().instructions,
            })),
            (Side::Legacy(_), "ping") => Ok(json!({})),
            (Side::Legacy(session), "logging/setLevel") => {
                let level =
                    call.params["level"].as_str().ok_or_else(|| Failure::params("level is missing"))?;
                session.set_level(level);
                Ok(json!({}))
            }
            (Side::Legacy(session), "resources/subscribe") => {
                session.subscribe(call.target());
                Ok(json!({}))
            }
            (Side::Legacy(session), "resources/unsubscribe") => {
                session.unsubscribe(call.target());
                Ok(json!({}))
            }
            (_, method) => Err(Failure::no_method(method)),
        }
    }

    fn discover(&self) -> Value {
        let options = self.options();
        let mut capabilities = self.capabilities();
        if options.fixtures == Fixtures::Conformance {
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

    fn page(&self, call: &Call, list: List) -> Result<Value, Failure> {
        let script = self.script.lock().unwrap();
        let items = script.lists.of(list).as_ref().ok_or_else(|| Failure::no_method(&call.method))?;
        let from = match &call.params["cursor"] {
            Value::Null => 0,
            cursor => cursor
                .as_str()
                .and_then(position)
                .filter(|from| *from <= items.len())
                .ok_or_else(|| Failure::params("the cursor is not one of ours"))?,
        };
        let to = script.options.page_size.map_or(items.len(), |size| items.len().min(from + size));
        let key = match list {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources => "resources",
            List::Templates => "resourceTemplates",
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

fn position(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("from-")?.parse().ok()
}
