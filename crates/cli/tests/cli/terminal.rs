//! `toolyard chat` in a real terminal: the prompt, keys that send signals, and the typed end of input.
#![cfg(target_os = "linux")]

use std::process::Stdio;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout, Command},
};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use crate::{
    chat::yard_with,
    fixture::{ADA, Yard, soon},
};

pub(crate) const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

/// A terminal with a command, created by `script` of util-linux: its input is typed, its output is what is shown.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    /// Output that was not checked yet.
    shown: String,
}

impl Terminal {
    fn open(yard: &Yard) -> Self {
        Self::with(yard, &format!("--user {ADA}"))
    }

    /// A chat with these flags.
    pub(crate) fn with(yard: &Yard, flags: &str) -> Self {
        Self::run(yard, &format!("chat {flags}"))
    }

    /// Any command.
    pub(crate) fn run(yard: &Yard, args: &str) -> Self {
        let line = format!("exec {} {args}", env!("CARGO_BIN_EXE_toolyard"));
        let mut command = Command::new("script");
        command.args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"]);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("NO_COLOR", "1").env("TOOLYARD_URL", &yard.url);
        command.current_dir(yard.folder.path()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("`script` of util-linux makes the terminal");
        let (keys, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, keys, screen, shown: String::new() }
    }

    pub(crate) async fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).await.unwrap();
        self.keys.flush().await.unwrap();
    }

    /// Waits until this text is shown, after the previous one.
    pub(crate) async fn shows(&mut self, words: &str) {
        let mut piece = [0; 1024];
        loop {
            if let Some(at) = self.shown.find(words) {
                self.shown.drain(..at + words.len());
                return;
            }
            let read = soon(self.screen.read(&mut piece)).await.unwrap();
            assert!(read > 0, "it ended before it showed {words:?}: {:?}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    }

    /// Waits for the end and returns the exit code.
    pub(crate) async fn ends(mut self) -> i32 {
        let mut rest = Vec::new();
        soon(self.screen.read_to_end(&mut rest)).await.unwrap();
        soon(self.child.wait()).await.unwrap().code().unwrap()
    }
}

#[tokio::test]
async fn a_chat_by_hand() {
    let model = ScriptedModel::start().await;
    let yard = yard_with(&model, &[]).await;
    model.queue_replies([
        ScriptedReply::text("Once ").and_hold().and_text("upon a time."),
        ScriptedReply::text("It was ").and_hold().and_text("never said"),
        ScriptedReply::text("Well then."),
    ]);
    let mut terminal = Terminal::open(&yard);
    terminal.shows("chatting with local/scripted; type /help for the commands").await;
    terminal.shows("> ").await;
    // Text is shown as it streams.
    terminal.types("a story\n").await;
    terminal.shows("waiting for the model").await;
    terminal.shows("Once ").await;
    model.release(1);
    terminal.shows("upon a time.").await;
    terminal.shows("> ").await;
    // Ctrl-C cancels the answer.
    terminal.types("go on\n").await;
    terminal.shows("It was ").await;
    terminal.types(CTRL_C).await;
    terminal.shows("[stopped]").await;
    model.wait_abandoned(1).await;
    terminal.shows("> ").await;
    terminal.types("are you there?\n").await;
    terminal.shows("Well then.").await;
    terminal.shows("> ").await;
    terminal.types(CTRL_D).await;
    assert_eq!(terminal.ends().await, 0);
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn ctrl_c_twice_ends_an_idle_chat() {
    let model = ScriptedModel::start().await;
    let yard = yard_with(&model, &[]).await;
    let mut terminal = Terminal::open(&yard);
    terminal.shows("> ").await;
    terminal.types(CTRL_C).await;
    terminal.shows("press Ctrl-C again to end the chat").await;
    terminal.types(CTRL_C).await;
    assert_eq!(terminal.ends().await, 0);
}
