//! `toolyard keys`: creates and shows the keys that sign plugins.

mod new;
mod show;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;
use toolyard_protocol::Problem;
use toolyard_trust::{KeyError, PublicKey, SecretKey};

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError, input};

/// Largest key file, in bytes.
const MAX_KEY_FILE_BYTES: usize = 16 * 1024;

const HELP: &str = "\
Keys are Ed25519 in PEM: the secret key as PKCS#8, the public key as SPKI, so that other tools can read them too.

Examples:
  toolyard keys new --out ada.key --owner 'Ada Lovelace'
  toolyard keys show ada.key
  toolyard plugin sign time.json --key ada.key";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum KeysCommand {
    /// Create a key pair: a file with the secret key, and one with the public key next to it
    New(new::KeysNewArgs),
    /// Show the public key and its id
    Show(show::KeysShowArgs),
}

/// A public key, as in key lists.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PublicKeyDetails {
    key_id: String,
    alg: &'static str,
    /// SPKI in base64.
    key: PublicKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    public_file: Option<PathBuf>,
}

impl PublicKeyDetails {
    fn new(key: PublicKey) -> Self {
        let (key_id, alg) = (key.id().to_string(), key.alg());
        Self { key_id, alg, key, owner: None, secret_file: None, public_file: None }
    }
}

pub(crate) fn run_keys_command(
    cx: &CommandContext,
    command: KeysCommand,
) -> Result<CommandOutcome, CliError> {
    match command {
        KeysCommand::New(args) => new::create_key(cx, args),
        KeysCommand::Show(args) => show::show_key(cx, &args),
    }
}

/// Reads a secret key.
pub(crate) fn read_secret_key(path: &Path) -> Result<SecretKey, CliError> {
    SecretKey::from_pem(&input::read_text_file(path, MAX_KEY_FILE_BYTES)?)
        .map_err(|error| bad_key(path, error))
}

/// Reads a public key. A file with a secret key is refused, so that secret keys are not passed around.
pub(crate) fn read_public_key(path: &Path) -> Result<PublicKey, CliError> {
    PublicKey::from_pem(&input::read_text_file(path, MAX_KEY_FILE_BYTES)?)
        .map_err(|error| bad_key(path, error))
}

fn bad_key(path: &Path, error: KeyError) -> CliError {
    let problems = vec![Problem::new("", error.to_string())];
    CliError::Problems { what: path.display().to_string(), problems }
}
