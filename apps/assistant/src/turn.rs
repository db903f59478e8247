//! One question, from what was heard to the last page: the story of the assistant.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use futures_util::future::join;
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use toolyard_agent::{
    event::{CallEnd, TurnEndReason, TurnEvent},
    message::{ModelMessage, ModelToolCall},
    model::ModelRequest,
    tools::{ToolProvider as _, TurnTool},
    turn::{Turn, budget::TurnLimits},
};
use toolyard_app_sdk::UserId;
use toolyard_core::{CallReply, ports::NoticeSink};
use toolyard_protocol::{
    raw::to_raw,
    result::{McpResult, ToolResult},
};

use crate::{
    AssistantState,
    acknowledge::DelayNotice,
    approval::ApprovalPrompt,
    choices::UserChoices,
    glasses::Glasses,
    history::{PriorConversation, QuestionRetention, exchange::ConversationExchange},
    listener::phrases::{PhraseMeaning, phrase_meaning},
    localization::{LocalizedMessage, SpokenLanguage},
    presenter::{ACKNOWLEDGED_AGAIN, AnswerEnding, AnswerPresenter, speak_sentences},
    prompt::{self, PromptContext},
    remote::{AnswerNotes, RemoteTools, list::UserTools, platform::ListingError},
};

/// Events and sentences that wait; then the model waits.
const QUEUE: usize = 64;
/// What a model reads in the place of an answer that the user did not want to hear.
const INTERRUPTED: &str = "(The user interrupted this answer.)";

/// A user who asks.
pub(crate) struct UserTurn {
    pub(crate) shared: Arc<AssistantState>,
    pub(crate) user: UserId,
    pub(crate) glasses: Arc<dyn Glasses>,
    pub(crate) choices: UserChoices,
    pub(crate) approvals: Arc<ApprovalPrompt>,
    /// The user's time zone, where the platform knows it.
    pub(crate) time_zone: Option<String>,
    /// Whether nothing was asked before in this session.
    pub(crate) is_first: bool,
}

/// A question on its way.
struct TurnQuestion {
    text: String,
    language: SpokenLanguage,
    tag: String,
    tools: Arc<RemoteTools>,
    events: mpsc::Sender<TurnEvent>,
    enough: CancellationToken,
    speaks: bool,
    retention: QuestionRetention,
}

/// What a question came to, as far as it is kept.
struct FinishedTurn {
    before: PriorConversation,
    messages: Vec<ModelMessage>,
}

/// An answer in its two halves: what finds it, and what tells it. The first goes on to its end on a task of its own, so that
/// what was done is remembered also where nobody listens any more; whoever drops the second fires `enough`.
pub(crate) struct StartedTurn {
    pub(crate) work: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) telling: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) enough: CancellationToken,
    /// Whether nothing more will come.
    pub(crate) told: watch::Receiver<bool>,
    pub(crate) speaks: bool,
}

impl UserTurn {
    /// Begins to answer a question.
    pub(crate) fn start(self, text: String, heard_in: Option<&str>) -> StartedTurn {
        let (language, tag) = self.choices.answer_language(heard_in);
        let device = self.glasses.device();
        let speaks = device.should_speak(self.choices.speak);
        let answering = self.shared.config.answer.clone();
        let (events, coming) = mpsc::channel(QUEUE);
        let (sentences, spoken) = mpsc::channel(QUEUE);
        let (ended, ending) = oneshot::channel();
        let (notes, enough) = (Arc::new(AnswerNotes::default()), CancellationToken::new());
        let tools = Arc::new(RemoteTools {
            platform: self.shared.platform.clone(),
            user: self.user.clone(),
            tag: tag.clone(),
            language,
            glasses: self.glasses.clone(),
            speak: self.choices.speak,
            approvals: self.approvals.clone(),
            approval_wait: Duration::from_secs(answering.approval_s),
            call_wait: Duration::from_secs(answering.call_s),
            notes: notes.clone(),
            listing: Mutex::new(None),
        });
        let teller = AnswerPresenter {
            glasses: self.glasses.clone(),
            device,
            speaks,
            language,
            reading: answering.reading,
            acknowledge: DelayNotice::new(
                Duration::from_millis(answering.acknowledge_ms),
                ACKNOWLEDGED_AGAIN,
                Instant::now(),
            ),
            approvals: self.approvals.clone(),
            notes,
            enough: enough.clone(),
        };
        // Now, while the session is open: the work may outlive it.
        let asked = self.shared.history.retention_for(&self.user, self.choices.keep);
        let question = TurnQuestion {
            text,
            language,
            tag,
            tools,
            events,
            enough: enough.clone(),
            speaks,
            retention: asked,
        };
        let (sender, told) = watch::channel(false);
        let glasses = self.glasses.clone();
        let telling = async move {
            join(
                teller.present_answer(coming, sentences, ended, &sender),
                speak_sentences(&*glasses, spoken),
            )
            .await;
        };
        let work = async move { self.answer_question(question, ending).await };
        StartedTurn { work: Box::pin(work), telling: Box::pin(telling), enough, told, speaks }
    }

    /// From the question to everything that is to be said of it.
    async fn answer_question(&self, question: TurnQuestion, ending: oneshot::Receiver<AnswerEnding>) {
        if phrase_meaning(&question.text, false) == Some(PhraseMeaning::Forget) {
            return self.forget_conversation(&question).await;
        }
        let tools = match self.shared.platform.list_tools(&self.user, &question.tag).await {
            Ok(tools) => tools,
            Err(error) => return self.report_no_tools(&question, &error).await,
        };
        if tools.count == 0 && self.is_first {
            question.tools.notes.set_remark(LocalizedMessage::NoTools.to_text(question.language));
        }
        question.tools.set_listing(tools.clone());
        let before = match self.shared.history.load_prior(&self.user, question.retention.clone()).await {
            Ok(before) => before,
            Err(error) => {
                tracing::error!(user = %self.user, %error, "a conversation cannot be read");
                PriorConversation::empty()
            }
        };
        let text = question.text.clone();
        let exact =
            tools.find_by_phrase(&text, &question.tag).filter(|_| self.shared.config.phrases_without_model);
        let came = match exact {
            Some(tool) => self.run_phrase_tool(question, tool.clone(), before).await,
            None => self.ask_model(question, &tools, before).await,
        };
        let Some(came) = came else { return };
        let words = match ending.await {
            Ok(AnswerEnding::ModelText) => None,
            Ok(AnswerEnding::OwnText(words)) => Some(words),
            Ok(AnswerEnding::Silent) => Some(LocalizedMessage::Done.to_text(SpokenLanguage::English)),
            // Nobody listened to the end. What was done counts all the same.
            Err(_) if came.messages.iter().any(|message| matches!(message, ModelMessage::Tools(_))) => {
                Some(INTERRUPTED.to_owned())
            }
            Err(_) => return,
        };
        self.remember_exchange(&text, came, words.as_deref()).await;
    }

    /// The turn of the agent, with remote tools.
    async fn ask_model(
        &self,
        question: TurnQuestion,
        tools: &Arc<UserTools>,
        before: PriorConversation,
    ) -> Option<FinishedTurn> {
        let model = match self.shared.models.select_model().await {
            Ok(model) => model,
            Err(error) => {
                tracing::warn!(cause = error.cause, "no model: {}", error.text);
                answer_directly(
                    &question.events,
                    LocalizedMessage::Model(error.kind).to_text(question.language),
                )
                .await;
                return None;
            }
        };
        let answering = &self.shared.config.answer;
        let device = self.glasses.device();
        let system = prompt::system_prompt(&PromptContext {
            device: &device,
            speaks: question.speaks,
            tag: &question.tag,
            now: self.shared.clock.now(),
            time_zone: self.time_zone.clone(),
            tools,
            summary: before.summary.as_deref(),
            extra: &self.shared.config.system,
        });
        let mut messages = before.messages.clone();
        messages.push(ModelMessage::from_user_text(question.text.as_str()));
        let request = ModelRequest {
            system: Some(system),
            messages,
            max_tokens: Some(answering.max_tokens),
            ..ModelRequest::default()
        };
        let limits = TurnLimits {
            steps: answering.steps,
            tokens: answering.tokens,
            time: Duration::from_secs(answering.time_s),
            tools: answering.tools,
            ..TurnLimits::default()
        };
        let TurnQuestion { tools, events, enough, .. } = question;
        let turn = Turn { model, tools, limits, always: Vec::new(), cancel: enough, events };
        let ended = turn.run(request).await;
        if let TurnEndReason::Failed(error) = &ended.finish {
            tracing::warn!(user = %self.user, cause = error.cause, "a turn failed: {}", error.text);
            // What nobody answered is not worth remembering.
            return None;
        }
        Some(FinishedTurn { before, messages: ended.messages })
    }

    /// Runs the one tool whose phrase was said, without a model.
    async fn run_phrase_tool(
        &self,
        question: TurnQuestion,
        tool: Arc<TurnTool>,
        before: PriorConversation,
    ) -> Option<FinishedTurn> {
        let call = ModelToolCall {
            id: "exact".to_owned(),
            name: tool.spec.name.clone(),
            arguments: to_raw(&serde_json::json!({})),
        };
        // As in a turn: what is called is one of what was listed.
        let Ok(tools) = question.tools.freeze().await else {
            answer_directly(&question.events, LocalizedMessage::PlatformDown.to_text(question.language))
                .await;
            return None;
        };
        let tell = |event| question.events.send(event);
        let _ = tell(TurnEvent::StepBegins).await;
        let _ = tell(TurnEvent::Called { call: call.clone(), tool: Some(tool.clone()) }).await;
        let outcome = tools.call(&tool, &call, NoticeSink::default(), question.enough.clone()).await;
        let end = match outcome {
            Ok(CallReply::Done(result)) => CallEnd::Done(Arc::new(result)),
            // Over REST nothing waits.
            Ok(CallReply::AwaitingInput(_)) => {
                CallEnd::Done(Arc::new(ToolResult::from_mcp(McpResult::empty())))
            }
            Err(error) => CallEnd::Failed(Arc::new(error)),
        };
        let _ = tell(TurnEvent::CallEnds { id: call.id.clone(), end }).await;
        let _ = tell(TurnEvent::Ends(TurnEndReason::Stop)).await;
        Some(FinishedTurn { before, messages: Vec::new() })
    }

    async fn remember_exchange(&self, question: &str, came: FinishedTurn, last_words: Option<&str>) {
        let exchange = ConversationExchange::new(question, &came.messages, last_words);
        let (user, before) = (self.user.clone(), came.before);
        match self.shared.history.remember(&user, &before, &exchange).await {
            Ok(false) => {}
            Ok(true) => {
                let shared = self.shared.clone();
                // The user does not wait for it.
                self.shared.tasks.spawn(async move {
                    let model = shared.models.select_model().await.ok();
                    if let Err(error) = shared.history.trim(&user, &before, model).await {
                        tracing::error!(%user, %error, "a conversation cannot be trimmed");
                    }
                });
            }
            Err(error) => tracing::error!(%user, %error, "a conversation cannot be kept"),
        }
    }

    async fn forget_conversation(&self, question: &TurnQuestion) {
        let words = match self.shared.history.forget(&self.user).await {
            Ok(()) => LocalizedMessage::Forgotten,
            Err(error) => {
                tracing::error!(user = %self.user, %error, "a conversation cannot be forgotten");
                LocalizedMessage::PlatformDown
            }
        };
        answer_directly(&question.events, words.to_text(question.language)).await;
    }

    async fn report_no_tools(&self, question: &TurnQuestion, error: &ListingError) {
        tracing::warn!(user = %self.user, %error, "no tools");
        let words = match error {
            ListingError::NotAllowed(_) => LocalizedMessage::NotAllowed,
            ListingError::Down(_) => LocalizedMessage::PlatformDown,
        };
        answer_directly(&question.events, words.to_text(question.language)).await;
    }
}

/// An answer of the assistant itself.
async fn answer_directly(events: &mpsc::Sender<TurnEvent>, words: String) {
    let _ = events.send(TurnEvent::Text(words)).await;
    let _ = events.send(TurnEvent::Ends(TurnEndReason::Stop)).await;
}
