//! The run of one tool: the code of the manifest, with what was granted and nothing else.

use std::sync::Arc;

use toolyard_core::{
    CallContext, Reply, Tool, ToolError,
    ports::{Room, Shelf},
    schema::ValidArguments,
};
use toolyard_protocol::{
    ErrorCode,
    plugin::{Signer, Storage as AskedRoom},
};
use toolyard_sandbox::{
    Job, LogLine, Permissions,
    process::{RunOwner, RunRequest},
};
use toolyard_trust::Verdict;

use super::{Loaded, PluginSource, outcome, storage::UserStorage, stuck::Whose};

impl PluginSource {
    pub(super) async fn run(
        &self,
        cx: &CallContext,
        tool: &Tool,
        arguments: &ValidArguments,
        loaded: Loaded,
    ) -> Result<Reply, ToolError> {
        let manifest = loaded.manifest.as_ref();
        let code = manifest.and_then(|all| all.tools.iter().find(|one| one.name == *tool.remote));
        let code: Arc<str> = code.map(|one| one.executor_code.as_str().into()).ok_or_else(|| {
            ToolError::new(ErrorCode::ToolNotHandled, format!("The plugin has no {}.", tool.remote))
        })?;
        let whose = Whose { user: cx.user.clone(), id: loaded.row.id.clone(), hash: loaded.row.hash.clone() };
        let job = Job {
            source: code,
            name: tool.name.as_str().to_owned(),
            args: arguments.raw().to_owned(),
            permissions: self.permitted(&whose, &loaded)?,
        };
        let mut log = |line: &LogLine| {
            tracing::debug!(user = %whose.user, tool = %tool.name, level = ?line.level, "{}", line.text);
        };
        let owner = RunOwner { user: whose.user.as_str().into(), content: whose.hash.to_string().into() };
        let (stuck, killed) = (self.stuck.clone(), whose.clone());
        let request = RunRequest { job, owner, on_kill: Box::new(move || stuck.killed(killed)) };
        let ran = self.workers.run(request, cx.cancel.clone(), &mut log).await;
        let ran = ran.map_err(|error| outcome::error(error, tool))?;
        Ok(Reply::Done(outcome::result(&ran.json)))
    }

    /// What was granted, as the sandbox takes it.
    fn permitted(&self, whose: &Whose, loaded: &Loaded) -> Result<Permissions, ToolError> {
        let granted = &loaded.permissions;
        let signer = loaded.verdict.as_ref().map_or(Signer::Nobody, Verdict::signer);
        let mut hosts = Vec::new();
        for host in &granted.network {
            let host = host.as_str().parse().map_err(|error| {
                let text = format!("The plugin names a host that cannot be called: {error}.");
                ToolError::new(ErrorCode::ExecutionError, text)
            })?;
            hosts.push(host);
        }
        let storage = room(granted.storage, self.settings.room).map(|room| {
            Arc::new(UserStorage {
                data: self.stores.plugin_data.clone(),
                shelf: Shelf { user: whose.user.clone(), id: whose.id.clone(), signer },
                room,
            }) as _
        });
        let clock = loaded.manifest.as_ref().is_some_and(|manifest| manifest.may_know_time(granted));
        Ok(Permissions { hosts, storage, clock })
    }
}

/// The room that a plugin gets: never more than the operator gives to anybody.
fn room(asked: AskedRoom, most: Room) -> Option<Room> {
    match asked {
        AskedRoom::None => None,
        AskedRoom::Usual => Some(most),
        AskedRoom::Bytes(bytes) => {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(most.bytes);
            Some(Room { bytes, ..most })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_more_room_than_there_is() {
        let most = Room { keys: 5, bytes: 100 };
        assert_eq!(room(AskedRoom::None, most), None);
        assert_eq!(room(AskedRoom::Usual, most), Some(most));
        assert_eq!(room(AskedRoom::Bytes(7), most), Some(Room { keys: 5, bytes: 7 }));
        assert_eq!(room(AskedRoom::Bytes(u64::MAX), most), Some(most));
    }
}
