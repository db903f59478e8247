//! One question, from what was heard to the last page: the story of the assistant.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use toolyard_agent::{
    event::{CallEnd, Finish, TurnEvent},
    message::{Call, Message},
    model::ModelRequest,
    tools::{Offered, Toolset as _},
    turn::{Turn, budget::TurnLimits},
};
use toolyard_app_sdk::UserId;
use toolyard_core::{Reply, ports::NoticeSink};
use toolyard_protocol::{
    raw::to_raw,
    result::{McpResult, ToolResult},
};

use crate::{
    Shared,
    acknowledge::Acknowledge,
    addressed::phrases::{Meaning, meaning},
    ask::Approvals,
    choices::Choices,
    glasses::Glasses,
    history::{Asked, Before, kept::Exchange},
    prompt::{self, Situation},
    remote::{Notes, RemoteTools, cloud::CloudError, list::Tools},
    tell::{ACKNOWLEDGED_AGAIN, Ending, Teller, speak},
    words::{Language, Say},
};

/// Events and sentences that wait; then the model waits.
const QUEUE: usize = 64;
/// What a model reads in the place of an answer that the user did not want to hear.
const INTERRUPTED: &str = "(The user interrupted this answer.)";

/// A user who asks.
pub(crate) struct Asker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) user: UserId,
    pub(crate) glasses: Arc<dyn Glasses>,
    pub(crate) choices: Choices,
    pub(crate) approvals: Arc<Approvals>,
    /// The user's time zone, where the platform knows it.
    pub(crate) time_zone: Option<String>,
    /// Whether nothing was asked before in this session.
    pub(crate) is_first: bool,
}

/// A question on its way.
struct Question {
    text: String,
    language: Language,
    tag: String,
    tools: Arc<RemoteTools>,
    events: mpsc::Sender<TurnEvent>,
    enough: CancellationToken,
    speaks: bool,
    asked: Asked,
}

/// What a question came to, as far as it is kept.
struct Came {
    before: Before,
    messages: Vec<Message>,
}

/// An answer in its two halves: what finds it, and what tells it. The first goes on to its end on a task of its own, so that
/// what was done is remembered also where nobody listens any more; whoever drops the second fires `enough`.
pub(crate) struct Begun {
    pub(crate) work: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) telling: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) enough: CancellationToken,
    /// Whether nothing more will come.
    pub(crate) told: watch::Receiver<bool>,
    pub(crate) speaks: bool,
}

impl Asker {
    /// Begins to answer a question.
    pub(crate) fn begin(self, text: String, heard_in: Option<&str>) -> Begun {
        let (language, tag) = self.choices.answers_in(heard_in);
        let device = self.glasses.device();
        let speaks = device.speaks(self.choices.speak);
        let answering = self.shared.config.answer.clone();
        let (events, coming) = mpsc::channel(QUEUE);
        let (sentences, spoken) = mpsc::channel(QUEUE);
        let (ended, ending) = oneshot::channel();
        let (notes, enough) = (Arc::new(Notes::default()), CancellationToken::new());
        let tools = Arc::new(RemoteTools {
            cloud: self.shared.cloud.clone(),
            user: self.user.clone(),
            tag: tag.clone(),
            language,
            glasses: self.glasses.clone(),
            speak: self.choices.speak,
            approvals: self.approvals.clone(),
            approval_wait: Duration::from_secs(answering.approval_s),
            call_wait: Duration::from_secs(answering.call_s),
            notes: notes.clone(),
            given: Mutex::new(None),
        });
        let teller = Teller {
            glasses: self.glasses.clone(),
            device,
            speaks,
            language,
            reading: answering.reading,
            acknowledge: Acknowledge::begin(
                Duration::from_millis(answering.acknowledge_ms),
                ACKNOWLEDGED_AGAIN,
                Instant::now(),
            ),
            approvals: self.approvals.clone(),
            notes,
            enough: enough.clone(),
        };
        // Now, while the session is open: the work may outlive it.
        let asked = self.shared.history.asked(&self.user, self.choices.keep);
        let question = Question { text, language, tag, tools, events, enough: enough.clone(), speaks, asked };
        let (sender, told) = watch::channel(false);
        let glasses = self.glasses.clone();
        let telling = async move {
            join(teller.tell(coming, sentences, ended, &sender), speak(&*glasses, spoken)).await;
        };
        let work = async move { self.work(question, ending).await };
        Begun { work: Box::pin(work), telling: Box::pin(telling), enough, told, speaks }
    }

    /// From the question to everything that is to be said of it.
    async fn work(&self, question: Question, ending: oneshot::Receiver<Ending>) {
        if meaning(&question.text, false) == Some(Meaning::Forget) {
            return self.forget(&question).await;
        }
        let tools = match self.shared.cloud.list(&self.user, &question.tag).await {
            Ok(tools) => tools,
            Err(error) => return self.no_tools(&question, &error).await,
        };
        if tools.count == 0 && self.is_first {
            question.tools.notes.remark(Say::NoTools.text(question.language));
        }
        question.tools.give(tools.clone());
        let before = match self.shared.history.before(&self.user, question.asked.clone()).await {
            Ok(before) => before,
            Err(error) => {
                tracing::error!(user = %self.user, %error, "a conversation cannot be read");
                Before::nothing()
            }
        };
        let text = question.text.clone();
        let exact =
            tools.said_exactly(&text, &question.tag).filter(|_| self.shared.config.phrases_without_model);
        let came = match exact {
            Some(tool) => self.run_exactly(question, tool.clone(), before).await,
            None => self.ask_model(question, &tools, before).await,
        };
        let Some(came) = came else { return };
        let words = match ending.await {
            Ok(Ending::Said) => None,
            Ok(Ending::Words(words)) => Some(words),
            Ok(Ending::Silent) => Some(Say::Done.text(Language::English)),
            // Nobody listened to the end. What was done counts all the same.
            Err(_) if came.messages.iter().any(|message| matches!(message, Message::Tools(_))) => {
                Some(INTERRUPTED.to_owned())
            }
            Err(_) => return,
        };
        self.remember(&text, came, words.as_deref()).await;
    }

    /// The turn of the agent, with remote tools.
    async fn ask_model(&self, question: Question, tools: &Arc<Tools>, before: Before) -> Option<Came> {
        let model = match self.shared.minds.get().await {
            Ok(model) => model,
            Err(error) => {
                tracing::warn!(cause = error.cause, "no model: {}", error.text);
                say(&question.events, Say::Model(error.kind).text(question.language)).await;
                return None;
            }
        };
        let answering = &self.shared.config.answer;
        let device = self.glasses.device();
        let system = prompt::system(&Situation {
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
        messages.push(Message::user(question.text.as_str()));
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
        let Question { tools, events, enough, .. } = question;
        let turn = Turn { model, tools, limits, always: Vec::new(), cancel: enough, events };
        let ended = turn.run(request).await;
        if let Finish::Failed(error) = &ended.finish {
            tracing::warn!(user = %self.user, cause = error.cause, "a turn failed: {}", error.text);
            // What nobody answered is not worth remembering.
            return None;
        }
        Some(Came { before, messages: ended.messages })
    }

    /// Runs the one tool whose phrase was said, without a model.
    async fn run_exactly(&self, question: Question, tool: Arc<Offered>, before: Before) -> Option<Came> {
        let call = Call {
            id: "exact".to_owned(),
            name: tool.spec.name.clone(),
            arguments: to_raw(&serde_json::json!({})),
        };
        // As in a turn: what is called is one of what was listed.
        let Ok(tools) = question.tools.freeze().await else {
            say(&question.events, Say::PlatformDown.text(question.language)).await;
            return None;
        };
        let tell = |event| question.events.send(event);
        let _ = tell(TurnEvent::StepBegins).await;
        let _ = tell(TurnEvent::Called { call: call.clone(), tool: Some(tool.clone()) }).await;
        let outcome = tools.call(&tool, &call, NoticeSink::default(), question.enough.clone()).await;
        let end = match outcome {
            Ok(Reply::Done(result)) => CallEnd::Done(Arc::new(result)),
            // Over REST nothing waits.
            Ok(Reply::AwaitingInput(_)) => CallEnd::Done(Arc::new(ToolResult::plain(McpResult::empty()))),
            Err(error) => CallEnd::Failed(Arc::new(error)),
        };
        let _ = tell(TurnEvent::CallEnds { id: call.id.clone(), end }).await;
        let _ = tell(TurnEvent::Ends(Finish::Stop)).await;
        Some(Came { before, messages: Vec::new() })
    }

    async fn remember(&self, question: &str, came: Came, last_words: Option<&str>) {
        let exchange = Exchange::new(question, &came.messages, last_words);
        let (user, before) = (self.user.clone(), came.before);
        match self.shared.history.remember(&user, &before, &exchange).await {
            Ok(false) => {}
            Ok(true) => {
                let shared = self.shared.clone();
                // The user does not wait for it.
                self.shared.tasks.spawn(async move {
                    let model = shared.minds.get().await.ok();
                    if let Err(error) = shared.history.trim(&user, &before, model).await {
                        tracing::error!(%user, %error, "a conversation cannot be trimmed");
                    }
                });
            }
            Err(error) => tracing::error!(%user, %error, "a conversation cannot be kept"),
        }
    }

    async fn forget(&self, question: &Question) {
        let words = match self.shared.history.forget(&self.user).await {
            Ok(()) => Say::Forgotten,
            Err(error) => {
                tracing::error!(user = %self.user, %error, "a conversation cannot be forgotten");
                Say::PlatformDown
            }
        };
        say(&question.events, words.text(question.language)).await;
    }

    async fn no_tools(&self, question: &Question, error: &CloudError) {
        tracing::warn!(user = %self.user, %error, "no tools");
        let words = match error {
            CloudError::NotAllowed(_) => Say::NotAllowed,
            CloudError::Down(_) => Say::PlatformDown,
        };
        say(&question.events, words.text(question.language)).await;
    }
}

/// An answer of the assistant itself.
async fn say(events: &mpsc::Sender<TurnEvent>, words: String) {
    let _ = events.send(TurnEvent::Text(words)).await;
    let _ = events.send(TurnEvent::Ends(Finish::Stop)).await;
}
