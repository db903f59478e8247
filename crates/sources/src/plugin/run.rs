//! Runs one tool: the code of the manifest, with the granted permissions and nothing else.

use std::sync::Arc;

use toolyard_core::{
    CallContext, CallReply, Tool, ToolError,
    ports::{PluginDataQuota, PluginNamespace},
    schema::ValidArguments,
};
use toolyard_protocol::{
    ErrorCode,
    plugin::{PluginSigner, Storage as AskedRoom},
};
use toolyard_sandbox::{
    LogLine, RunPermissions, SandboxJob,
    process::{RunOwner, RunRequest},
};
use toolyard_trust::PluginVerdict;

use super::{LoadedPlugin, PluginSource, kill_counter::UserPluginKey, outcome, storage::UserStorage};

impl PluginSource {
    pub(super) async fn run_tool(
        &self,
        cx: &CallContext,
        tool: &Tool,
        arguments: &ValidArguments,
        loaded: LoadedPlugin,
    ) -> Result<CallReply, ToolError> {
        let manifest = loaded.manifest.as_ref();
        let code = manifest.and_then(|all| all.tools.iter().find(|one| one.name == *tool.remote));
        let code: Arc<str> = code.map(|one| one.executor_code.as_str().into()).ok_or_else(|| {
            ToolError::new(ErrorCode::ToolNotHandled, format!("The plugin has no {}.", tool.remote))
        })?;
        let plugin_key =
            UserPluginKey { user: cx.user.clone(), id: loaded.row.id.clone(), hash: loaded.row.hash.clone() };
        let job = SandboxJob {
            source: code,
            name: tool.name.as_str().to_owned(),
            args: arguments.raw().to_owned(),
            permissions: self.run_permissions(&plugin_key, &loaded)?,
        };
        let mut log = |line: &LogLine| {
            tracing::debug!(user = %plugin_key.user, tool = %tool.name, level = ?line.level, "{}", line.text);
        };
        let owner =
            RunOwner { user: plugin_key.user.as_str().into(), content: plugin_key.hash.to_string().into() };
        let (counter, killed) = (self.kill_counter.clone(), plugin_key.clone());
        let request = RunRequest { job, owner, on_kill: Box::new(move || counter.record_kill(killed)) };
        let ran = self.workers.run(request, cx.cancel.clone(), &mut log).await;
        let ran = ran.map_err(|error| outcome::to_tool_error(error, tool))?;
        Ok(CallReply::Done(outcome::to_tool_result(&ran.json)))
    }

    /// The granted permissions in the form of the sandbox.
    fn run_permissions(
        &self,
        plugin_key: &UserPluginKey,
        loaded: &LoadedPlugin,
    ) -> Result<RunPermissions, ToolError> {
        let granted = &loaded.permissions;
        let signer = loaded.verdict.as_ref().map_or(PluginSigner::Unsigned, PluginVerdict::signer);
        let mut hosts = Vec::new();
        for host in &granted.network {
            let host = host.as_str().parse().map_err(|error| {
                let text = format!("The plugin names a host that cannot be called: {error}.");
                ToolError::new(ErrorCode::ExecutionError, text)
            })?;
            hosts.push(host);
        }
        let storage = storage_room(granted.storage, self.settings.room).map(|room| {
            Arc::new(UserStorage {
                data: self.stores.plugin_data.clone(),
                shelf: PluginNamespace { user: plugin_key.user.clone(), id: plugin_key.id.clone(), signer },
                room,
            }) as _
        });
        let clock = loaded.manifest.as_ref().is_some_and(|manifest| manifest.may_know_time(granted));
        Ok(RunPermissions { hosts, storage, clock })
    }
}

/// The storage quota of a plugin: never more than the operator allows.
fn storage_room(asked: AskedRoom, most: PluginDataQuota) -> Option<PluginDataQuota> {
    match asked {
        AskedRoom::None => None,
        AskedRoom::Usual => Some(most),
        AskedRoom::Bytes(bytes) => {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(most.bytes);
            Some(PluginDataQuota { bytes, ..most })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_room_never_exceeds_the_operators_limit() {
        let most = PluginDataQuota { keys: 5, bytes: 100 };
        assert_eq!(storage_room(AskedRoom::None, most), None);
        assert_eq!(storage_room(AskedRoom::Usual, most), Some(most));
        assert_eq!(storage_room(AskedRoom::Bytes(7), most), Some(PluginDataQuota { keys: 5, bytes: 7 }));
        assert_eq!(storage_room(AskedRoom::Bytes(u64::MAX), most), Some(most));
    }
}
