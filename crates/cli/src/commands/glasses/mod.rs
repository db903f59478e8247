//! `toolyard glasses`: a device in the terminal. Shows what apps show, says what is typed, and comes back by itself when
//! the connection is lost.

mod connect;
mod glasses_command;
mod model;
mod screen;
mod session;

use std::{path::PathBuf, time::Duration};

use clap::Args;
use tokio::io::{BufReader, Stdin, stdin};

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

/// Wait before the first try to come back; each further one takes twice as long, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Longest line that is typed or piped in, in bytes.
const MAX_TYPED_BYTES: usize = 16 * 1024;

const HELP: &str = "\
Type a line, and the glasses hear it. Lines with a slash do something else:
  /start PACKAGE   open an app            /button [long]   press the button
  /stop PACKAGE    close an app           /head up|down    look up, to the dashboard, or down
  /model NAME      change the glasses     /battery N       tell how full the battery is, in percent
  /help            show this              /quit            end
With stdin closed it stays connected until SIGINT or SIGTERM. With --json each message is one line of JSON.

Examples:
  toolyard glasses --user ada@example.com
  toolyard glasses --model \"Mentra Live\" --token \"$TOKEN\"
  toolyard glasses --profile my-glasses.json --json < /dev/null";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct GlassesArgs {
    /// Which glasses; a name that the server does not know hides no tools
    #[arg(long, default_value = model::DEFAULT, conflicts_with = "profile")]
    model: String,
    /// Glasses of your own: a JSON file with `modelName`, `hasDisplay` and so on
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

/// What is typed. Once it has ended, nothing comes any more.
pub(super) struct KeyboardInput(Option<BoundedLines<BufReader<Stdin>>>);

impl KeyboardInput {
    fn new() -> Self {
        Self(Some(BoundedLines::new(BufReader::new(stdin()), MAX_TYPED_BYTES)))
    }

    /// The next line; waits for ever after the last.
    pub(super) async fn next(&mut self) -> String {
        loop {
            let Some(lines) = &mut self.0 else { return std::future::pending().await };
            match lines.next().await {
                Ok(Some(BoundedLine::Text(text))) => return text,
                // Nobody speaks that long at once.
                Ok(Some(BoundedLine::TooLong)) => {}
                Ok(None) | Err(_) => self.0 = None,
            }
        }
    }
}

pub(crate) async fn run_glasses(cx: &CommandContext, args: GlassesArgs) -> Result<CommandOutcome, CliError> {
    let mut model = match &args.profile {
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
                        cx.output.print_note(&format!("the connection was lost ({why}); trying again"))
                    }
                }
            }
            // Whoever was never let in has named the wrong server or user: trying again does not help.
            Err(error) if !known || matches!(error, DialError::Refused { .. }) => {
                return Err(connect::connect_error(&dialer, error));
            }
            Err(error) => cx.output.print_note(&format!("{error}; trying again in {wait:?}")),
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = signals.next() => return Ok(CommandOutcome::Success),
            () = wait_for_quit(&mut keyboard) => return Ok(CommandOutcome::Success),
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// Without a connection nobody hears what is typed, except the wish to leave.
async fn wait_for_quit(keyboard: &mut KeyboardInput) {
    while keyboard.next().await.trim() != "/quit" {}
}
