//! The rounds of a chat: send a request, stream the response, run the calls for this client, repeat.

use std::{sync::Arc, time::Duration};

use tokio_util::task::TaskTracker;
use toolyard_protocol::chat::ui::NoticeData;

use super::{
    ApprovalRequest, ChatError, ChatEvent, ChatFinish, EventSender, NOTICE_HOOK, NOTICE_TOOL_ROUNDS,
    OnApproval,
    body::{ChatOptions, encode_request},
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
    /// With a new request.
    NewRequest,
    /// With the response to an earlier request.
    Resume,
}

/// One chat and everything it needs.
pub(crate) struct ChatRun {
    pub(crate) wire: Arc<dyn ChatWire>,
    pub(crate) plugins: Arc<PluginManager>,
    /// The question, merged with the client's defaults.
    pub(crate) question: ChatQuestion,
    pub(crate) on_tool_call: Option<OnToolCall>,
    pub(crate) on_approval: Option<OnApproval>,
    pub(crate) max_tool_rounds: u32,
    pub(crate) tool_timeout: Duration,
    pub(crate) tasks: TaskTracker,
    pub(crate) debug: bool,
}

impl ChatRun {
    /// Runs the whole chat. The last event says how it ended.
    pub(crate) async fn run(self, first: ChatStart, sender: EventSender) {
        if let Err(error) = self.run_rounds(first, &sender).await {
            return sender.send(ChatEvent::Error(error)).await;
        }
        let answer = sender.transcript.with_lock(|transcript| transcript.to_answer());
        for (plugin, error) in self.plugins.after_response(&answer).await {
            let message = format!("the plugin `{plugin}` failed after the answer: {error}");
            sender.send(ChatEvent::Notice(NoticeData { code: NOTICE_HOOK.to_owned(), message })).await;
        }
        sender.send(ChatEvent::Finish(Box::new(answer))).await;
    }

    async fn run_rounds(&self, first: ChatStart, sender: &EventSender) -> Result<(), ChatError> {
        let mut round = 0;
        loop {
            round += 1;
            sender.transcript.with_lock(|transcript| transcript.begin_round(round));
            sender.send(ChatEvent::RoundStart { round }).await;
            let tools = self.plugins.toolset();
            let request = match first {
                ChatStart::Resume if round == 1 => self.resume_request(),
                ChatStart::NewRequest | ChatStart::Resume => self.next_request(round, &tools, sender).await?,
            };
            let raw = if self.question.chunks { RawChunks::Emit } else { RawChunks::Skip };
            stream_response(&*self.wire, request, raw, sender).await?;
            let (finish, pending, approvals) = sender.transcript.with_lock(|transcript| {
                let approvals = self.approver().map(|_| transcript.pending_approvals()).unwrap_or_default();
                (transcript.finish().clone(), transcript.pending_calls(), approvals)
            });
            sender.send(ChatEvent::RoundFinish { round, finish }).await;
            if pending.is_empty() && approvals.is_empty() {
                return Ok(());
            }
            // Checked before they run: a result that is not sent back should not exist.
            if self.max_tool_rounds != 0 && round >= self.max_tool_rounds {
                sender.transcript.with_lock(|transcript| transcript.set_finish(ChatFinish::ToolRounds));
                sender.send(ChatEvent::Notice(self.too_many_rounds())).await;
                return Ok(());
            }
            self.call_runner(tools).run_all(pending, sender).await;
            self.ask_user(approvals, sender).await;
        }
    }

    fn approver(&self) -> Option<&OnApproval> {
        self.question.on_approval.as_ref().or(self.on_approval.as_ref())
    }

    /// Asks the user about one call after the other.
    async fn ask_user(&self, requests: Vec<ApprovalRequest>, sender: &EventSender) {
        let Some(approver) = self.approver() else { return };
        for request in requests {
            let id = request.id.clone();
            let decision = approver(request).await;
            sender.transcript.with_lock(|transcript| transcript.record_decision(&id, &decision));
        }
    }

    fn resume_request(&self) -> WireRequest {
        WireRequest::Resume { chat_id: self.question.chat_id.clone().unwrap_or_default() }
    }

    /// The next request, after the plugins' `before_request` hooks.
    async fn next_request(
        &self,
        round: u32,
        tools: &ToolSnapshot,
        sender: &EventSender,
    ) -> Result<WireRequest, ChatError> {
        let ChatQuestion { model, system, categories, chat_id, resumable, max_steps, .. } = &self.question;
        let mut draft = RequestDraft::new(sender.transcript.with_lock(|transcript| transcript.history()))
            .with_round(round, tools.definitions());
        draft.model.clone_from(model);
        draft.system.clone_from(system);
        draft.categories.clone_from(categories);
        let drafted = self.plugins.before_request(draft).await;
        let draft = drafted.map_err(|(plugin, error)| ChatError::Hook { plugin, why: error.0 })?;
        let options = ChatOptions {
            chat_id: chat_id.as_deref(),
            resumable: *resumable,
            max_steps: *max_steps,
            approvals: self.approver().is_some(),
        };
        Ok(WireRequest::Chat(encode_request(&draft, options)?))
    }

    fn call_runner(&self, tools: ToolSnapshot) -> CallRunner {
        let on_tool_call = self.question.on_tool_call.clone().or_else(|| self.on_tool_call.clone());
        CallRunner {
            tools,
            on_tool_call,
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
