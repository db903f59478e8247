//! Starts a turn from a chat request.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolyard_agent::{
    event::{TurnEndReason, TurnEvent},
    model::{Model, ModelError, ModelRequest, ToolChoice, limits},
    turn::{Turn, TurnOutcome},
};
use toolyard_core::{
    catalog::CatalogView,
    schema::{
        CompiledSchema, is_cheap_to_compile,
        pool::{WorkOwner, WorkPool},
    },
};
use toolyard_protocol::{
    Problem, UserId,
    chat::{ChatMessage, ClientTool, SamplingParams, ToolDialect, client_tool, sampling::SamplingOption},
    tool::Category,
    trace::TraceParent,
    visible::strip_invisible_value,
};

use super::{
    MAX_SHOWN_NAME_CHARS,
    admit::admit_turn,
    approvals::{ApprovalSettler, has_waiting_calls},
    conversation::ChatHistory,
    history_labels::{record_history, user_text},
    interface_tools,
    tools::{self, ChatToolSelection, ViewTools},
    toolset::{ChatTools, sign_in_wait},
    turns::TurnRefusal,
};
use crate::{
    approvals::answering_actor,
    auth::CallerContext,
    builtin::{READ_RESULT, SEARCH_TOOLS},
    calls,
    error::RequestError,
    model_access,
    state::ServerState,
};

/// Events queued for a slow reader. When the queue is full, the turn waits.
const EVENT_QUEUE: usize = 256;

/// A turn to start, whichever chat API it came through.
#[derive(Debug, Default)]
pub(super) struct TurnRequest {
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
    pub(super) sampling: SamplingParams,
    /// Only these tools, of the client and of the server. `None` allows all.
    pub(super) tool_filter: Option<Vec<String>>,
    /// Which rules the client's tools must follow.
    pub(super) dialect: ToolDialect,
    /// Whether the client can run the console's interface tools.
    pub(super) has_interface: bool,
    pub(super) trace: Option<TraceParent>,
    /// The chat id of a resumable stream. If one with this id is running, this turn takes its place.
    pub(super) replaces: Option<String>,
    /// Whether the client shows approval requests and sends the answers.
    pub(super) shows_approvals: bool,
    /// The client program, if it named itself.
    pub(super) client: Option<Arc<str>>,
    /// The client's id of the chat.
    pub(super) chat_id: Option<String>,
}

/// A running turn. Dropping it cancels the turn.
pub(super) struct ActiveTurn {
    pub(super) model: String,
    pub(super) events: mpsc::Receiver<TurnEvent>,
    pub(super) cancel: CancellationToken,
    /// Cancelled when the turn has ended and no longer counts.
    pub(super) ended: CancellationToken,
    _cancel_on_drop: DropGuard,
}

#[cfg(test)]
impl ActiveTurn {
    /// A turn whose events a test sends.
    pub(super) fn new_scripted() -> (mpsc::Sender<TurnEvent>, Self) {
        let (to, events) = mpsc::channel(EVENT_QUEUE);
        let cancel = CancellationToken::new();
        (
            to,
            Self {
                model: "scripted".to_owned(),
                events,
                _cancel_on_drop: cancel.clone().drop_guard(),
                cancel,
                ended: CancellationToken::new(),
            },
        )
    }
}

/// Why a turn could not start.
pub(super) enum TurnStartError {
    Failure(RequestError),
    Model(ModelError),
    Tool(InvalidClientTool),
    Limited(TurnRefusal),
    Unsupported(UnsupportedOption),
}

/// A requested option that the model does not support. Each API names the parameter as its clients do.
pub(super) struct UnsupportedOption {
    pub(super) option: SamplingOption,
    pub(super) model: String,
}

impl UnsupportedOption {
    /// Says what to do about it.
    pub(super) fn error_message(&self) -> String {
        format!("{} does not support it; leave it out, or choose another model", self.model)
    }
}

/// A client tool that was rejected. Each API names its location as its clients do.
pub(super) struct InvalidClientTool {
    /// Index and name of the tool. `None` if the problem is with the whole list.
    pub(super) tool: Option<(usize, String)>,
    /// Path within the tool. Empty for the tool itself.
    pub(super) within: String,
    /// What is wrong.
    pub(super) why: String,
}

impl InvalidClientTool {
    /// The problem with its path in the request: `all` names the list of tools, `one` a single tool.
    pub(super) fn into_problem(self, all: &str, one: impl Fn(usize, &str) -> String) -> Problem {
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

impl From<InvalidClientTool> for TurnStartError {
    fn from(tool: InvalidClientTool) -> Self {
        Self::Tool(tool)
    }
}

impl From<RequestError> for TurnStartError {
    fn from(failure: RequestError) -> Self {
        Self::Failure(failure)
    }
}

/// Checks the request and starts the turn.
pub(super) async fn start_turn(
    state: &ServerState,
    who: CallerContext,
    request: TurnRequest,
) -> Result<ActiveTurn, TurnStartError> {
    let config = state.config.load_full();
    let config = &config.chat;
    if state.lifecycle.stopping.is_cancelled() {
        return Err(RequestError::unavailable("the server is stopping; retry shortly").into());
    }
    let view = state.catalog.view(&who.user, who.scope.clone()).await.map_err(RequestError::from)?;
    let (categories, interface) = parse_categories(&request.categories)?;
    let mut client_tools = request.client_tools;
    if interface && request.has_interface {
        let new = |tool: &ClientTool| !client_tools.iter().any(|own| own.name == tool.name);
        let own: Vec<_> = interface_tools::all_interface_tools().into_iter().filter(new).collect();
        client_tools.extend(own);
    }
    let mut of_client = check_client_tools(state, &view, &client_tools, request.dialect).await?;
    let only = match request.tool_filter {
        Some(names) => {
            let is_known = |name: &str| of_client.iter().any(|(tool, _)| tool.spec.name == name);
            check_tool_filter(state, &view, &names, is_known).await?;
            of_client.retain(|(tool, _)| names.contains(&tool.spec.name));
            Some(names)
        }
        None => request.only,
    };
    let conversation = ChatHistory::from_messages(&request.messages, config.result_chars);
    if conversation.messages.is_empty() {
        return Err(RequestError::invalid_request("messages: nothing that a model could answer").into());
    }
    if conversation.steps >= config.max_continuations {
        let text = format!(
            "the model was asked {} times since the last user message; at most {} are allowed. Send a new user message.",
            conversation.steps, config.max_continuations
        );
        return Err(RequestError::invalid_request(text).into());
    }
    let model = choose_model(state, request.model.as_deref()).await?;
    if let Some(option) = request.sampling.required_options().find(|option| !model.supports(*option)) {
        return Err(TurnStartError::Unsupported(UnsupportedOption {
            option,
            model: model.info().id.clone(),
        }));
    }
    let system = system_prompt(state, request.system, conversation.system)?;
    let answerer = answering_actor(state, &who);
    let pauses_for_approval = request.shows_approvals && answerer.is_some();
    let owner = who.call_owner();
    let chat_id = request.chat_id.as_deref().and_then(|id| calls::conversation_id("chat", &who, id));
    record_history(state, &who, &view, chat_id.as_ref(), &request.messages).await?;
    let mut limits = config.turn_limits();
    let tools = ChatTools {
        state: state.clone(),
        who: who.clone(),
        selection: ChatToolSelection { categories, only, without: request.without },
        of_client,
        trace: request.trace,
        client: request.client,
        conversation: chat_id,
        user_text: user_text(&request.messages),
        sign_in_wait: sign_in_wait(state, request.shows_approvals, limits.time),
    };
    limits.steps = request.max_steps.map_or(limits.steps, |steps| clamp_steps(steps, limits.steps));
    if request.sampling.parallel_calls == Some(false) {
        limits.calls = 1;
    }
    let mut model_request = ModelRequest {
        system,
        messages: conversation.messages,
        tools: Vec::new(),
        choice: request.choice,
        max_tokens: request.max_tokens,
        temperature: request.temperature,
        sampling: request.sampling,
        ..ModelRequest::default()
    };
    let admitted = admit_turn(state, &owner, request.replaces.as_deref()).await?;
    let (events_to, events) = mpsc::channel(EVENT_QUEUE);
    let cancel = state.lifecycle.stopping.child_token();
    let id = model.info().id.clone();
    let tools = Arc::new(tools);
    let turn = Turn {
        model,
        tools,
        limits,
        always: always_offered_tools(&view),
        pauses_for_approval,
        cancel: cancel.clone(),
        events: events_to.clone(),
    };
    let settler = has_waiting_calls(&request.messages).then(|| ApprovalSettler {
        state: state.clone(),
        who,
        view,
        answerer,
        events: request.shows_approvals.then_some(events_to),
        cancel: cancel.clone(),
    });
    let (mut messages, result_chars, model) = (request.messages, config.result_chars, id.clone());
    let ended = CancellationToken::new();
    let ends = ended.clone().drop_guard();
    state.lifecycle.calls.spawn(async move {
        if let Some(settler) = settler {
            settler.settle_calls(&mut messages).await;
            model_request.messages = ChatHistory::from_messages(&messages, result_chars).messages;
        }
        run_turn(turn, model_request, owner.user, model).await;
        drop(admitted);
        drop(ends);
    });
    Ok(ActiveTurn { model: id, events, _cancel_on_drop: cancel.clone().drop_guard(), cancel, ended })
}

/// Tools that reach what the shortlist left out. They are always offered.
fn always_offered_tools(view: &CatalogView) -> Vec<String> {
    let alias = |name: &str| Some(view.find_tool(&name.parse().ok()?).ok()?.alias.as_str().to_owned());
    [SEARCH_TOOLS, READ_RESULT].into_iter().filter_map(alias).collect()
}

/// Runs a turn and logs one line. The line never contains text of the conversation.
async fn run_turn(turn: Turn, request: ModelRequest, user: UserId, model: String) {
    let TurnOutcome { finish, usage, steps, .. } = turn.run(request).await;
    let (input, output) = (usage.input, usage.output);
    match finish {
        TurnEndReason::Failed(error) => {
            tracing::warn!(%user, model, steps, input, output, error = error.text, cause = error.cause, "chat turn failed");
        }
        finish => tracing::info!(%user, model, steps, input, output, ?finish, "chat turn ended"),
    }
}

fn clamp_steps(steps: u64, max_steps: usize) -> usize {
    usize::try_from(steps).unwrap_or(max_steps).clamp(1, max_steps)
}

/// The requested categories, and whether the interface tools are requested too.
fn parse_categories(names: &[String]) -> Result<(Vec<Category>, bool), RequestError> {
    let mut categories = Vec::new();
    let mut interface = false;
    for name in names {
        if name == interface_tools::INTERFACE_CATEGORY {
            interface = true;
        } else {
            categories
                .push(name.parse().map_err(|why| {
                    RequestError::invalid_request(format!("selectedToolCategories: {why}"))
                })?);
        }
    }
    Ok((categories, interface))
}

type CompiledClientTools = Vec<(Arc<toolyard_agent::tools::TurnTool>, Arc<CompiledSchema>)>;

async fn check_client_tools(
    state: &ServerState,
    view: &CatalogView,
    client_tools: &[ClientTool],
    dialect: ToolDialect,
) -> Result<CompiledClientTools, InvalidClientTool> {
    if client_tools.is_empty() {
        return Ok(Vec::new());
    }
    let of_server = ViewTools::for_view(view, state.chat.vectors.as_ref()).await;
    let bounds = state.config.load().chat.client_tool_limits();
    let check = |tools: &[ClientTool]| {
        client_tool::check_client_tools_in_dialect(tools, &bounds, dialect, |name| of_server.has_tool(name))
    };
    let named = |index: usize| client_tools.get(index).map(|tool| (index, tool.name.clone()));
    check(client_tools).map_err(|problem| {
        // A path with a dot names one tool: the last of the shortest prefix that fails the check.
        let places: Vec<usize> = (0..client_tools.len()).collect();
        let first = || Some(places.partition_point(|&index| check(&client_tools[..=index]).is_ok()));
        let tool = problem.path.contains('.').then(first).flatten().and_then(named);
        InvalidClientTool { tool, within: String::new(), why: problem.message }
    })?;
    let compiled = compile_tool_schemas(view.user(), client_tools).await.map_err(|(at, problem)| {
        InvalidClientTool { tool: named(at), within: problem.path, why: problem.message }
    })?;
    let offered = client_tools.iter().enumerate().map(|(at, tool)| {
        let offered = tools::offered_client_tool(tool);
        limits::check_written_out(&offered.spec.schema).map_err(|why| InvalidClientTool {
            tool: named(at),
            within: "parameters".to_owned(),
            why,
        })?;
        Ok(offered)
    });
    let offered = offered.collect::<Result<Vec<_>, InvalidClientTool>>()?;
    Ok(offered.into_iter().zip(compiled).collect())
}

/// Compiles the schemas of all tools, on the pool if that could take long. The error names the tool that failed.
async fn compile_tool_schemas(
    user: &UserId,
    client_tools: &[ClientTool],
) -> Result<Vec<Arc<CompiledSchema>>, (usize, Problem)> {
    fn compile_schemas(schemas: &[Value]) -> Result<Vec<Arc<CompiledSchema>>, (usize, Problem)> {
        let compiled =
            schemas.iter().map(|schema| CompiledSchema::compile_shared(schema, "parameters")).enumerate();
        compiled.map(|(at, schema)| schema.map_err(|problem| (at, problem))).collect()
    }
    let mut schemas: Vec<Value> = client_tools.iter().map(|tool| tool.parameters.clone()).collect();
    // Compile what the model sees, because it can only send what it was shown.
    schemas.iter_mut().for_each(strip_invisible_value);
    if schemas.iter().all(is_cheap_to_compile) {
        return compile_schemas(&schemas);
    }
    let compiled =
        WorkPool::global().run(&WorkOwner::for_user(user), move || compile_schemas(&schemas)).await;
    compiled.map_err(|error| (0, Problem::new("parameters", format!("cannot be checked: {error}"))))?
}

/// Rejects names of unknown tools. Otherwise the response would silently lack them.
async fn check_tool_filter(
    state: &ServerState,
    view: &CatalogView,
    names: &[String],
    is_clients: impl Fn(&str) -> bool,
) -> Result<(), RequestError> {
    let of_server = ViewTools::for_view(view, state.chat.vectors.as_ref()).await;
    match names.iter().find(|name| !is_clients(name) && !of_server.has_tool(name)) {
        None => Ok(()),
        Some(name) => {
            let name: String = name.chars().take(MAX_SHOWN_NAME_CHARS).collect();
            let problem =
                Problem::new("tool_choice", format!("there is no tool {name}; name one of `tools`"));
            Err(RequestError::with_problems(problem.to_string(), vec![problem]))
        }
    }
}

async fn choose_model(state: &ServerState, name: Option<&str>) -> Result<Arc<dyn Model>, TurnStartError> {
    if name.is_some() && !state.config.load().chat.callers_choose_model {
        return Err(RequestError::invalid_request(
            "model: this server chooses the model itself; leave it out",
        )
        .into());
    }
    model_access::select_model(state, name).await.map_err(TurnStartError::Model)
}

/// The system prompt of the operator, then that of the caller if callers may set one.
fn system_prompt(
    state: &ServerState,
    requested: Option<String>,
    in_messages: Vec<String>,
) -> Result<Option<String>, RequestError> {
    let config = state.config.load();
    let config = &config.chat;
    let callers: Vec<String> = requested.into_iter().chain(in_messages).collect();
    if !callers.is_empty() && !config.callers_set_system {
        return Err(RequestError::invalid_request(
            "system: this server does not accept system prompts from callers",
        ));
    }
    let all: Vec<String> = std::iter::once(config.system.clone()).chain(callers).collect();
    let all: Vec<String> = all.into_iter().filter(|text| !text.trim().is_empty()).collect();
    Ok((!all.is_empty()).then(|| all.join("\n\n")))
}
