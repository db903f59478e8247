//! `toolyard keys new`

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use serde::Serialize;
use toolyard_protocol::Problem;
use toolyard_server::ServerDependencies;
use toolyard_trust::{KeyError, SecretKey};

use super::PublicKeyDetails;
use crate::{
    cli::CommandContext,
    commands::CommandOutcome,
    error::CliError,
    new_file::{self, FileAccess},
    output::RenderText,
    text,
};

const HELP: &str = "\
Anyone who has the secret file can sign in your name: keep it where only you can read it, and keep a backup.
Give the public file to those who should trust your plugins.

Examples:
  toolyard keys new
  toolyard keys new --out ada.key --owner 'Ada Lovelace'
  toolyard keys new --out root.key --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct KeysNewArgs {
    /// File for the secret key; the public key is written next to it with the extension `.pub`. Existing files are kept
    #[arg(long, value_name = "FILE", default_value = "plugin.key")]
    out: PathBuf,
    /// The owner's name, as key lists show it
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct NewSigningKeyOutput(PublicKeyDetails);

impl RenderText for NewSigningKeyOutput {
    fn render_text(&self) -> String {
        let Self(shown) = self;
        let file = |path: &Option<PathBuf>| {
            path.as_ref().map(|path| text::sanitize_line(&path.display().to_string())).unwrap_or_default()
        };
        format!(
            "created key {}\nsecret key, for you only: {}\npublic key, for others: {}\n{}",
            shown.key_id,
            file(&shown.secret_file),
            file(&shown.public_file),
            shown.key.to_pem().trim_end()
        )
    }
}

pub(super) fn create_key(cx: &CommandContext, args: KeysNewArgs) -> Result<CommandOutcome, CliError> {
    let mut public_file = OsString::from(&args.out);
    public_file.push(".pub");
    let public_file = PathBuf::from(public_file);
    if public_file.exists() {
        return Err(new_file::already_exists(&public_file));
    }
    let mut seed = [0; 32];
    ServerDependencies::default().ids.fill_random(&mut seed);
    let key = SecretKey::from_seed(&seed).map_err(key_generation_error)?;
    let secret = key.to_pem().map_err(key_generation_error)?;
    new_file::create_file(&args.out, secret.expose(), FileAccess::OwnerOnly)?;
    new_file::create_file(&public_file, &key.public_key().to_pem(), FileAccess::SystemDefault)?;
    let mut shown = PublicKeyDetails::new(key.public_key());
    (shown.owner, shown.secret_file, shown.public_file) = (args.owner, Some(args.out), Some(public_file));
    cx.output.print_result(&NewSigningKeyOutput(shown))?;
    Ok(CommandOutcome::Success)
}

fn key_generation_error(error: KeyError) -> CliError {
    CliError::Problems { what: "the new key".to_owned(), problems: vec![Problem::new("", error.to_string())] }
}
