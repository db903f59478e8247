//! `toolyard apps add`: registers an app, from flags or from the description that the app publishes at its URL.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};
use toolyard_protocol::{
    PackageName,
    api::AppCreated,
    app::{AppDetails, AppKind, AppType, DeclaredPermission},
    device::{HardwareLevel, HardwareRequirement, HardwareType},
    items::AppItems,
    stream::Permission,
};

use crate::{
    cli::CommandContext,
    commands::{CommandOutcome, legacy::tpa_config},
    error::CliError,
    output::RenderText,
    text,
    tool_file::ToolFile,
};

const HARDWARE: [(&str, HardwareType); 9] = [
    ("CAMERA", HardwareType::Camera),
    ("DISPLAY", HardwareType::Display),
    ("MICROPHONE", HardwareType::Microphone),
    ("SPEAKER", HardwareType::Speaker),
    ("IMU", HardwareType::Imu),
    ("BUTTON", HardwareType::Button),
    ("LIGHT", HardwareType::Light),
    ("WIFI", HardwareType::Wifi),
    ("EXIST", HardwareType::Exist),
];

const HELP: &str = "\
The API key and the signing secret are shown only once. The app needs both.

Examples:
  toolyard apps add --package com.example.todo --url http://127.0.0.1:7010 --kind tools-only --tools tools.json
  toolyard apps add --package com.example.notes --url https://notes.example.com --permission MICROPHONE --requires DISPLAY
  toolyard apps add --from-url https://todo.example.com --package com.example.todo";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AppsAddArgs {
    /// The package name, such as com.example.todo; optional if the file of --from-url has it
    #[arg(long, required_unless_present = "from_url")]
    package: Option<PackageName>,
    /// Display name
    #[arg(long)]
    name: Option<String>,
    /// What the app does, for people
    #[arg(long)]
    description: Option<String>,
    /// Base URL at which the app answers
    #[arg(long, conflicts_with = "from_url")]
    url: Option<String>,
    /// Icon: an https URL, which the server fetches, or a small data:image URL
    #[arg(long, value_name = "URL")]
    icon: Option<String>,
    /// `tools-only` apps only answer calls; `session` apps are woken before a call and can use display and microphone
    /// [default: as the server is configured, usually `tools-only`]
    #[arg(long, value_parser = PossibleValuesParser::new(["session", "tools-only"]).map(parse_app_kind))]
    kind: Option<AppKind>,
    /// How the app shares the display: one standard app is in front, background apps run beside it
    #[arg(long = "type", value_name = "TYPE", default_value = "background",
        value_parser = PossibleValuesParser::new(["standard", "background"]).map(parse_app_type))]
    app_type: AppType,
    /// A permission that the app needs; can be repeated
    #[arg(long = "permission", value_parser = PossibleValuesParser::new(Permission::EVERY.map(Permission::as_str)).map(parse_permission))]
    permissions: Vec<Permission>,
    /// Hardware that the device must have; can be repeated
    #[arg(long = "requires", value_name = "HARDWARE", value_parser = PossibleValuesParser::new(HARDWARE.map(|(name, _)| name)).map(parse_hardware))]
    requires: Vec<HardwareType>,
    /// The app uses an older SDK that expects `X-App-API-Key`
    #[arg(long)]
    legacy: bool,
    /// File with the tools: a list or {"tools": […]}, as MCP definitions or in an older format; `prompts` and `resources` are included
    #[arg(long, value_name = "FILE", conflicts_with = "from_url")]
    tools: Option<PathBuf>,
    /// Read name, tools and settings from tpa_config.json at this URL
    #[arg(long, value_name = "URL")]
    from_url: Option<String>,
}

fn parse_app_kind(text: String) -> AppKind {
    if text == "tools-only" { AppKind::ToolsOnly } else { AppKind::Session }
}

fn parse_app_type(text: String) -> AppType {
    if text == "standard" { AppType::Standard } else { AppType::Background }
}

fn parse_permission(text: String) -> Permission {
    // Clap accepts only the names of this table, so the default is never used.
    Permission::EVERY.into_iter().find(|permission| permission.as_str() == text).unwrap_or(Permission::All)
}

fn parse_hardware(text: String) -> HardwareType {
    let known = HARDWARE.into_iter().find(|(name, _)| *name == text);
    known.map_or(HardwareType::Other(text), |(_, hardware)| hardware)
}

/// Body of `POST /api/apps`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewAppBody<'a> {
    pub(crate) package_name: &'a PackageName,
    #[serde(flatten)]
    pub(crate) details: Map<String, Value>,
    /// SHA-256 of the app's existing key, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) api_key_hash: Option<&'a str>,
    pub(crate) tools: &'a [Box<RawValue>],
    #[serde(flatten)]
    pub(crate) items: &'a AppItems,
}

/// The details as fields of the body. Without a kind the server uses its default.
pub(crate) fn app_detail_fields(details: &AppDetails, kind: Option<AppKind>) -> Map<String, Value> {
    let mut members = match serde_json::to_value(details) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    match kind.map(serde_json::to_value) {
        Some(Ok(kind)) => drop(members.insert("kind".to_owned(), kind)),
        _ => drop(members.remove("kind")),
    }
    members
}

#[derive(Serialize)]
#[serde(transparent)]
struct AppAddedOutput(AppCreated);

impl RenderText for AppAddedOutput {
    fn render_text(&self) -> String {
        let AppCreated { app, api_key, signing_secret } = &self.0;
        let package = &app.package_name;
        let rows =
            [["API key".to_owned(), api_key.clone()], ["signing secret".to_owned(), signing_secret.clone()]];
        format!(
            "registered {package} with {} tools\n\n{}\n\nBoth are shown only once: give them to the app and keep them safe.\n\
             Next: toolyard apps install {package} --user NAME",
            app.tool_count,
            text::format_table(&rows),
        )
    }
}

pub(super) async fn add_app(cx: &CommandContext, args: AppsAddArgs) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    let file = match (&args.from_url, &args.tools) {
        (Some(url), _) => Some(tpa_config::fetch_tool_file(url, &client).await?),
        (None, Some(file)) => Some(ToolFile::open(file)?),
        (None, None) => None,
    };
    let (about, tools, items) = file.map(|file| (file.about, file.tools, file.items)).unwrap_or_default();
    let kind = args.kind;
    let (package, details) = build_app_details(args, about)?;
    let details = app_detail_fields(&details, kind);
    let body =
        NewAppBody { package_name: &package, details, api_key_hash: None, tools: &tools, items: &items };
    let created: AppCreated = client.post("api/apps", &body).await?;
    cx.output.print_result(&AppAddedOutput(created))?;
    Ok(CommandOutcome::Success)
}

/// The app as described by the flags and the file. Flags win.
fn build_app_details(
    args: AppsAddArgs,
    about: Map<String, Value>,
) -> Result<(PackageName, AppDetails), CliError> {
    let described = tpa_config::parse_file_details(about).map_err(|problems| {
        let what = args.from_url.clone().unwrap_or_else(|| "the file".to_owned());
        CliError::Problems { what, problems }
    })?;
    let package = args.package.or(described.package_name).ok_or_else(|| {
        let message = "the app's file has no package name";
        CliError::usage(message, "set it with --package com.example.app")
    })?;
    let permissions = args.permissions.into_iter().map(|kind| DeclaredPermission { kind, description: None });
    let requires = args.requires.into_iter();
    let requires =
        requires.map(|kind| HardwareRequirement { kind, level: HardwareLevel::Required, description: None });
    let details = AppDetails {
        name: args.name.or(described.name).unwrap_or_else(|| package.to_string()),
        description: args.description.or(described.description).unwrap_or_default(),
        public_url: args.url.or(args.from_url),
        icon_url: args.icon,
        app_type: args.app_type,
        permissions: permissions.chain(described.permissions).collect(),
        hardware_requirements: requires.chain(described.hardware_requirements).collect(),
        settings: described.settings,
        legacy: args.legacy,
        ..AppDetails::default()
    };
    Ok((package, details))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_the_one_on_the_wire() {
        for (name, kind) in HARDWARE {
            assert_eq!(serde_json::to_value(&kind).unwrap(), name);
            assert_eq!(parse_hardware(name.to_owned()), kind);
        }
        for kind in Permission::EVERY {
            assert_eq!(parse_permission(kind.as_str().to_owned()), kind);
        }
        assert_eq!(
            (parse_app_kind("tools-only".into()), parse_app_kind("session".into())),
            (AppKind::ToolsOnly, AppKind::Session)
        );
        assert_eq!(
            (parse_app_type("standard".into()), parse_app_type("background".into())),
            (AppType::Standard, AppType::Background)
        );
    }
}
