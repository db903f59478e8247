//! One question, from the recognized speech to the last page.

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
use toolyard_core::{CallReply, ToolError, ports::NoticeSink};
use toolyard_protocol::{
    ErrorCode,
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

/// Most queued events and sentences; if the queue is full, the model waits.
const QUEUE: usize = 64;
/// What a model reads in place of an answer that the user interrupted.
const INTERRUPTED: &str = "(The user interrupted this answer.)";

/// The turn of a user, before it is started.
pub(crate) struct UserTurn {
    pub(crate) shared: Arc<AssistantState>,
    pub(crate) user: UserId,
    pub(crate) glasses: Arc<dyn Glasses>,
    pub(crate) choices: UserChoices,
    pub(crate) approvals: Arc<ApprovalPrompt>,
    /// The user's time zone, if known.
    pub(crate) time_zone: Option<String>,
    /// Whether this is the first question of the session.
    pub(crate) is_first: bool,
}

/// A question that is being answered.
struct TurnQuestion {
    text: String,
    language: SpokenLanguage,
    tag: String,
    tools: Arc<RemoteTools>,
    events: mpsc::Sender<TurnEvent>,
    cancel: CancellationToken,
    speaks: bool,
    retention: QuestionRetention,
}

/// A finished turn, with what is stored of it.
struct FinishedTurn {
    before: PriorConversation,
    messages: Vec<ModelMessage>,
}

/// A started answer in two halves: `work` finds the answer, `presenting` presents it. `work` runs to its end on its own task, so
/// that what was done is stored even if the user has left. Firing `cancel` cancels the answer.
pub(crate) struct StartedTurn {
    pub(crate) work: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) presenting: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) cancel: CancellationToken,
    /// Whether all text has arrived.
    pub(crate) text_complete: watch::Receiver<bool>,
    pub(crate) speaks: bool,
}

impl UserTurn {
    /// Starts to answer a question.
    pub(crate) fn start(self, text: String, heard_in: Option<&str>) -> StartedTurn {
        let (language, tag) = self.choices.answer_language(heard_in);
        let device = self.glasses.device();
        let speaks = device.should_speak(self.choices.speak);
        let answering = self.shared.config.answer.clone();
        let (events, coming) = mpsc::channel(QUEUE);
        let (sentences, spoken) = mpsc::channel(QUEUE);
        let (ended, ending) = oneshot::channel();
        let (notes, cancel) = (Arc::new(AnswerNotes::default()), CancellationToken::new());
        let tools = Arc::new(RemoteTools {
            platform: self.shared.platform.clone(),
            user: self.user.clone(),
            tag: tag.clone(),
            language,
            glasses: self.glasses.clone(),
            speak: self.choices.speak,
            approvals: self.approvals.clone(),
            approval_wait: Duration::from_secs(answering.approval_s),
            press_after: Duration::from_millis(answering.press_after_ms),
            sign_in_wait: Duration::from_secs(answering.sign_in_s),
            call_wait: Duration::from_secs(answering.call_s),
            notes: notes.clone(),
            listing: Mutex::new(None),
        });
        let presenter = AnswerPresenter {
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
            cancel: cancel.clone(),
        };
        // Read now, while the session is open: the work may outlive it.
        let retention = self.shared.history.retention_for(&self.user, self.choices.keep);
        let question =
            TurnQuestion { text, language, tag, tools, events, cancel: cancel.clone(), speaks, retention };
        let (sender, text_complete) = watch::channel(false);
        let glasses = self.glasses.clone();
        let presenting = async move {
            join(
                presenter.present_answer(coming, sentences, ended, &sender),
                speak_sentences(&*glasses, spoken),
            )
            .await;
        };
        let work = async move { self.answer_question(question, ending).await };
        StartedTurn { work: Box::pin(work), presenting: Box::pin(presenting), cancel, text_complete, speaks }
    }

    /// Answers a question and stores the exchange.
    async fn answer_question(&self, question: TurnQuestion, ending: oneshot::Receiver<AnswerEnding>) {
        if phrase_meaning(&question.text) == Some(PhraseMeaning::Forget) {
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
                tracing::error!(user = %self.user, %error, "cannot read conversation");
                PriorConversation::empty()
            }
        };
        let text = question.text.clone();
        let exact =
            tools.find_by_phrase(&text, &question.tag).filter(|_| self.shared.config.phrases_without_model);
        let finished = match exact {
            Some(tool) => self.run_phrase_tool(question, tool.clone(), before).await,
            None => self.ask_model(question, &tools, before).await,
        };
        let Some(finished) = finished else { return };
        let words = match ending.await {
            Ok(AnswerEnding::ModelText) => None,
            Ok(AnswerEnding::OwnText(words)) => Some(words),
            Ok(AnswerEnding::Silent) => Some(LocalizedMessage::Done.to_text(SpokenLanguage::English)),
            // The answer was interrupted. What the tools did is still remembered.
            Err(_) if finished.messages.iter().any(|message| matches!(message, ModelMessage::Tools(_))) => {
                Some(INTERRUPTED.to_owned())
            }
            Err(_) => return,
        };
        self.remember_exchange(&text, finished, words.as_deref()).await;
    }

    /// Runs the agent's turn with the user's tools.
    async fn ask_model(
        &self,
        question: TurnQuestion,
        tools: &Arc<UserTools>,
        before: PriorConversation,
    ) -> Option<FinishedTurn> {
        let model = match self.shared.models.select_model().await {
            Ok(model) => model,
            Err(error) => {
                tracing::warn!(user = %self.user, cause = error.cause, error = %error.text, "no model available");
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
        let TurnQuestion { tools, events, cancel, .. } = question;
        let turn =
            Turn { model, tools, limits, always: Vec::new(), pauses_for_approval: false, cancel, events };
        let ended = turn.run(request).await;
        if let TurnEndReason::Failed(error) = &ended.finish {
            tracing::warn!(user = %self.user, cause = error.cause, error = %error.text, "turn failed");
            // A question without an answer is not stored.
            return None;
        }
        Some(FinishedTurn { before, messages: ended.messages })
    }

    /// Runs the one tool whose activation phrase was said, without a model.
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
        // As in a turn, only tools of the listing can be called.
        let Ok(tools) = question.tools.freeze().await else {
            answer_directly(&question.events, LocalizedMessage::PlatformDown.to_text(question.language))
                .await;
            return None;
        };
        let tell = |event| question.events.send(event);
        let _ = tell(TurnEvent::StepBegins).await;
        let _ = tell(TurnEvent::Called { call: call.clone(), tool: Some(tool.clone()) }).await;
        let outcome = tools.call(&tool, &call, NoticeSink::default(), question.cancel.clone()).await;
        let end = match outcome {
            Ok(CallReply::Done(result)) => CallEnd::Done(Arc::new(result)),
            // REST calls never wait for input.
            Ok(CallReply::AwaitingInput(_)) => {
                CallEnd::Done(Arc::new(ToolResult::from_mcp(McpResult::empty())))
            }
            Ok(CallReply::AwaitingApproval(awaited)) => {
                CallEnd::Failed(Arc::new(ToolError::new(ErrorCode::Denied, awaited.to_model_text())))
            }
            Ok(CallReply::AwaitingSignIn(awaited)) => {
                CallEnd::Failed(Arc::new(ToolError::new(ErrorCode::Denied, awaited.to_model_text())))
            }
            Err(error) => CallEnd::Failed(Arc::new(error)),
        };
        let _ = tell(TurnEvent::CallEnds { id: call.id.clone(), end }).await;
        let _ = tell(TurnEvent::Ends(TurnEndReason::Stop)).await;
        Some(FinishedTurn { before, messages: Vec::new() })
    }

    async fn remember_exchange(&self, question: &str, finished: FinishedTurn, last_words: Option<&str>) {
        let exchange = ConversationExchange::new(question, &finished.messages, last_words);
        let (user, before) = (self.user.clone(), finished.before);
        match self.shared.history.remember(&user, &before, &exchange).await {
            Ok(false) => {}
            Ok(true) => {
                let shared = self.shared.clone();
                // In the background: the user does not wait for it.
                self.shared.tasks.spawn(async move {
                    let model = shared.models.select_model().await.ok();
                    if let Err(error) = shared.history.trim(&user, &before, model).await {
                        tracing::error!(%user, %error, "cannot trim conversation");
                    }
                });
            }
            Err(error) => tracing::error!(%user, %error, "cannot store conversation"),
        }
    }

    async fn forget_conversation(&self, question: &TurnQuestion) {
        let words = match self.shared.history.forget(&self.user).await {
            Ok(()) => LocalizedMessage::Forgotten,
            Err(error) => {
                tracing::error!(user = %self.user, %error, "cannot delete conversation");
                LocalizedMessage::PlatformDown
            }
        };
        answer_directly(&question.events, words.to_text(question.language)).await;
    }

    async fn report_no_tools(&self, question: &TurnQuestion, error: &ListingError) {
        tracing::warn!(user = %self.user, %error, "cannot list tools");
        let words = match error {
            ListingError::NotAllowed(_) => LocalizedMessage::NotAllowed,
            ListingError::Down(_) => LocalizedMessage::PlatformDown,
        };
        answer_directly(&question.events, words.to_text(question.language)).await;
    }
}

/// Answers with a text of the assistant itself.
async fn answer_directly(events: &mpsc::Sender<TurnEvent>, words: String) {
    let _ = events.send(TurnEvent::Text(words)).await;
    let _ = events.send(TurnEvent::Ends(TurnEndReason::Stop)).await;
}
