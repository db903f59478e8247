//! The story of a chat: ask, tell the response, run what waits for this client, ask again.

use std::{sync::Arc, time::Duration};

use tokio_util::task::TaskTracker;
use toolyard_protocol::chat::ui::NoticeData;

use super::{
    ChatError, Event, Finish, NOTICE_HOOK, NOTICE_TOOL_ROUNDS, Teller,
    body::body,
    run::Runner,
    telling::{Raw, tell},
};
use crate::{
    client::Question,
    plugin::{Draft, PluginManager, Toolset},
    tool::OnToolCall,
    wire::{Wire, WireRequest},
};

/// How a chat begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// With a request.
    Ask,
    /// With a response that was asked for before.
    Again,
}

/// One chat, and everything that it needs.
pub(crate) struct Work {
    pub(crate) wire: Arc<dyn Wire>,
    pub(crate) plugins: Arc<PluginManager>,
    /// What is asked, with the client's own settings in it.
    pub(crate) question: Question,
    pub(crate) on_tool_call: Option<OnToolCall>,
    pub(crate) max_tool_rounds: u32,
    pub(crate) tool_timeout: Duration,
    pub(crate) tasks: TaskTracker,
    pub(crate) debug: bool,
}

impl Work {
    /// Tells a whole chat; the last event says how it ended.
    pub(crate) async fn run(self, first: First, teller: Teller) {
        if let Err(error) = self.rounds(first, &teller).await {
            return teller.say(Event::Error(error)).await;
        }
        let answer = teller.heard.with(|heard| heard.answer());
        for (plugin, error) in self.plugins.after_response(&answer).await {
            let message = format!("the plugin `{plugin}` failed after the answer: {error}");
            teller.say(Event::Notice(NoticeData { code: NOTICE_HOOK.to_owned(), message })).await;
        }
        teller.say(Event::Finish(Box::new(answer))).await;
    }

    async fn rounds(&self, first: First, teller: &Teller) -> Result<(), ChatError> {
        let mut round = 0;
        loop {
            round += 1;
            teller.heard.with(|heard| heard.begin_round(round));
            teller.say(Event::RoundStart { round }).await;
            let tools = self.plugins.toolset();
            let request = match first {
                First::Again if round == 1 => self.again(),
                First::Ask | First::Again => self.request(round, &tools, teller).await?,
            };
            let raw = if self.question.chunks { Raw::Told } else { Raw::Untold };
            tell(&*self.wire, request, raw, teller).await?;
            let (finish, pending) = teller.heard.with(|heard| (heard.finish().clone(), heard.pending()));
            teller.say(Event::RoundFinish { round, finish }).await;
            if pending.is_empty() {
                return Ok(());
            }
            // Before they run: what is not sent back should not have happened.
            if self.max_tool_rounds != 0 && round >= self.max_tool_rounds {
                teller.heard.with(|heard| heard.ends(Finish::ToolRounds));
                teller.say(Event::Notice(self.too_many_rounds())).await;
                return Ok(());
            }
            self.runner(tools).run(pending, teller).await;
        }
    }

    fn again(&self) -> WireRequest {
        WireRequest::Again { chat_id: self.question.chat_id.clone().unwrap_or_default() }
    }

    /// The next request, as the plugins want it.
    async fn request(&self, round: u32, tools: &Toolset, teller: &Teller) -> Result<WireRequest, ChatError> {
        let Question { model, system, categories, chat_id, resumable, max_steps, .. } = &self.question;
        let mut draft =
            Draft::new(teller.heard.with(|heard| heard.history())).of_round(round, tools.definitions());
        draft.model.clone_from(model);
        draft.system.clone_from(system);
        draft.categories.clone_from(categories);
        let drafted = self.plugins.before_request(draft).await;
        let draft = drafted.map_err(|(plugin, error)| ChatError::Hook { plugin, why: error.0 })?;
        Ok(WireRequest::Chat(body(&draft, chat_id.as_deref(), *resumable, *max_steps)?))
    }

    fn runner(&self, tools: Toolset) -> Runner {
        let over = self.question.on_tool_call.clone().or_else(|| self.on_tool_call.clone());
        Runner { tools, over, limit: self.tool_timeout, tasks: self.tasks.clone(), debug: self.debug }
    }

    fn too_many_rounds(&self) -> NoticeData {
        let most = self.max_tool_rounds;
        let message = format!(
            "The model wants to call tools again after {most} requests; the limit is reached, and they were not run."
        );
        NoticeData { code: NOTICE_TOOL_ROUNDS.to_owned(), message }
    }
}
