//! What every client does, step by step. The program does the same in its own language; here is what has to come of it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use toolyard_testkit::authorization::sign_in_at_upstream;

use crate::{
    program::Program,
    stage::{GUARDED, Stage},
};

/// The revision that a client with a handshake agrees on.
pub(crate) const LEGACY: &str = "2025-11-25";
/// The one without.
pub(crate) const MODERN: &str = "2026-07-28";

/// How long a client may take to notice a change. Its stream of changes opens beside its first calls, and no client
/// says when; one that missed a change hears of the next.
pub(crate) const NOTICE: Duration = Duration::from_secs(10);
/// Changes that a client may miss.
pub(crate) const MISSED: usize = 3;

/// A step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// All pages of the list.
    List,
    /// A call by the name in the list.
    Alias,
    /// A call by the name that the rest of the platform uses.
    Canonical,
    /// A call that tells how far it is.
    Progress,
    /// A call that is given up while it runs.
    Cancel,
    /// An app is installed meanwhile.
    Change,
    /// A tool that asks the user.
    Ask,
    /// A tool whose upstream needs the user's sign-in: the client opens the page.
    SignIn,
}

impl Step {
    /// All that a client without pages does.
    pub(crate) const ALL: [Self; 7] =
        [Self::List, Self::Alias, Self::Canonical, Self::Progress, Self::Cancel, Self::Change, Self::Ask];

    /// Enough to see that a client gets in.
    pub(crate) const SHORT: [Self; 2] = [Self::List, Self::Alias];

    /// As the programs call it.
    fn word(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Alias => "alias",
            Self::Canonical => "canonical",
            Self::Progress => "progress",
            Self::Cancel => "cancel",
            Self::Change => "change",
            Self::Ask => "ask",
            Self::SignIn => "sign-in",
        }
    }
}

/// Runs a program through the steps. The revision is the one that it has to have agreed on; the plan says how to connect.
pub(crate) async fn play(stage: Stage, file: &str, revision: &str, steps: &[Step], mut plan: Value) {
    plan["steps"] = steps.iter().map(|step| step.word()).collect();
    let mut program = Program::start(file, &plan);
    assert_eq!(program.says("connected").await["revision"], revision);
    for step in steps {
        take(&stage, &mut program, *step).await;
    }
    program.ends().await;
    stage.end().await;
}

async fn take(stage: &Stage, program: &mut Program, step: Step) {
    match step {
        Step::List => assert_eq!(program.says("list").await["names"], json!(stage.aliases().await)),
        Step::Alias | Step::Canonical => {
            assert_eq!(program.says(step.word()).await["text"], "hello back");
        }
        Step::Progress => {
            let told = [
                json!({ "step": "told", "progress": 0.5, "total": 2.5, "message": "half way" }),
                json!({ "step": "told", "progress": 1.5, "total": 2.5, "message": null }),
            ];
            for expected in told {
                // Not before the one before was heard: it comes as it happens.
                stage.steps.let_line_through();
                assert_eq!(program.says("told").await, expected);
            }
            stage.steps.let_line_through();
            assert_eq!(program.says("progress").await["text"], "done");
        }
        Step::Cancel => {
            program.says("waits").await;
            timeout(NOTICE, stage.slow.wait_requests("/tool", 1)).await.expect("the app is called");
            program.go_on().await;
            program.says("cancel").await;
            timeout(NOTICE, stage.slow.wait_cancelled(1)).await.expect("the app sees it");
        }
        Step::Change => {
            program.says("listens").await;
            noticed(stage, program).await;
        }
        Step::Ask => {
            let said = program.says("ask").await;
            assert_eq!(said["question"], "The MCP server mcp.fixture asks:\n\nWho are you?");
            assert_eq!(said["text"], format!("User response: {}", answer()));
        }
        Step::SignIn => {
            let page = format!("{}/console/upstreams/{GUARDED}/sign-in", stage.url);
            assert_eq!(program.says("page").await["url"], page);
            sign_in_at_upstream(&stage.url, "ada", GUARDED).await;
            assert_eq!(program.says("sign-in").await["text"], "hi");
        }
    }
}

/// Installs the late app, and again where the client was not listening yet.
async fn noticed(stage: &Stage, program: &mut Program) {
    for _ in 0..MISSED {
        stage.install_late().await;
        if let Ok(said) = timeout(NOTICE, program.says("change")).await {
            assert_eq!(said["names"], json!(stage.aliases().await));
            return;
        }
        stage.remove_late().await;
    }
    panic!("the client did not notice that its list changed");
}

/// What Ada answers when she is asked.
pub(crate) fn answer() -> Value {
    json!({ "action": "accept", "content": { "username": "ada", "email": "ada@example.com" } })
}
