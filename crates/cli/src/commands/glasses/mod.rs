//! `toolyard glasses`: a simulated device in the terminal. It shows what apps display, sends what is typed as speech, and
//! reconnects by itself.

mod connect;
mod glasses_command;
mod model;
mod screen;
mod session;

use std::{path::PathBuf, time::Duration};

use clap::Args;
use tokio::io::{Stdin, stdin};

use self::{
    model::GlassesModel,
    session::{DashboardGlance, GlassesSession, GlassesSessionEnd},
};
use super::CommandOutcome;
use crate::{
    cli::CommandContext,
    error::CliError,
    lines::{BoundedLine, BoundedLines},
    signals::SignalListener,
    socket::DialError,
};

/// Wait before the first reconnect; it doubles with each attempt, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Longest line that is typed or piped in, in bytes.
const MAX_TYPED_BYTES: usize = 16 * 1024;

const HELP: &str = "\
Type a line to say it to the glasses. Lines that start with a slash are commands:
  /start PACKAGE   open an app            /button [long]   press the button
  /stop PACKAGE    close an app           /head up|down    look up (shows the dashboard) or down
  /model NAME      change the glasses     /battery N       report the battery level in percent
  /help            show this help         /quit            disconnect and exit
If stdin is closed, it stays connected until SIGINT or SIGTERM. With --json each message is one line of JSON.

Examples:
  toolyard glasses --user ada@example.com
  toolyard glasses --model \"Mentra Live\" --token \"$TOKEN\"
  toolyard glasses --model-file my-glasses.json --json < /dev/null";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct GlassesArgs {
    /// The glasses to simulate; if the server does not know the name, it hides no tools
    #[arg(long, default_value = model::DEFAULT, conflicts_with = "model_file")]
    model: String,
    /// Custom glasses: a JSON file with `modelName`, `hasDisplay` and so on
    #[arg(long, value_name = "FILE")]
    model_file: Option<PathBuf>,
}

/// The lines that are typed.
pub(super) struct KeyboardInput(Option<BoundedLines<Stdin>>);

impl KeyboardInput {
    fn new() -> Self {
        Self(Some(BoundedLines::new(stdin(), MAX_TYPED_BYTES)))
    }

    /// The next line. Never returns after the end of input.
    pub(super) async fn next(&mut self) -> String {
        loop {
            let Some(lines) = &mut self.0 else { return std::future::pending().await };
            match lines.next().await {
                Ok(Some(BoundedLine::Text(text))) => return text,
                // Ignored: speech is never that long.
                Ok(Some(BoundedLine::TooLong)) => {}
                Ok(None) | Err(_) => self.0 = None,
            }
        }
    }
}

pub(crate) async fn run_glasses(cx: &CommandContext, args: GlassesArgs) -> Result<CommandOutcome, CliError> {
    let mut model = match &args.model_file {
        Some(file) => GlassesModel::from_profile(file)?,
        None => GlassesModel::Known(args.model),
    };
    let dialer = connect::device_dialer(cx)?;
    let (mut keyboard, mut signals) =
        (KeyboardInput::new(), SignalListener::new().map_err(CliError::Runtime)?);
    let (mut wait, mut known) = (FIRST_WAIT, false);
    loop {
        let connected = tokio::select! {
            connected = dialer.dial() => connected,
            () = signals.next() => return Ok(CommandOutcome::Success),
        };
        match connected {
            Ok(socket) => {
                (wait, known) = (FIRST_WAIT, true);
                let glance = DashboardGlance::default();
                let session = GlassesSession { socket, output: cx.output, model: &mut model, glance };
                match session.run(&mut keyboard, &mut signals).await? {
                    GlassesSessionEnd::Requested => return Ok(CommandOutcome::Success),
                    GlassesSessionEnd::Lost(why) => {
                        cx.output.print_note(&format!("connection lost ({why}); reconnecting"))
                    }
                }
            }
            // If the first attempt fails, the server or the user is wrong: a retry does not help.
            Err(error) if !known || matches!(error, DialError::Refused { .. }) => {
                return Err(connect::connect_error(&dialer, error));
            }
            Err(error) => cx.output.print_note(&format!("{error}; retrying in {wait:?}")),
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = signals.next() => return Ok(CommandOutcome::Success),
            () = wait_for_quit(&mut keyboard) => return Ok(CommandOutcome::Success),
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// Waits for `/quit`. Without a connection all other lines are ignored.
async fn wait_for_quit(keyboard: &mut KeyboardInput) {
    while keyboard.next().await.trim() != "/quit" {}
}
