//! Apps and users for the unit tests of this crate.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;
use toolyard_core::ports::{AppRecord, PackageOrigin};
use toolyard_protocol::{
    PackageName,
    app::{AppDetails, DeclaredPermission},
    stream::Permission,
};

use crate::{
    outbox::Outbox,
    run::{AppLink, AppRun, RunPhase, RunTrigger},
    user::{DeviceLink, LiveUser},
};

pub(crate) fn package(name: &str) -> PackageName {
    name.parse().unwrap()
}

pub(crate) fn app_record(name: &str, permissions: &[Permission]) -> Arc<AppRecord> {
    let declared = permissions.iter().map(|kind| DeclaredPermission { kind: *kind, description: None });
    Arc::new(AppRecord {
        package: package(name),
        details: AppDetails { permissions: declared.collect(), ..AppDetails::default() },
        owner: "dev".to_owned(),
        origin: PackageOrigin::Builtin,
        assistant: false,
        tools_version: 0,
        tool_count: 0,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    })
}

/// A running app without a socket.
pub(crate) fn app_run(name: &str, permissions: &[Permission], trigger: RunTrigger) -> AppRun {
    let session = format!("session-of-{name}").parse().unwrap();
    AppRun::new(app_record(name, permissions), session, trigger, RunPhase::Running)
}

pub(crate) fn app_link() -> AppLink {
    let outbox = Arc::new(Outbox::new(8, 8, None));
    AppLink { number: 1, outbox, since: Instant::now(), released: false }
}

pub(crate) fn live_user() -> LiveUser {
    LiveUser::new("ada".parse().unwrap())
}

/// A device that holds this many unread requests of an app.
pub(crate) fn device_link(request_bound: usize) -> DeviceLink {
    let outbox = Outbox::new(8, 8, None).with_request_bound(request_bound);
    DeviceLink { number: 1, outbox: Arc::new(outbox), transcribes: false }
}
