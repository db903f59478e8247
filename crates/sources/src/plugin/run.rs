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
use toolyard_sandbox::{Job, LogLine, Permissions, SandboxError};
use toolyard_trust::Verdict;

use super::{
    Loaded, PluginSource, outcome,
    storage::UserStorage,
    stuck::{Watch, Whose},
};

impl PluginSource {
    pub(super) async fn run(
        &self,
        cx: &CallContext,
        tool: &Tool,
        arguments: &ValidArguments,
        loaded: Loaded,
    ) -> Result<Reply, ToolError> {
        // While the entry is held, so that nobody tidies it away before it counts.
        let place = self.running.entry(cx.user.clone()).or_default().enter(self.settings.runs_per_user);
        let _place = place.ok_or_else(|| {
            let text = format!("Too many plugins of this user are running, so {} did not run.", tool.name);
            ToolError::new(ErrorCode::Overloaded, text)
        })?;
        let manifest = loaded.manifest.as_ref();
        let code = manifest.and_then(|all| all.tools.iter().find(|one| one.name == *tool.remote));
        let code: Arc<str> = code.map(|one| one.executor_code.as_str().into()).ok_or_else(|| {
            ToolError::new(ErrorCode::ToolNotHandled, format!("The plugin has no {}.", tool.remote))
        })?;
        let whose = Whose { user: cx.user.clone(), id: loaded.row.id.clone(), hash: loaded.row.hash.clone() };
        let watch = Watch::over(&self.stuck, whose.clone(), &code);
        let job = Job {
            source: code,
            name: tool.name.as_str().to_owned(),
            args: arguments.raw().to_owned(),
            permissions: self.permitted(&whose, &loaded)?,
        };
        let mut log = |line: &LogLine| {
            tracing::debug!(user = %whose.user, tool = %tool.name, level = ?line.level, "{}", line.text);
        };
        let ran = self.sandbox.run(job, cx.cancel.clone(), &mut log).await;
        match &ran {
            // Whether its thread noticed is not known yet.
            Err(SandboxError::Cancelled) => drop(watch),
            Err(SandboxError::TimedOut { stuck: true, .. }) => {
                watch.ended();
                self.stuck.switch_off(&whose).await;
            }
            _ => watch.ended(),
        }
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
                data: self.data.clone(),
                shelf: Shelf { user: whose.user.clone(), id: whose.id.clone(), signer },
                room,
            }) as _
        });
        Ok(Permissions { hosts, storage, clock: granted.clock })
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
