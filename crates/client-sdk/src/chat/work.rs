//! The story of a chat: ask, tell the response, run what waits for this client, ask again.

use std::{sync::Arc, time::Duration};

use tokio_util::task::TaskTracker;
use toolyard_protocol::chat::ui::NoticeData;

use super::{
    ChatError, ChatEvent, ChatFinish, EventSender, NOTICE_HOOK, NOTICE_TOOL_ROUNDS,
    body::encode_request,
    response::{RawChunks, stream_response},
    run::CallRunner,
};
use crate::{
    client::ChatQuestion,
    plugin::{PluginManager, RequestDraft, ToolSnapshot},
    tool::OnToolCall,
    wire::{ChatWire, WireRequest},
};

/// How a chat begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChatStart {
    /// With a request.
    NewRequest,
    /// With a response that was asked for before.
    Resume,
}

/// One chat, and everything that it needs.
pub(crate) struct ChatRun {
    pub(crate) wire: Arc<dyn ChatWire>,
    pub(crate) plugins: Arc<PluginManager>,
    /// What is asked, with the client's own settings in it.
    pub(crate) question: ChatQuestion,
    pub(crate) on_tool_call: Option<OnToolCall>,
    pub(crate) max_tool_rounds: u32,
    pub(crate) tool_timeout: Duration,
    pub(crate) tasks: TaskTracker,
    pub(crate) debug: bool,
}

impl ChatRun {
    /// Tells a whole chat; the last event says how it ended.
    pub(crate) async fn run(self, first: ChatStart, teller: EventSender) {
        if let Err(error) = self.run_rounds(first, &teller).await {
            return teller.send(ChatEvent::Error(error)).await;
        }
        let answer = teller.transcript.with_lock(|heard| heard.to_answer());
        for (plugin, error) in self.plugins.after_response(&answer).await {
            let message = format!("the plugin `{plugin}` failed after the answer: {error}");
            teller.send(ChatEvent::Notice(NoticeData { code: NOTICE_HOOK.to_owned(), message })).await;
        }
        teller.send(ChatEvent::Finish(Box::new(answer))).await;
    }

    async fn run_rounds(&self, first: ChatStart, teller: &EventSender) -> Result<(), ChatError> {
        let mut round = 0;
        loop {
            round += 1;
            teller.transcript.with_lock(|heard| heard.begin_round(round));
            teller.send(ChatEvent::RoundStart { round }).await;
            let tools = self.plugins.toolset();
            let request = match first {
                ChatStart::Resume if round == 1 => self.resume_request(),
                ChatStart::NewRequest | ChatStart::Resume => self.next_request(round, &tools, teller).await?,
            };
            let raw = if self.question.chunks { RawChunks::Emit } else { RawChunks::Skip };
            stream_response(&*self.wire, request, raw, teller).await?;
            let (finish, pending) =
                teller.transcript.with_lock(|heard| (heard.finish().clone(), heard.pending_calls()));
            teller.send(ChatEvent::RoundFinish { round, finish }).await;
            if pending.is_empty() {
                return Ok(());
            }
            // Before they run: what is not sent back should not have happened.
            if self.max_tool_rounds != 0 && round >= self.max_tool_rounds {
                teller.transcript.with_lock(|heard| heard.set_finish(ChatFinish::ToolRounds));
                teller.send(ChatEvent::Notice(self.too_many_rounds())).await;
                return Ok(());
            }
            self.call_runner(tools).run_all(pending, teller).await;
        }
    }

    fn resume_request(&self) -> WireRequest {
        WireRequest::Resume { chat_id: self.question.chat_id.clone().unwrap_or_default() }
    }

    /// The next request, as the plugins want it.
    async fn next_request(
        &self,
        round: u32,
        tools: &ToolSnapshot,
        teller: &EventSender,
    ) -> Result<WireRequest, ChatError> {
        let ChatQuestion { model, system, categories, chat_id, resumable, max_steps, .. } = &self.question;
        let mut draft = RequestDraft::new(teller.transcript.with_lock(|heard| heard.history()))
            .with_round(round, tools.definitions());
        draft.model.clone_from(model);
        draft.system.clone_from(system);
        draft.categories.clone_from(categories);
        let drafted = self.plugins.before_request(draft).await;
        let draft = drafted.map_err(|(plugin, error)| ChatError::Hook { plugin, why: error.0 })?;
        Ok(WireRequest::Chat(encode_request(&draft, chat_id.as_deref(), *resumable, *max_steps)?))
    }

    fn call_runner(&self, tools: ToolSnapshot) -> CallRunner {
        let over = self.question.on_tool_call.clone().or_else(|| self.on_tool_call.clone());
        CallRunner {
            tools,
            on_tool_call: over,
            limit: self.tool_timeout,
            tasks: self.tasks.clone(),
            debug: self.debug,
        }
    }

    fn too_many_rounds(&self) -> NoticeData {
        let most = self.max_tool_rounds;
        let message = format!(
            "The model wants to call tools again after {most} requests; the limit is reached, and they were not run."
        );
        NoticeData { code: NOTICE_TOOL_ROUNDS.to_owned(), message }
    }
}
