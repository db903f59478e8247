//! `toolyard plugin sign`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use toolyard_trust::{audit, hash, sign};

use super::{bad, bad_file, manifest, words};
use crate::{
    cli::Context,
    commands::{Verdict, keys},
    error::CliError,
    new_file,
    output::Show,
    text,
};

const HELP: &str = "\
The signature covers everything in the file but itself. A signature that is there already is replaced.

Examples:
  toolyard plugin sign hello.json --key ada.key
  toolyard plugin sign hello.json --key ada.key -o hello.signed.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SignArgs {
    /// A packed plugin
    file: PathBuf,
    /// The file with your secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Where the signed plugin goes [default: the same file]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Signed {
    file: PathBuf,
    id: String,
    version: String,
    key_id: String,
    content_hash: String,
}

impl Show for Signed {
    fn text(&self) -> String {
        let file = text::line(&self.file.display().to_string());
        format!(
            "signed {} {} with the key {}: {file}\nhash {}",
            self.id, self.version, self.key_id, self.content_hash
        )
    }
}

pub(super) fn run(cx: &Context, args: &SignArgs) -> Result<Verdict, CliError> {
    let manifest = manifest(&args.file)?;
    let key = keys::secret(&args.key)?;
    let signed = sign(&manifest, &key).map_err(|error| bad_file(&args.file, error))?;
    let content_hash = hash(&manifest).map_err(|problem| bad(&args.file, vec![problem]))?.to_string();
    let report = audit(&manifest);
    if !report.passes {
        let errors = words::counts(&report);
        cx.output
            .note(&format!("a curator would not sign this ({errors}): `toolyard plugin inspect` says why"));
    }
    let file = args.out.clone().unwrap_or_else(|| args.file.clone());
    new_file::replace(&file, &(signed + "\n"))?;
    cx.output.show(&Signed {
        file,
        id: manifest.id.to_string(),
        version: manifest.version.clone(),
        key_id: key.public().id().to_string(),
        content_hash,
    })?;
    Ok(Verdict::Good)
}
