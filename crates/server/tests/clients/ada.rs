//! The Rust SDK (rmcp) as Ada's client. It needs no program of its own; the steps are those of [`crate::story`].

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
        ElicitRequestParams, ElicitResult, ElicitationAction, Implementation, ProgressNotificationParam,
        Request, ServerResult, SubscriptionFilter,
    },
    service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService},
};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, mpsc},
    time::timeout,
};

use crate::{
    stage::{PATIENCE, Stage},
    story::{MISSED, MODERN, NOTICE, answer},
};

/// News that wait to be looked at.
const QUEUE: usize = 64;

/// What Ada's client hears.
pub(crate) struct Ada {
    told: mpsc::Sender<ProgressNotificationParam>,
    tells: Mutex<mpsc::Receiver<ProgressNotificationParam>>,
    rings: mpsc::Sender<()>,
    changes: Mutex<mpsc::Receiver<()>>,
    questions: Mutex<Vec<String>>,
}

/// Ada, connected.
pub(crate) type Connected = RunningService<RoleClient, Ada>;

impl Ada {
    pub(crate) fn new() -> Self {
        let ((told, tells), (rings, changes)) = (mpsc::channel(QUEUE), mpsc::channel(QUEUE));
        let (tells, changes) = (Mutex::new(tells), Mutex::new(changes));
        Self { told, tells, rings, changes, questions: Mutex::default() }
    }
}

impl ClientHandler for Ada {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.told.send(params).await.unwrap();
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.rings.send(()).await.unwrap();
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if let ElicitRequestParams::FormElicitationParams { message, .. } = asked {
            self.questions.lock().await.push(message);
        }
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(answer()["content"].clone()))
    }

    fn get_info(&self) -> ClientConfig {
        let mut abilities = ClientCapabilities::default();
        abilities.elicitation = Some(Default::default());
        ClientConfig::new(abilities, Implementation::new("rmcp", "1.0.0"))
    }
}

/// All steps. The revision is the one that has to have been agreed on.
pub(crate) async fn play(stage: &Stage, ada: Connected, revision: &str) {
    let agreed = ada.peer_info().expect("the server said who it is").protocol_version.to_string();
    assert_eq!(agreed, revision);
    assert_eq!(names(&ada).await, stage.aliases().await);
    for name in ["com_example_echo__echo", "com.example.echo:echo"] {
        assert_eq!(call(&ada, name, json!({ "text": "hi" })).await, "hello back");
    }
    progress(stage, &ada).await;
    cancel(stage, &ada).await;
    change(stage, &ada, revision).await;
    let asked = call(&ada, "mcp_fixture__test_elicitation", json!({ "message": "Who are you?" })).await;
    assert_eq!(asked, format!("User response: {}", answer()));
    assert_eq!(*ada.service().questions.lock().await, ["The MCP server mcp.fixture asks:\n\nWho are you?"]);
    timeout(PATIENCE, ada.cancel()).await.expect("the client ends").unwrap();
}

pub(crate) async fn names(ada: &Connected) -> Vec<String> {
    let tools = ada.list_all_tools().await.unwrap();
    let mut names: Vec<_> = tools.into_iter().map(|tool| tool.name.into_owned()).collect();
    names.sort();
    names
}

fn params(name: &str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name.to_owned()).with_arguments(arguments.as_object().unwrap().clone())
}

fn text(result: &CallToolResult) -> String {
    let [content] = result.content.as_slice() else { panic!("{result:?}") };
    content.as_text().unwrap_or_else(|| panic!("{result:?}")).text.clone()
}

pub(crate) async fn call(ada: &Connected, name: &str, arguments: Value) -> String {
    text(&timeout(PATIENCE, ada.call_tool(params(name, arguments))).await.expect("an answer comes").unwrap())
}

async fn progress(stage: &Stage, ada: &Connected) {
    let request = ClientRequest::CallToolRequest(Request::new(params("com_example_steps__count", json!({}))));
    let call = ada.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    for (progress, message) in [(0.5, Some("half way")), (1.5, None)] {
        stage.steps.let_line_through();
        let told = timeout(PATIENCE, async { ada.service().tells.lock().await.recv().await });
        let told = told.await.expect("progress comes").unwrap();
        assert_eq!(told.progress_token, call.progress_token);
        assert_eq!((told.progress, told.total, told.message.as_deref()), (progress, Some(2.5), message));
    }
    stage.steps.let_line_through();
    let ServerResult::CallToolResult(result) = call.await_response().await.unwrap() else {
        panic!("not the result of a call")
    };
    assert_eq!(text(&result), "done");
}

async fn cancel(stage: &Stage, ada: &Connected) {
    let request = ClientRequest::CallToolRequest(Request::new(params("com_example_slow__wait", json!({}))));
    let call = ada.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    timeout(NOTICE, stage.slow.wait_requests("/tool", 1)).await.expect("the app is called");
    call.cancel(None).await.unwrap();
    timeout(NOTICE, stage.slow.wait_cancelled(1)).await.expect("the app sees it");
    assert_eq!(self::call(ada, "com_example_echo__echo", json!({})).await, "hello back");
}

async fn change(stage: &Stage, ada: &Connected, revision: &str) {
    if revision == MODERN {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let mut changes = ada.listen(filter).await.unwrap();
        stage.install_late().await;
        let change = timeout(NOTICE, changes.next()).await.expect("a change comes").unwrap();
        assert!(change.is_some());
        changes.cancel().await.unwrap();
    } else {
        noticed(stage, ada).await;
    }
    assert_eq!(names(ada).await, stage.aliases().await);
}

/// Installs the late app, and again where the client was not listening yet.
async fn noticed(stage: &Stage, ada: &Connected) {
    let mut changes = ada.service().changes.lock().await;
    for _ in 0..MISSED {
        stage.install_late().await;
        if timeout(NOTICE, changes.recv()).await.is_ok() {
            return;
        }
        stage.remove_late().await;
    }
    panic!("the client did not notice that its list changed");
}
