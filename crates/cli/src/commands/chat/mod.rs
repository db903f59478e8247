//! `toolyard chat`: talk to a model that has the user's tools, in the terminal. The conversation is kept here, in memory,
//! and sent whole with each question.

mod believed;
mod bridge;
mod door;
mod local;
mod orders;
pub(crate) mod plugins;
mod screen;
mod style;
mod talk;
mod turn;
mod typed;
mod words;

use std::io::{IsTerminal as _, stdin};

use clap::Args;
use tokio::io::{AsyncReadExt as _, BufReader};
use toolyard_server::models::ModelOverview;

use self::{
    door::{Door, ROUNDS_WITH_TOOLS, ROUNDS_WITHOUT_TOOLS},
    local::LocalArgs,
    plugins::PluginArgs,
    screen::Screen,
    style::Style,
    talk::Talk,
    turn::{Ended, Form},
};
use super::Verdict;
use crate::{
    cli::Context,
    config::environment,
    error::CliError,
    lines::{BoundedLines, Line},
    output::Output,
    signals::{Signal, Signals},
    typed::Typed,
};

/// Longest line that is typed or piped in, in bytes.
const MAX_TYPED_BYTES: usize = 64 * 1024;
/// Longest message that is read from stdin, in bytes.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

const HELP: &str = "\
Type a line and press Enter. Lines with a slash do something else:
  /new             begin a new conversation
  /tools           list the tools that the model may call
  /model [NAME]    ask another model from now on; without a name, list them
  /system [TEXT]   say how the model shall behave; without a text, no more
  /help            show this
  /quit            end, as Ctrl-D does
Ctrl-C ends an answer; at an empty prompt, twice in a row, it ends the chat.
Words of the answer go to stdout, everything else to stderr. With --json each event of the answer is one line on stdout.
Plugins and MCP servers run on this machine, wherever the server is, and end with the chat.

Examples:
  toolyard chat --user ada@example.com
  toolyard chat --server https://tools.example.com --token \"$TOKEN\" --model openai/gpt-5-mini
  toolyard chat --local --files ~/notes
  toolyard chat --local --message 'What is 17 % of 2340?'
  toolyard chat --local --plugin time.json --keys ada.key.pub
  toolyard chat --user ada@example.com --plugin ./draft.json --allow-unsigned ./draft.json
  toolyard chat --local --mcp ~/.cursor/mcp.json
  git diff | toolyard chat --local --system 'Write a commit message.' --message -";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ChatArgs {
    /// Ask this, tell the answer, and end; `-` reads it from stdin
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Ask this model; `toolyard models` lists them
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// How the model shall behave
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    #[command(flatten)]
    plugins: PluginArgs,
    #[command(flatten)]
    local: LocalArgs,
}

/// A chat.
struct Chat {
    door: Door,
    talk: Talk,
    screen: Screen,
    form: Form,
    signals: Signals,
    output: Output,
}

pub(crate) async fn run(cx: &Context, args: ChatArgs) -> Result<Verdict, CliError> {
    args.local.check()?;
    let mut signals = Signals::new().map_err(CliError::Runtime)?;
    let plugins = tokio::select! {
        ready = args.plugins.ready(cx.output) => ready?,
        _ = signals.which() => return Err(CliError::Stopped),
    };
    let message = match args.message.as_deref() {
        Some("-") => Some(piped().await?),
        message => message.map(str::to_owned),
    };
    let rounds = if plugins.is_empty() { ROUNDS_WITHOUT_TOOLS } else { ROUNDS_WITH_TOOLS };
    let (door, _kept) = match args.local.local {
        false => (Door::remote(cx, rounds)?, None),
        true => tokio::select! {
            started = args.local.start(cx, rounds) => started.map(|(door, kept)| (door, Some(kept)))?,
            _ = signals.which() => return Err(CliError::Stopped),
        },
    };
    let used = tokio::select! {
        used = plugins.register(&door.chat, cx.output) => used,
        _ = signals.which() => Err(CliError::Stopped),
    };
    if let Err(error) = used {
        plugins.end().await;
        door.close().await;
        return Err(error);
    }
    let mut chat = Chat {
        door,
        talk: Talk::new(args.model, args.system),
        screen: Screen::new(Style::of(environment())),
        form: if cx.output.is_json() { Form::Json } else { Form::Words },
        signals,
        output: cx.output,
    };
    let ended = match message {
        Some(message) => chat.once(&message).await,
        None => chat.talk().await,
    };
    let Chat { door, mut signals, .. } = chat;
    tokio::select! {
        () = door.close() => ended,
        // Whoever asks twice does not want to wait.
        _ = signals.which() => Err(CliError::Interrupted),
    }
}

/// The message on stdin.
async fn piped() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let most = MAX_MESSAGE_BYTES as u64 + 1;
    tokio::io::stdin().take(most).read_to_end(&mut bytes).await?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(CliError::TooLarge { file: "stdin".into(), limit: MAX_MESSAGE_BYTES });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a line on stdin, or a signal, wants.
enum Wanted {
    Line(String),
    Nothing,
    End,
}

impl Chat {
    /// One answer.
    async fn once(&mut self, message: &str) -> Result<Verdict, CliError> {
        if message.trim().is_empty() {
            return Err(CliError::usage("the message is empty", "say something with --message TEXT"));
        }
        match self.ask(message).await? {
            Ended::Through => Ok(Verdict::Good),
            Ended::Waiting(_) => Ok(Verdict::Bad),
            Ended::Stopped(_) => Err(CliError::Stopped),
        }
    }

    /// Answers to what is typed, until somebody has enough. Where nobody sits there, an answer that failed counts.
    async fn talk(&mut self) -> Result<Verdict, CliError> {
        let by_hand = stdin().is_terminal();
        if by_hand {
            self.greet().await?;
        }
        let mut keyboard = BoundedLines::new(BufReader::new(tokio::io::stdin()), MAX_TYPED_BYTES);
        let (mut verdict, mut warned) = (Verdict::Good, false);
        loop {
            if by_hand {
                self.screen.prompt()?;
            }
            let wanted = tokio::select! {
                line = keyboard.next() => match line? {
                    Some(Line::Text(line)) => Wanted::Line(line),
                    Some(Line::TooLong) => {
                        self.output.note(&format!("a line has at most {MAX_TYPED_BYTES} bytes; --message - takes more"));
                        Wanted::Nothing
                    }
                    None => Wanted::End,
                },
                signal = self.signals.which() => match signal {
                    Signal::Interrupt if !warned => {
                        warned = true;
                        self.output.note("\nCtrl-C again ends the chat");
                        continue;
                    }
                    Signal::Interrupt | Signal::Terminate => Wanted::End,
                },
            };
            warned = false;
            match wanted {
                Wanted::Line(line) => match self.typed(&line).await {
                    Ok(true) => {}
                    Ok(false) => return Ok(verdict),
                    Err(error) if error.is_closed_output() => return Err(error),
                    Err(error) => {
                        self.output.failed(&error);
                        verdict = if by_hand { Verdict::Good } else { Verdict::Bad };
                    }
                },
                Wanted::Nothing => {}
                Wanted::End => return Ok(verdict),
            }
        }
    }

    /// Says who answers, and whether anybody does: better now than after the first question.
    async fn greet(&mut self) -> Result<(), CliError> {
        let overview: ModelOverview = match self.door.get("api/models").await {
            // A server that does not list them may answer all the same.
            Err(CliError::Refused(refused)) if refused.status == 404 => return Ok(()),
            listed => listed?,
        };
        let model = self.talk.model.as_ref().or(overview.default.as_ref());
        let model = model.ok_or(CliError::NoModel)?;
        self.output.note(&format!("{model} answers; /help says what can be typed"));
        Ok(())
    }

    /// Does what a line says. False where it says that it is enough.
    async fn typed(&mut self, line: &str) -> Result<bool, CliError> {
        match typed::read(line) {
            Ok(Typed::Words(question)) => {
                return Ok(!matches!(self.ask(&question).await?, Ended::Stopped(Signal::Terminate)));
            }
            Ok(Typed::Quit) => return Ok(false),
            Ok(Typed::Nothing) => {}
            Ok(Typed::Help) => self.output.note(HELP),
            Ok(Typed::Order(order)) => self.order(order).await?,
            Err(why) => self.output.note(&why),
        }
        Ok(true)
    }

    async fn ask(&mut self, question: &str) -> Result<Ended, CliError> {
        self.talk.says(question);
        let Self { door, talk, screen, form, signals, .. } = self;
        let ended = turn::run(door, talk, screen, *form, signals).await?;
        match &ended {
            Ended::Through => {}
            Ended::Stopped(_) => self.output.note("[stopped]"),
            Ended::Waiting(tools) => {
                let is_ours = tools.iter().all(|tool| self.door.chat.plugins().has_executor(tool));
                let tools = tools.join(", ");
                self.output.note(&match is_ours {
                    true => format!("[{tools} did not run: one answer has at most {ROUNDS_WITH_TOOLS} requests; say something to go on]"),
                    false => format!("[the answer waits for {tools}, which only a client with that tool can run; this terminal has none]"),
                });
            }
        }
        Ok(ended)
    }
}
