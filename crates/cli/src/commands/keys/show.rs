//! `toolyard keys show`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use toolyard_trust::{PublicKey, SecretKey};

use super::{MAX_KEY_FILE_BYTES, Shown, bad_key};
use crate::{cli::Context, commands::Verdict, error::CliError, input, output::Show};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  toolyard keys show ada.key\n  toolyard keys show ada.key.pub --json")]
pub(crate) struct ShowArgs {
    /// A secret or a public key, in PEM. Nothing of the secret one is shown
    file: PathBuf,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Told(Shown);

impl Show for Told {
    fn text(&self) -> String {
        let Self(shown) = self;
        format!("{} key {}\n{}", shown.alg, shown.key_id, shown.key.to_pem().trim_end())
    }
}

pub(super) fn run(cx: &Context, args: &ShowArgs) -> Result<Verdict, CliError> {
    let text = input::file(&args.file, MAX_KEY_FILE_BYTES)?;
    let key = match SecretKey::from_pem(&text) {
        Ok(secret) => secret.public(),
        Err(_) => PublicKey::from_pem(&text).map_err(|error| bad_key(&args.file, error))?,
    };
    cx.output.show(&Told(Shown::new(key)))?;
    Ok(Verdict::Good)
}
