//! `--plugin` and `--mcp`: tools that run in this process, or as its children, and end with it.

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
    /// A packed plugin whose tools the model may call; may be given again
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    /// Let this plugin run although nobody signed it; as --plugin has it, or by its id
    #[arg(long, value_name = "FILE|ID", requires = "plugin")]
    allow_unsigned: Vec<String>,
    /// A public key to believe, or a key list that --root signed; may be given again
    #[arg(long, value_name = "FILE", requires = "plugin")]
    keys: Vec<PathBuf>,
    /// The public root key that signs the lists
    #[arg(long, value_name = "FILE", requires = "plugin")]
    root: Option<PathBuf>,
    /// A revocation list that --root signed
    #[arg(long, value_name = "FILE", requires = "root")]
    revocations: Option<PathBuf>,
    /// A folder in which plugins keep their data; without it they forget it with the end of the chat
    #[arg(long, value_name = "DIR", requires = "plugin")]
    plugin_data: Option<PathBuf>,
    /// Agree to what plugins ask for; without it somebody at a terminal is asked
    #[arg(long, requires = "plugin")]
    yes: bool,
    /// The MCP servers of a client's file, as most clients keep it
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
}

/// Tools that are ready to be registered.
pub(crate) struct LoadedPlugins {
    loaded: Vec<(JsPlugin, PathBuf)>,
    host: JsHost,
    bridge: Option<(McpBridge, PathBuf)>,
}

impl PluginArgs {
    /// One plugin and nothing else, for a command that runs it without a chat.
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

    /// Reads and judges all of them, says what they are, and asks where somebody has to agree.
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
                "write it as --plugin has it",
            )),
            None => Ok(loaded),
        }
    }

    /// Whether a word of --allow-unsigned means this plugin. A file that was named is meant before an id: anybody can give a
    /// plugin the id `time.json`.
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

    /// Registers all of them.
    pub(super) async fn register_all(&self, client: &Client, output: CliOutput) -> Result<(), CliError> {
        for (plugin, file) in &self.loaded {
            // What it asks for was agreed to before.
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

    /// Calls a tool of the plugins, with what was agreed to.
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

    /// Ends what a registration that did not come to its end may have started.
    pub(super) async fn shut_down(&self) {
        if let Some((bridge, _)) = &self.bridge {
            bridge.on_unregister().await;
        }
    }
}

async fn use_plugin(client: &Client, plugin: Plugin, file: &Path) -> Result<(), CliError> {
    let words = |error: PluginError| plugin_problems(file, vec![Problem::new("", error.to_string())]);
    client.use_plugin(plugin).await.map(drop).map_err(words)
}

/// This content, with what it asks for, and nothing else under that id.
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
                format!("{named}: nobody has signed this plugin"),
                format!(
                    "if you wrote it or read it, add `--allow-unsigned {}`",
                    text::shell_quote([named.as_str()])
                ),
            )
        }
        _ => plugin_problems(file, vec![Problem::new("", error.to_string())]),
    }
}

/// Who vouches for it, what it offers, and what it may do.
fn describe_plugin(plugin: &JsPlugin) -> String {
    let (manifest, verdict) = (plugin.manifest(), plugin.verdict());
    let vouched = match &verdict.status {
        TrustStatus::Unsigned => "UNSIGNED: nobody vouches for it, and it runs because you allowed it",
        _ => verdict.reason.as_str(),
    };
    let mut lines =
        vec![format!("plugin {} {} ({}): {vouched}", manifest.name, manifest.version, manifest.id)];
    let tools: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    lines.push(format!("  offers {}", tools.join(", ")));
    lines.extend(permission_lines(plugin.permissions()).iter().map(|line| format!("  {line}")));
    let misses = plugin.missing_permissions(plugin.permissions());
    if !misses.is_empty() {
        let misses = misses.join(", ");
        lines.push(format!(
            "  does not get what its code seems to need: {misses}; it has to ask for it and be signed"
        ));
    }
    lines.iter().map(|line| text::sanitize_line(line)).collect::<Vec<_>>().join("\n")
}

/// Asks whoever sits there. On a thread of its own, so that a signal still ends the program.
async fn confirm_permissions(plugin: &JsPlugin) -> Result<(), CliError> {
    let name = &plugin.manifest().name;
    let may = permission_lines(plugin.permissions()).join(", ");
    let question = text::sanitize_line(&format!("May the plugin {name} do this: {may}?"));
    let asking = tokio::task::spawn_blocking(move || input::ask_confirmation(&question));
    asking.await.map_err(|error| CliError::Runtime(std::io::Error::other(error)))?
}
