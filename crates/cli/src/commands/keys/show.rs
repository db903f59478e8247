//! `toolyard keys show`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use toolyard_trust::{PublicKey, SecretKey};

use super::{MAX_KEY_FILE_BYTES, PublicKeyDetails, bad_key};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, input, output::RenderText};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  toolyard keys show ada.key\n  toolyard keys show ada.key.pub --json")]
pub(crate) struct KeysShowArgs {
    /// A secret or public key in PEM. Only the public key is shown
    file: PathBuf,
}

#[derive(Serialize)]
#[serde(transparent)]
struct SigningKeyOutput(PublicKeyDetails);

impl RenderText for SigningKeyOutput {
    fn render_text(&self) -> String {
        let Self(shown) = self;
        format!("{} key {}\n{}", shown.alg, shown.key_id, shown.key.to_pem().trim_end())
    }
}

pub(super) fn show_key(cx: &CommandContext, args: &KeysShowArgs) -> Result<CommandOutcome, CliError> {
    let text = input::read_text_file(&args.file, MAX_KEY_FILE_BYTES)?;
    let key = match SecretKey::from_pem(&text) {
        Ok(secret) => secret.public_key(),
        Err(_) => PublicKey::from_pem(&text).map_err(|error| bad_key(&args.file, error))?,
    };
    cx.output.print_result(&SigningKeyOutput(PublicKeyDetails::new(key)))?;
    Ok(CommandOutcome::Success)
}
