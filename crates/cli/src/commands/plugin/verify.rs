//! `toolyard plugin verify`

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use toolyard_protocol::plugin::{ContentHash, Manifest, Signature};
use toolyard_server::World;
use toolyard_trust::{
    AllowList, Ground, KeyEntry, KeyList, MAX_LIST_BYTES, Pin, Revocations, Status, Verdict as Judged, judge,
};

use super::{bad, bad_file, manifest, words};
use crate::{
    cli::Context,
    commands::{Verdict, keys},
    error::CliError,
    input,
    output::Show,
    text,
};

const HELP: &str = "\
A plugin is signed, unsigned, modified, of an unknown key, revoked or expired. Without --key or --keys no key is
believed.

Examples:
  toolyard plugin verify hello.json --key ada.key.pub
  toolyard plugin verify hello.json --keys keys.json --root root.pub --revocations revocations.json
  toolyard plugin verify hello.json --key ada.key.pub --hash 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct VerifyArgs {
    /// A packed plugin
    file: PathBuf,
    /// A public key to believe
    #[arg(long, value_name = "FILE", conflicts_with = "keys")]
    key: Vec<PathBuf>,
    /// A key list to believe, signed by --root
    #[arg(long, value_name = "FILE", requires = "root")]
    keys: Option<PathBuf>,
    /// The public root key that signs the lists
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    /// A revocation list, signed by --root
    #[arg(long, value_name = "FILE", requires = "root")]
    revocations: Option<PathBuf>,
    /// The content that it has to have, as it was told at install
    #[arg(long, value_name = "HASH")]
    hash: Option<ContentHash>,
}

#[derive(Serialize)]
struct Told {
    id: String,
    version: String,
    #[serde(flatten)]
    verdict: Judged,
}

impl Show for Told {
    fn text(&self) -> String {
        let Self { id, version, verdict } = self;
        let status = match &verdict.status {
            Status::Signed { .. } => "signed",
            Status::Unsigned => "unsigned",
            Status::Modified => "modified",
            Status::UnknownKey => "of an unknown key",
            Status::Revoked => "revoked",
            Status::Expired => "expired",
        };
        let mut lines = vec![format!("{id} {version} is {status}: {}", verdict.reason)];
        lines.push(format!("hash {}", verdict.content_hash));
        if verdict.runs {
            let granted = words::permissions(&verdict.permissions).into_iter();
            lines.extend(granted.map(|granted| format!("may have: {granted}")));
        }
        lines.iter().map(|line| text::line(line)).collect::<Vec<_>>().join("\n")
    }
}

pub(super) fn run(cx: &Context, args: &VerifyArgs) -> Result<Verdict, CliError> {
    let manifest = manifest(&args.file)?;
    let now = World::default().clock.now();
    let (keys, revocations) = believed(args, &manifest, now)?;
    let ground = Ground {
        keys: &keys,
        revocations: &revocations,
        allowed: &AllowList::default(),
        pinned: args.hash.as_ref(),
        now,
    };
    let verdict = judge(&manifest, &ground).map_err(|problem| bad(&args.file, vec![problem]))?;
    let is_signed = matches!(verdict.status, Status::Signed { .. });
    cx.output.show(&Told { id: manifest.id.to_string(), version: manifest.version.clone(), verdict })?;
    Ok(if is_signed { Verdict::Good } else { Verdict::Bad })
}

/// The keys and revocations that were named. Lists count only as far as the root vouches for them.
fn believed(
    args: &VerifyArgs,
    manifest: &Manifest,
    now: jiff::Timestamp,
) -> Result<(KeyList, Revocations), CliError> {
    let mut entries = Vec::new();
    for file in &args.key {
        let mut entry = KeyEntry::new(keys::public(file)?, file.display().to_string());
        // The older form knows keys by names that somebody gave them; whoever names a key here means this one.
        if let Some(Signature::Rs256 { key, .. }) = manifest.signature() {
            entry.curator_id = Some(key.clone().unwrap_or_default());
        }
        entries.push(entry);
    }
    let (mut keys, mut revocations) = (KeyList::local(entries), Revocations::default());
    let Some(root) = &args.root else { return Ok((keys, revocations)) };
    let mut pin = Pin::new(keys::public(root)?);
    let read = |file: &Path| input::file(file, MAX_LIST_BYTES);
    if let Some(file) = &args.keys {
        (keys, pin) = pin.accept_keys(&read(file)?, now).map_err(|error| bad_file(file, error))?;
    }
    if let Some(file) = &args.revocations {
        (revocations, _) =
            pin.accept_revocations(&read(file)?, now).map_err(|error| bad_file(file, error))?;
    }
    Ok((keys, revocations))
}
