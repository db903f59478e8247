//! `toolyard plugin verify`

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use toolyard_protocol::plugin::{ContentHash, Manifest, PluginSignature};
use toolyard_server::ServerDependencies;
use toolyard_trust::{
    AllowList, KeyEntry, KeyList, MAX_LIST_BYTES, PluginVerdict as Judged, RevocationList, RootPin,
    TrustContext, TrustStatus, judge_manifest,
};

use super::{file_problem, formatting, manifest_problems, read_manifest};
use crate::{
    cli::CommandContext,
    commands::{CommandOutcome, keys},
    error::CliError,
    input,
    output::RenderText,
    text,
};

const HELP: &str = "\
The result is one of: signed, unsigned, modified, signed with an unknown key, revoked, expired. Without --key or --keys
no key is trusted.

Examples:
  toolyard plugin verify hello.json --key ada.key.pub
  toolyard plugin verify hello.json --keys keys.json --root root.pub --revocations revocations.json
  toolyard plugin verify hello.json --key ada.key.pub --hash 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct VerifyArgs {
    /// A packed plugin
    file: PathBuf,
    /// A public key to trust; can be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "keys")]
    key: Vec<PathBuf>,
    /// A key list to trust, signed with --root
    #[arg(long, value_name = "FILE", requires = "root")]
    keys: Option<PathBuf>,
    /// The public root key that signs the lists
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    /// A revocation list, signed with --root
    #[arg(long, value_name = "FILE", requires = "root")]
    revocations: Option<PathBuf>,
    /// The expected content hash, as shown at install
    #[arg(long, value_name = "HASH")]
    hash: Option<ContentHash>,
}

#[derive(Serialize)]
struct PluginVerifyOutput {
    id: String,
    version: String,
    #[serde(flatten)]
    verdict: Judged,
}

impl RenderText for PluginVerifyOutput {
    fn render_text(&self) -> String {
        let Self { id, version, verdict } = self;
        let status = match &verdict.status {
            TrustStatus::Signed { .. } => "signed",
            TrustStatus::Unsigned => "unsigned",
            TrustStatus::Modified => "modified",
            TrustStatus::UnknownKey => "signed with an unknown key",
            TrustStatus::Revoked => "revoked",
            TrustStatus::Expired => "expired",
        };
        let mut lines = vec![format!("{id} {version} is {status}: {}", verdict.reason)];
        lines.push(format!("hash {}", verdict.content_hash));
        if verdict.runs {
            let granted = formatting::describe_permissions(&verdict.permissions).into_iter();
            lines.push("permissions:".to_owned());
            lines.extend(granted.map(|granted| format!("  {granted}")));
        }
        lines.iter().map(|line| text::sanitize_line(line)).collect::<Vec<_>>().join("\n")
    }
}

pub(super) fn verify_plugin(cx: &CommandContext, args: &VerifyArgs) -> Result<CommandOutcome, CliError> {
    let manifest = read_manifest(&args.file)?;
    let now = ServerDependencies::default().clock.now();
    let (keys, revocations) = read_trust_lists(args, &manifest, now)?;
    let ground = TrustContext {
        keys: &keys,
        revocations: &revocations,
        allowed: &AllowList::default(),
        pinned: args.hash.as_ref(),
        now,
    };
    let verdict =
        judge_manifest(&manifest, &ground).map_err(|problem| manifest_problems(&args.file, vec![problem]))?;
    let is_signed = matches!(verdict.status, TrustStatus::Signed { .. });
    cx.output.print_result(&PluginVerifyOutput {
        id: manifest.id.to_string(),
        version: manifest.version.clone(),
        verdict,
    })?;
    Ok(if is_signed { CommandOutcome::Success } else { CommandOutcome::Failure })
}

/// The trusted keys and the revocations. Lists must be signed by the root key.
fn read_trust_lists(
    args: &VerifyArgs,
    manifest: &Manifest,
    now: jiff::Timestamp,
) -> Result<(KeyList, RevocationList), CliError> {
    let mut entries = Vec::new();
    for file in &args.key {
        let mut entry = KeyEntry::new(keys::read_public_key(file)?, file.display().to_string());
        // The older format refers to keys by arbitrary names. A key on the command line matches any of them.
        if let Some(PluginSignature::Rs256 { key, .. }) = manifest.signature() {
            entry.curator_id = Some(key.clone().unwrap_or_default());
        }
        entries.push(entry);
    }
    let (mut keys, mut revocations) = (KeyList::from_local_keys(entries), RevocationList::default());
    let Some(root) = &args.root else { return Ok((keys, revocations)) };
    let mut pin = RootPin::new(keys::read_public_key(root)?);
    let read = |file: &Path| input::read_text_file(file, MAX_LIST_BYTES);
    if let Some(file) = &args.keys {
        (keys, pin) = pin.accept_keys(&read(file)?, now).map_err(|error| file_problem(file, error))?;
    }
    if let Some(file) = &args.revocations {
        (revocations, _) =
            pin.accept_revocations(&read(file)?, now).map_err(|error| file_problem(file, error))?;
    }
    Ok((keys, revocations))
}
