//! `toolyard chat`: chat with a model that can call the user's tools, in the terminal. The conversation is kept here, in
//! memory, and sent as a whole with each request.

mod backend;
mod bridge;
mod chat_command;
mod conversation;
mod formatting;
mod local;
pub(crate) mod plugins;
mod questions;
mod run_command;
mod screen;
mod style;
mod trusted_keys;
mod turn;

use std::io::{IsTerminal as _, stdin};

use clap::Args;
use tokio::io::AsyncReadExt as _;
use toolyard_server::models::ModelOverview;

use self::{
    backend::{ChatBackend, MAX_ROUNDS, SINGLE_ROUND},
    conversation::ChatConversation,
    local::LocalArgs,
    plugins::PluginArgs,
    questions::{Keyboard, TerminalAsker},
    screen::ChatScreen,
    style::TerminalStyle,
    turn::{AnswerEnd, AnswerFormat},
};
use super::CommandOutcome;
use crate::{
    cli::CommandContext,
    config::env_variables,
    error::CliError,
    lines::BoundedLine,
    output::CliOutput,
    signals::{ProcessSignal, SignalListener},
    typed_line::TypedLine,
};

/// Longest line that is typed or piped in, in bytes.
const MAX_TYPED_BYTES: usize = 64 * 1024;
/// Longest message that is read from stdin, in bytes.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

const HELP: &str = "\
Type a message and press Enter. Lines that start with a slash are commands:
  /new             start a new conversation
  /tools           list the tools that the model can call
  /model [NAME]    use another model from now on; without a name, list the models
  /system [TEXT]   set the system prompt; without a text, remove it
  /help            show this help
  /quit            end the chat, like Ctrl-D
Ctrl-C cancels an answer; pressed twice at an empty prompt it ends the chat.
If a call needs your approval, it is asked about here: y runs it once, a runs this tool from now on without asking. Without a
terminal, the question and its link are printed, and the exit code is 3.
The text of the answer goes to stdout, everything else to stderr. With --json each event of the answer is one line on
stdout. Plugins and MCP servers run on this machine, even if the server does not, and stop when the chat ends.

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
    /// Send this message, print the answer and exit; `-` reads the message from stdin
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// The model to use; `toolyard models` lists them
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The system prompt: instructions for the model
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    #[command(flatten)]
    plugins: PluginArgs,
    #[command(flatten)]
    local: LocalArgs,
}

/// A running chat.
struct ChatSession {
    backend: ChatBackend,
    conversation: ChatConversation,
    screen: ChatScreen,
    form: AnswerFormat,
    signals: SignalListener,
    output: CliOutput,
    /// What the user types, or what is piped in.
    keyboard: Keyboard,
    /// Whether a person types.
    by_hand: bool,
    /// Whether that person can be asked.
    can_ask: bool,
}

pub(crate) async fn run_chat(cx: &CommandContext, args: ChatArgs) -> Result<CommandOutcome, CliError> {
    args.local.check_flags()?;
    let mut signals = SignalListener::new().map_err(CliError::Runtime)?;
    let plugins = tokio::select! {
        ready = args.plugins.prepare_plugins(cx.output) => ready?,
        _ = signals.next_signal() => return Err(CliError::Stopped),
    };
    let is_piped = args.message.as_deref() == Some("-");
    let message = match args.message.as_deref() {
        Some("-") => Some(read_piped_message().await?),
        message => message.map(str::to_owned),
    };
    // A question is asked where a person types, and reads the answer as text.
    let by_hand = !is_piped && stdin().is_terminal();
    let can_ask = by_hand && !cx.output.is_json();
    let rounds = if plugins.is_empty() && !can_ask { SINGLE_ROUND } else { MAX_ROUNDS };
    let (backend, _guard) = match args.local.local {
        false => (ChatBackend::new_remote(cx, rounds)?, None),
        true => tokio::select! {
            started = args.local.start_backend(cx, rounds) => started.map(|(backend, guard)| (backend, Some(guard)))?,
            _ = signals.next_signal() => return Err(CliError::Stopped),
        },
    };
    let registered = tokio::select! {
        registered = plugins.register_all(&backend.chat, cx.output) => registered,
        _ = signals.next_signal() => Err(CliError::Stopped),
    };
    if let Err(error) = registered {
        plugins.shut_down().await;
        backend.close().await;
        return Err(error);
    }
    let mut chat = ChatSession {
        backend,
        conversation: ChatConversation::new(args.model, args.system),
        screen: ChatScreen::new(TerminalStyle::from_environment(env_variables())),
        form: if cx.output.is_json() { AnswerFormat::Json } else { AnswerFormat::Text },
        signals,
        output: cx.output,
        keyboard: Keyboard::new(tokio::io::stdin(), MAX_TYPED_BYTES),
        by_hand,
        can_ask,
    };
    let ended = match message {
        Some(message) => chat.answer_once(&message).await,
        None => chat.run_conversation().await,
    };
    let ChatSession { backend, mut signals, .. } = chat;
    tokio::select! {
        () = backend.close() => ended,
        // A second signal means: do not wait.
        _ = signals.next_signal() => Err(CliError::Interrupted),
    }
}

/// Reads the message from stdin.
async fn read_piped_message() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let most = MAX_MESSAGE_BYTES as u64 + 1;
    tokio::io::stdin().take(most).read_to_end(&mut bytes).await?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(CliError::TooLarge { file: "stdin".into(), limit: MAX_MESSAGE_BYTES });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line from stdin, or a signal, at the prompt.
enum PromptInput {
    Line(String),
    Nothing,
    End,
}

/// What follows a line.
enum LineEnd {
    Continue,
    /// The answer waits for an approval that nobody could give here.
    AwaitingApproval,
    Quit,
}

impl ChatSession {
    /// Sends one message and prints the answer.
    async fn answer_once(&mut self, message: &str) -> Result<CommandOutcome, CliError> {
        if message.trim().is_empty() {
            return Err(CliError::usage("the message is empty", "pass a text with --message TEXT"));
        }
        match self.ask_model(message).await? {
            AnswerEnd::Completed => Ok(CommandOutcome::Success),
            AnswerEnd::Waiting(_) => Ok(CommandOutcome::Failure),
            AnswerEnd::AwaitingApproval => Ok(CommandOutcome::AwaitingUser),
            AnswerEnd::Stopped(_) => Err(CliError::Stopped),
        }
    }

    /// Answers what the user types, until they quit. If stdin is not a terminal, a failed answer makes the command fail.
    async fn run_conversation(&mut self) -> Result<CommandOutcome, CliError> {
        let by_hand = self.by_hand;
        if by_hand {
            self.print_greeting().await?;
        }
        let (mut verdict, mut warned) = (CommandOutcome::Success, false);
        loop {
            if by_hand {
                self.screen.print_prompt()?;
            }
            let wanted = tokio::select! {
                line = self.keyboard.next() => match line? {
                    Some(BoundedLine::Text(line)) => PromptInput::Line(line),
                    Some(BoundedLine::TooLong) => {
                        self.output.print_note(&format!("a line can have at most {MAX_TYPED_BYTES} bytes; use --message - for longer ones"));
                        PromptInput::Nothing
                    }
                    None => PromptInput::End,
                },
                signal = self.signals.next_signal() => match signal {
                    ProcessSignal::Interrupt if !warned => {
                        warned = true;
                        self.output.print_note("\npress Ctrl-C again to end the chat");
                        continue;
                    }
                    ProcessSignal::Interrupt | ProcessSignal::Terminate => PromptInput::End,
                },
            };
            warned = false;
            match wanted {
                PromptInput::Line(line) => match self.handle_line(&line).await {
                    Ok(LineEnd::Continue) => {}
                    Ok(LineEnd::AwaitingApproval) if by_hand => {}
                    Ok(LineEnd::AwaitingApproval) => verdict = CommandOutcome::AwaitingUser,
                    Ok(LineEnd::Quit) => return Ok(verdict),
                    Err(error) if error.is_closed_output() => return Err(error),
                    Err(error) => {
                        self.output.report_error(&error);
                        verdict = if by_hand { CommandOutcome::Success } else { CommandOutcome::Failure };
                    }
                },
                PromptInput::Nothing => {}
                PromptInput::End => return Ok(verdict),
            }
        }
    }

    /// Prints the model. Fails now if there is none, not after the first message.
    async fn print_greeting(&mut self) -> Result<(), CliError> {
        let overview: ModelOverview = match self.backend.get("api/models").await {
            // A server without this route may still answer chats.
            Err(CliError::Refused(refused)) if refused.status == 404 => return Ok(()),
            listed => listed?,
        };
        let model = self.conversation.model.as_ref().or(overview.default.as_ref());
        let model = model.ok_or(CliError::NoModel)?;
        self.output.print_note(&format!("chatting with {model}; type /help for the commands"));
        Ok(())
    }

    async fn handle_line(&mut self, line: &str) -> Result<LineEnd, CliError> {
        match chat_command::parse_chat_line(line) {
            Ok(TypedLine::PlainText(question)) => {
                return Ok(match self.ask_model(&question).await? {
                    AnswerEnd::Stopped(ProcessSignal::Terminate) => LineEnd::Quit,
                    AnswerEnd::AwaitingApproval => LineEnd::AwaitingApproval,
                    AnswerEnd::Completed | AnswerEnd::Waiting(_) | AnswerEnd::Stopped(_) => LineEnd::Continue,
                });
            }
            Ok(TypedLine::Quit) => return Ok(LineEnd::Quit),
            Ok(TypedLine::Empty) => {}
            Ok(TypedLine::Help) => self.output.print_note(HELP),
            Ok(TypedLine::Command(order)) => self.run_command(order).await?,
            Err(why) => self.output.print_note(&why),
        }
        Ok(LineEnd::Continue)
    }

    async fn ask_model(&mut self, question: &str) -> Result<AnswerEnd, CliError> {
        self.conversation.add_user_message(question);
        let Self { backend, conversation, screen, form, signals, output, keyboard, can_ask, .. } = self;
        let mut asker = TerminalAsker { backend, keyboard: can_ask.then_some(keyboard), output: *output };
        let ended = turn::run_turn(&mut asker, conversation, screen, *form, signals).await?;
        match &ended {
            AnswerEnd::Completed | AnswerEnd::AwaitingApproval => {}
            AnswerEnd::Stopped(_) => self.output.print_note("[stopped]"),
            AnswerEnd::Waiting(tools) => {
                let is_ours = tools.iter().all(|tool| self.backend.chat.plugins().has_executor(tool));
                let tools = tools.join(", ");
                self.output.print_note(&match is_ours {
                    true => format!("[{tools} did not run: an answer can have at most {MAX_ROUNDS} requests; send a message to continue]"),
                    false => format!("[the answer needs {tools}, which only a client with that tool can run; this terminal does not have it]"),
                });
            }
        }
        Ok(ended)
    }
}
