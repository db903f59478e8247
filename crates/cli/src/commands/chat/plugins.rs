//! `--plugin` and `--mcp`: tools that run in this process or in child processes, and end with it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use serde_json::{Map, Value};
use toolyard_client_sdk::{
    Client, Hooks as _, Plugin, PluginError, ToolContext,
    plugins::{
        js::{
            JsHost, JsOptions, JsPlugin, JsPluginError, JsTrust, SandboxHost, StoragePlace, permission_lines,
        },
        mcp::McpBridge,
    },
};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_protocol::{
    Problem,
    plugin::{MAX_MANIFEST_BYTES, Manifest},
};
use toolyard_server::ServerDependencies;
use toolyard_trust::{AllowList, AllowListEntry, TrustStatus, manifest_hash};

use super::{bridge, trusted_keys::TrustedKeys};
use crate::{error::CliError, input, output::CliOutput, text};

/// Tools of this terminal.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tools of this terminal")]
pub(crate) struct PluginArgs {
    /// A packed plugin whose tools the model can call; can be repeated
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    /// Run this plugin although it is not signed: its file, as in --plugin, or its id
    #[arg(long, value_name = "FILE|ID", requires = "plugin")]
    allow_unsigned: Vec<String>,
    /// A public key to trust, or a key list signed with --root; can be repeated
    #[arg(long, value_name = "FILE", requires = "plugin")]
    keys: Vec<PathBuf>,
    /// The public root key that signs the lists
    #[arg(long, value_name = "FILE", requires = "plugin")]
    root: Option<PathBuf>,
    /// A revocation list signed with --root
    #[arg(long, value_name = "FILE", requires = "root")]
    revocations: Option<PathBuf>,
    /// The folder for the plugins' stored data; without it the data is lost when the chat ends
    #[arg(long, value_name = "DIR", requires = "plugin")]
    plugin_data: Option<PathBuf>,
    /// Agree to the permissions that plugins ask for, without a confirmation
    #[arg(long, requires = "plugin")]
    yes: bool,
    /// Start the MCP servers of this client file, such as ~/.cursor/mcp.json, and use their tools
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
}

/// Plugins and MCP servers that are ready to be registered.
pub(crate) struct LoadedPlugins {
    loaded: Vec<(JsPlugin, PathBuf)>,
    host: JsHost,
    bridge: Option<(McpBridge, PathBuf)>,
}

impl PluginArgs {
    /// Arguments for a single plugin, for a command that runs it without a chat.
    pub(crate) fn for_file(
        file: PathBuf,
        allow_unsigned: Option<String>,
        keys: Vec<PathBuf>,
        root: Option<PathBuf>,
        revocations: Option<PathBuf>,
        plugin_data: Option<PathBuf>,
        yes: bool,
    ) -> Self {
        Self {
            plugin: vec![file],
            allow_unsigned: allow_unsigned.into_iter().collect(),
            keys,
            root,
            revocations,
            plugin_data,
            yes,
            mcp: None,
        }
    }

    /// Loads and verifies all plugins, describes them, and asks for confirmation of their permissions.
    pub(crate) async fn prepare_plugins(&self, output: CliOutput) -> Result<LoadedPlugins, CliError> {
        let world = ServerDependencies::default();
        let loaded = self.load_plugins(&world)?;
        for (plugin, _) in &loaded {
            output.print_note(&describe_plugin(plugin));
        }
        for (plugin, _) in loaded.iter().filter(|(plugin, _)| !self.yes && !plugin.permissions().is_empty()) {
            confirm_permissions(plugin).await?;
        }
        let bridge = match &self.mcp {
            Some(file) => Some((bridge::open_mcp_bridge(file, output)?, file.clone())),
            None => None,
        };
        Ok(LoadedPlugins { loaded, host: self.plugin_host(world), bridge })
    }

    fn load_plugins(&self, world: &ServerDependencies) -> Result<Vec<(JsPlugin, PathBuf)>, CliError> {
        let now = world.clock.now();
        let believed =
            TrustedKeys::from_files(&self.keys, self.root.as_deref(), self.revocations.as_deref(), now)?;
        let mut named = vec![false; self.allow_unsigned.len()];
        let mut loaded = Vec::new();
        for file in &self.plugin {
            let text = input::read_text_file(file, MAX_MANIFEST_BYTES)?;
            let manifest =
                Manifest::parse(text.as_bytes()).map_err(|error| plugin_problems(file, error.problems))?;
            let mut trust = JsTrust {
                keys: believed.keys_for(&manifest),
                revocations: believed.revocations().clone(),
                ..JsTrust::empty(now)
            };
            for (at, name) in self.allow_unsigned.iter().enumerate() {
                if self.is_meant(name, file, &manifest) {
                    named[at] = true;
                    trust.allowed =
                        allow_only(&manifest).map_err(|problem| plugin_problems(file, vec![problem]))?;
                }
            }
            let plugin =
                JsPlugin::load(text.as_bytes(), &trust).map_err(|error| plugin_error(file, error))?;
            loaded.push((plugin, file.clone()));
        }
        match self.allow_unsigned.iter().zip(named).find(|(_, named)| !named) {
            Some((name, _)) => Err(CliError::usage(
                format!("--allow-unsigned {name}: no --plugin has that file or id"),
                "use the same path as in --plugin, or the plugin's id",
            )),
            None => Ok(loaded),
        }
    }

    /// Whether a value of --allow-unsigned means this plugin. A path of --plugin takes precedence over an id, because
    /// anyone can give a plugin the id `time.json`.
    fn is_meant(&self, word: &str, file: &Path, manifest: &Manifest) -> bool {
        match self.plugin.iter().any(|file| file == Path::new(word)) {
            true => file == Path::new(word),
            false => manifest.id.as_str() == word,
        }
    }

    fn plugin_host(&self, world: ServerDependencies) -> JsHost {
        let ServerDependencies { clock, ids, .. } = world;
        let guard = Guard::strict();
        let outside = SandboxHost {
            client: HttpClient::new(guard.clone(), ClientSettings::default()),
            guard,
            clock: Arc::new(move || clock.now().as_millisecond()),
            random: Arc::new(move |bytes: &mut [u8]| ids.fill_random(bytes)),
        };
        let storage = match &self.plugin_data {
            Some(folder) => StoragePlace::Folder(folder.clone()),
            None => StoragePlace::Memory,
        };
        JsHost::new(outside, JsOptions { storage, ..JsOptions::default() })
    }
}

impl LoadedPlugins {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.loaded.is_empty() && self.bridge.is_none()
    }

    /// Registers all plugins and MCP servers.
    pub(super) async fn register_all(&self, client: &Client, output: CliOutput) -> Result<(), CliError> {
        for (plugin, file) in &self.loaded {
            // The user has agreed to these permissions.
            let ready = plugin.plugin(&self.host, plugin.permissions());
            use_plugin(client, ready.map_err(|error| plugin_error(file, error))?, file).await?;
        }
        if let Some((bridge, file)) = &self.bridge {
            let registered = use_plugin(client, bridge.plugin(), file).await;
            bridge::report_unavailable(bridge, output);
            registered?;
        }
        Ok(())
    }

    /// Calls a tool of the plugins, with the permissions that the user agreed to.
    pub(crate) async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, CliError> {
        let mut known = Vec::new();
        for (loaded, file) in &self.loaded {
            let plugin =
                loaded.plugin(&self.host, loaded.permissions()).map_err(|error| plugin_error(file, error))?;
            if let Some(executor) = plugin.tool_executor(name) {
                let result = executor(arguments, ToolContext::detached("run", name)).await;
                return result.map_err(|error| CliError::ToolFailed(error.to_string()));
            }
            known.extend(plugin.tool_names().map(text::sanitize_line));
        }
        let next = format!("its tools: {}", known.join(", "));
        Err(CliError::usage(format!("the plugin has no tool `{}`", text::sanitize_line(name)), next))
    }

    /// Stops what an incomplete registration may have started.
    pub(super) async fn shut_down(&self) {
        if let Some((bridge, _)) = &self.bridge {
            bridge.on_unregister().await;
        }
    }
}

async fn use_plugin(client: &Client, plugin: Plugin, file: &Path) -> Result<(), CliError> {
    let invalid = |error: PluginError| plugin_problems(file, vec![Problem::new("", error.to_string())]);
    client.use_plugin(plugin).await.map(drop).map_err(invalid)
}

/// Allows exactly this content with its permissions, and nothing else under that id.
fn allow_only(manifest: &Manifest) -> Result<AllowList, Problem> {
    let content_hash = Some(manifest_hash(manifest)?);
    let (id, permissions) = (manifest.id.clone(), manifest.permissions.clone());
    Ok(AllowList(vec![AllowListEntry { id, content_hash, permissions }]))
}

fn plugin_problems(file: &Path, problems: Vec<Problem>) -> CliError {
    CliError::Problems { what: file.display().to_string(), problems }
}

fn plugin_error(file: &Path, error: JsPluginError) -> CliError {
    match &error {
        JsPluginError::Refused { verdict, .. } if verdict.status == TrustStatus::Unsigned => {
            let named = file.display().to_string();
            CliError::usage(
                format!("{named}: this plugin is not signed"),
                format!(
                    "if you trust its code, add `--allow-unsigned {}`",
                    text::shell_quote([named.as_str()])
                ),
            )
        }
        _ => plugin_problems(file, vec![Problem::new("", error.to_string())]),
    }
}

/// Who signed the plugin, its tools, and its permissions.
fn describe_plugin(plugin: &JsPlugin) -> String {
    let (manifest, verdict) = (plugin.manifest(), plugin.verdict());
    let vouched = match &verdict.status {
        TrustStatus::Unsigned => "UNSIGNED: it runs only because you allowed it",
        _ => verdict.reason.as_str(),
    };
    let mut lines =
        vec![format!("plugin {} {} ({}): {vouched}", manifest.name, manifest.version, manifest.id)];
    let tools: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    lines.push(format!("  tools: {}", tools.join(", ")));
    lines.extend(permission_lines(plugin.permissions()).iter().map(|line| format!("  {line}")));
    let misses = plugin.missing_permissions(plugin.permissions());
    if !misses.is_empty() {
        let misses = misses.join(", ");
        lines.push(format!("  its code seems to need {misses}, but its manifest does not ask for it"));
    }
    lines.iter().map(|line| text::sanitize_line(line)).collect::<Vec<_>>().join("\n")
}

/// Asks the user to confirm. Runs on its own thread, so that a signal still ends the program.
async fn confirm_permissions(plugin: &JsPlugin) -> Result<(), CliError> {
    let name = &plugin.manifest().name;
    let may = permission_lines(plugin.permissions()).join(", ");
    let question = text::sanitize_line(&format!("Allow the plugin {name} the following: {may}?"));
    let asking = tokio::task::spawn_blocking(move || input::ask_confirmation(&question));
    asking.await.map_err(|error| CliError::Runtime(std::io::Error::other(error)))?
}
