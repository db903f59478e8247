//! From a request to a turn under way.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolyard_agent::{
    event::{Finish, TurnEvent},
    model::{Model, ModelError, ModelRequest, ToolChoice, limits},
    turn::{Ended, Turn},
};
use toolyard_core::{
    catalog::CatalogView,
    schema::{
        Schema, is_cheap_to_compile,
        pool::{WorkOwner, WorkPool},
    },
};
use toolyard_protocol::{
    Problem, UserId,
    chat::{ChatMessage, ClientTool, Sampling, ToolDialect, client_tool, sampling::SamplingOption},
    tool::Category,
    trace::TraceParent,
    visible::make_visible,
};

use super::{
    MAX_SHOWN,
    conversation::Conversation,
    platform,
    tools::{self, Selection, ViewTools},
    toolset::ChatTools,
    turns::{TurnPermit, TurnRefusal},
};
use crate::{
    auth::ActingFor,
    builtin::{READ_RESULT, SEARCH_TOOLS},
    error::Failure,
    model_access,
    state::AppState,
};

/// Events that wait for a slow reader; then the turn waits.
const EVENT_QUEUE: usize = 256;

/// What is asked, whichever door it came through.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) messages: Vec<ChatMessage>,
    pub(super) client_tools: Vec<ClientTool>,
    pub(super) categories: Vec<String>,
    pub(super) only: Option<Vec<String>>,
    pub(super) without: Vec<String>,
    pub(super) max_steps: Option<u64>,
    pub(super) model: Option<String>,
    pub(super) system: Option<String>,
    pub(super) choice: ToolChoice,
    pub(super) max_tokens: Option<u32>,
    pub(super) temperature: Option<f64>,
    pub(super) sampling: Sampling,
    /// Only these tools, of the client and of the server; missing is all.
    pub(super) tool_filter: Option<Vec<String>>,
    /// Whose rules hold for the tools of the client.
    pub(super) dialect: ToolDialect,
    /// Whether the client is one that runs the platform's own interface tools.
    pub(super) has_interface: bool,
    pub(super) trace: Option<TraceParent>,
}

/// A turn under way. Dropping it ends the turn.
pub(super) struct Begun {
    pub(super) model: String,
    pub(super) events: mpsc::Receiver<TurnEvent>,
    pub(super) cancel: CancellationToken,
    _leave: DropGuard,
}

#[cfg(test)]
impl Begun {
    /// A turn that says what a test sends.
    pub(super) fn scripted() -> (mpsc::Sender<TurnEvent>, Self) {
        let (to, events) = mpsc::channel(EVENT_QUEUE);
        let cancel = CancellationToken::new();
        (to, Self { model: "scripted".to_owned(), events, _leave: cancel.clone().drop_guard(), cancel })
    }
}

/// Why there is no turn.
pub(super) enum NotBegun {
    Failure(Failure),
    Model(ModelError),
    Tool(BadTool),
    Limited(TurnRefusal),
    Unsupported(UnsupportedOption),
}

/// What the model cannot do that was asked of it. Each door names the parameter as its clients do.
pub(super) struct UnsupportedOption {
    pub(super) option: SamplingOption,
    pub(super) model: String,
}

impl UnsupportedOption {
    /// What to do about it.
    pub(super) fn message(&self) -> String {
        format!("{} cannot honour it; leave it out, or choose another model", self.model)
    }
}

/// What is wrong with the tools of the client. Each door names the place as its clients do.
pub(super) struct BadTool {
    /// Which of them, and its name; none where it is all of them together.
    pub(super) tool: Option<(usize, String)>,
    /// Where in it; empty for the whole of it.
    pub(super) within: String,
    /// What is wrong.
    pub(super) why: String,
}

impl BadTool {
    /// The place below those of the request that hold all tools, and one of them.
    pub(super) fn problem(self, all: &str, one: impl Fn(usize, &str) -> String) -> Problem {
        let mut path = match &self.tool {
            Some((index, name)) => one(*index, name),
            None => all.to_owned(),
        };
        if !self.within.is_empty() {
            path = format!("{path}.{}", self.within);
        }
        Problem::new(path, self.why)
    }
}

impl From<BadTool> for NotBegun {
    fn from(tool: BadTool) -> Self {
        Self::Tool(tool)
    }
}

impl From<Failure> for NotBegun {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Checks what is asked, and begins.
pub(super) async fn begin(state: &AppState, who: ActingFor, asked: Asked) -> Result<Begun, NotBegun> {
    let config = &state.config.chat;
    if state.lifecycle.stopping.is_cancelled() {
        return Err(Failure::unavailable("the server is stopping; try again shortly").into());
    }
    let view = state.catalog.view(&who.user, who.scope.clone()).await.map_err(Failure::from)?;
    let (categories, interface) = categories(&asked.categories)?;
    let mut client_tools = asked.client_tools;
    if interface && asked.has_interface {
        let new = |tool: &ClientTool| !client_tools.iter().any(|own| own.name == tool.name);
        let own: Vec<_> = platform::tools().into_iter().filter(new).collect();
        client_tools.extend(own);
    }
    let mut of_client = checked(state, &view, &client_tools, asked.dialect).await?;
    let only = match asked.tool_filter {
        Some(names) => {
            let is_known = |name: &str| of_client.iter().any(|(tool, _)| tool.spec.name == name);
            check_filter(state, &view, &names, is_known).await?;
            of_client.retain(|(tool, _)| names.contains(&tool.spec.name));
            Some(names)
        }
        None => asked.only,
    };
    let conversation = Conversation::read(&asked.messages, config.result_chars);
    if conversation.messages.is_empty() {
        return Err(Failure::invalid("messages: nothing that a model could answer").into());
    }
    if conversation.steps >= config.max_continuations {
        let text = format!(
            "the model was asked {} times since the user last spoke; at most {}. Begin a new message.",
            conversation.steps, config.max_continuations
        );
        return Err(Failure::invalid(text).into());
    }
    let permit = state.turns.enter(&who.user).map_err(NotBegun::Limited)?;
    let model = chosen(state, asked.model.as_deref()).await?;
    if let Some(option) = asked.sampling.requires().find(|option| !model.supports(*option)) {
        return Err(NotBegun::Unsupported(UnsupportedOption { option, model: model.about().id.clone() }));
    }
    let system = system(state, asked.system, conversation.system)?;
    let user = who.user.clone();
    let tools = ChatTools {
        state: state.clone(),
        who,
        selection: Selection { categories, only, without: asked.without },
        of_client,
        trace: asked.trace,
    };
    let mut limits = config.limits();
    limits.steps = asked.max_steps.map_or(limits.steps, |steps| clamp(steps, limits.steps));
    if asked.sampling.parallel_calls == Some(false) {
        limits.calls = 1;
    }
    let request = ModelRequest {
        system,
        messages: conversation.messages,
        tools: Vec::new(),
        choice: asked.choice,
        max_tokens: asked.max_tokens,
        temperature: asked.temperature,
        sampling: asked.sampling,
        ..ModelRequest::default()
    };
    let slot = state.process.streams.enter(user.as_str())?;
    let (events_to, events) = mpsc::channel(EVENT_QUEUE);
    let cancel = state.lifecycle.stopping.child_token();
    let id = model.about().id.clone();
    let tools = Arc::new(tools);
    let turn =
        Turn { model, tools, limits, always: always(&view), cancel: cancel.clone(), events: events_to };
    let running = run(turn, request, user, id.clone(), permit);
    state.lifecycle.calls.spawn(async move {
        let _slot = slot;
        running.await;
    });
    Ok(Begun { model: id, events, _leave: cancel.clone().drop_guard(), cancel })
}

/// The tools by which a model gets at what it was not shown.
fn always(view: &CatalogView) -> Vec<String> {
    let alias = |name: &str| Some(view.find(&name.parse().ok()?).ok()?.alias.as_str().to_owned());
    [SEARCH_TOOLS, READ_RESULT].into_iter().filter_map(alias).collect()
}

/// Runs a turn, and leaves one line in the log. Nothing that was said is in it.
async fn run(turn: Turn, request: ModelRequest, user: UserId, model: String, _counted: TurnPermit) {
    let Ended { finish, usage, steps, .. } = turn.run(request).await;
    let (input, output) = (usage.input, usage.output);
    match finish {
        Finish::Failed(error) => {
            tracing::warn!(%user, model, steps, input, output, cause = error.cause, "a turn failed: {}", error.text);
        }
        finish => tracing::info!(%user, model, steps, input, output, ?finish, "a turn ended"),
    }
}

fn clamp(steps: u64, most: usize) -> usize {
    usize::try_from(steps).unwrap_or(most).clamp(1, most)
}

/// The categories that are asked for, and whether the interface's tools are among them.
fn categories(asked: &[String]) -> Result<(Vec<Category>, bool), Failure> {
    let mut categories = Vec::new();
    let mut interface = false;
    for name in asked {
        if name == platform::CATEGORY {
            interface = true;
        } else {
            categories.push(
                name.parse().map_err(|why| Failure::invalid(format!("selectedToolCategories: {why}")))?,
            );
        }
    }
    Ok((categories, interface))
}

type ClientTools = Vec<(Arc<toolyard_agent::tools::Offered>, Arc<Schema>)>;

async fn checked(
    state: &AppState,
    view: &CatalogView,
    client_tools: &[ClientTool],
    dialect: ToolDialect,
) -> Result<ClientTools, BadTool> {
    if client_tools.is_empty() {
        return Ok(Vec::new());
    }
    let of_server = ViewTools::of(view, state.vectors.as_ref()).await;
    let bounds = state.config.chat.client_tool_limits();
    let check = |tools: &[ClientTool]| {
        client_tool::check_dialect(tools, &bounds, dialect, |name| of_server.has(name))
    };
    let named = |index: usize| client_tools.get(index).map(|tool| (index, tool.name.clone()));
    check(client_tools).map_err(|problem| {
        // One of them is named in the path: the one that ends the shortest list which is not taken.
        let places: Vec<usize> = (0..client_tools.len()).collect();
        let first = || Some(places.partition_point(|&index| check(&client_tools[..=index]).is_ok()));
        let tool = problem.path.contains('.').then(first).flatten().and_then(named);
        BadTool { tool, within: String::new(), why: problem.message }
    })?;
    let compiled = compile_all(view.user(), client_tools).await.map_err(|(at, problem)| BadTool {
        tool: named(at),
        within: problem.path,
        why: problem.message,
    })?;
    let offered = client_tools.iter().enumerate().map(|(at, tool)| {
        let offered = tools::of_client(tool);
        limits::check_written_out(&offered.spec.schema).map_err(|why| BadTool {
            tool: named(at),
            within: "parameters".to_owned(),
            why,
        })?;
        Ok(offered)
    });
    let offered = offered.collect::<Result<Vec<_>, BadTool>>()?;
    Ok(offered.into_iter().zip(compiled).collect())
}

/// The schemas of all tools; or which of them cannot be compiled. On the pool where it could take long.
async fn compile_all(
    user: &UserId,
    client_tools: &[ClientTool],
) -> Result<Vec<Arc<Schema>>, (usize, Problem)> {
    fn compile(schemas: &[Value]) -> Result<Vec<Arc<Schema>>, (usize, Problem)> {
        let compiled = schemas.iter().map(|schema| Schema::shared(schema, "parameters")).enumerate();
        compiled.map(|(at, schema)| schema.map_err(|problem| (at, problem))).collect()
    }
    let mut schemas: Vec<Value> = client_tools.iter().map(|tool| tool.parameters.clone()).collect();
    // As the model sees them: it can only send what it was shown.
    schemas.iter_mut().for_each(make_visible);
    if schemas.iter().all(is_cheap_to_compile) {
        return compile(&schemas);
    }
    let compiled = WorkPool::shared().run(&WorkOwner::user(user), move || compile(&schemas)).await;
    compiled.map_err(|error| (0, Problem::new("parameters", format!("cannot be checked: {error}"))))?
}

/// Whoever names a tool that is not there learns so, instead of getting an answer without it.
async fn check_filter(
    state: &AppState,
    view: &CatalogView,
    names: &[String],
    is_clients: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let of_server = ViewTools::of(view, state.vectors.as_ref()).await;
    match names.iter().find(|name| !is_clients(name) && !of_server.has(name)) {
        None => Ok(()),
        Some(name) => {
            let name: String = name.chars().take(MAX_SHOWN).collect();
            let problem =
                Problem::new("tool_choice", format!("there is no tool {name}; name one of `tools`"));
            Err(Failure::problems(problem.to_string(), vec![problem]))
        }
    }
}

async fn chosen(state: &AppState, name: Option<&str>) -> Result<Arc<dyn Model>, NotBegun> {
    if name.is_some() && !state.config.chat.callers_choose_model {
        return Err(Failure::invalid("model: this server chooses the model itself; leave it out").into());
    }
    model_access::model(state, name).await.map_err(NotBegun::Model)
}

/// How the model shall behave: as the operator says, and as the caller says where it may.
fn system(
    state: &AppState,
    asked: Option<String>,
    in_messages: Vec<String>,
) -> Result<Option<String>, Failure> {
    let config = &state.config.chat;
    let callers: Vec<String> = asked.into_iter().chain(in_messages).collect();
    if !callers.is_empty() && !config.callers_set_system {
        return Err(Failure::invalid("system: this server does not take system texts of callers"));
    }
    let all: Vec<String> = std::iter::once(config.system.clone()).chain(callers).collect();
    let all: Vec<String> = all.into_iter().filter(|text| !text.trim().is_empty()).collect();
    Ok((!all.is_empty()).then(|| all.join("\n\n")))
}
