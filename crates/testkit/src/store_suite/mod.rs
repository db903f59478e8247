//! The suite that every store must pass. A backend passes when each function here passes on a fresh store.

mod accounts;
mod approval_rules;
mod approvals;
mod apps;
mod audit;
mod changes;
pub mod concurrent;
mod definitions;
mod keys;
mod labels;
mod ledger;
mod oauth;
mod plugins;
mod push;
mod tokens;
mod upstreams;
mod usage;
mod users;

pub use accounts::{
    accounts_are_found, accounts_are_unique_and_keep_an_operator, add_some_accounts,
    browser_sessions_end_and_are_bounded, device_logins_are_answered_and_redeemed_once,
    disabled_users_are_in_the_change_log, ways_to_sign_in_are_bound_to_their_user,
};
pub use approval_rules::{choices_are_each_users_own, grants_are_used_up_and_revoked, one_policy_is_stored};
pub use approvals::{
    a_pending_approval_can_be_withdrawn, an_approval_is_answered_once, an_approved_call_runs_once,
    approvals_are_listed_and_expire, begin_one_run, interrupted_run_ends, the_same_call_is_asked_about_once,
};
pub use apps::{
    apps_are_created_whole_or_not_at_all, definitions_are_versions_and_a_pointer,
    hashed_aliases_belong_to_who_had_them_first, prompts_and_resources_are_part_of_a_version, publish_one,
};
pub use audit::{
    audit_entries_are_numbered_and_found, audit_entries_are_pruned_from_the_start,
    audit_entries_of_many_writers_are_one_chain, audit_event, audit_keys, audit_proofs_are_renewed,
};
pub use changes::{
    writes_of_approvals_are_in_the_change_log, writes_of_apps_and_installs_are_in_the_change_log,
    writes_of_tokens_and_plugins_are_in_the_change_log, writes_of_upstreams_are_in_the_change_log,
};
pub use definitions::{
    a_change_is_accepted_as_it_was_shown, a_rejected_change_waits_again_when_it_changes,
    pins_of_a_package_are_bounded, writes_of_definitions_are_in_the_change_log,
};
pub use keys::{
    begin_one_call, claim_to_make, keys_belong_to_callers, keys_bind_one_call, keys_expire, keys_have_bounds,
};
pub use labels::labels_of_conversations_are_bounded;
pub use ledger::{
    calls_are_recorded_and_found, queue_failed_calls, queue_some_calls, usage_is_counted,
    waiting_calls_are_found,
};
pub use oauth::{client_grants_rotate_and_are_revoked_once, clients_that_register_are_bounded};
pub use plugins::{
    install_one_plugin, plugin_data_belongs_to_the_signer, plugin_data_is_bounded_and_goes_with_the_plugin,
    plugins_are_each_users_own, the_catalogue_of_plugins_keeps_versions,
};
pub use push::push_subscriptions_belong_to_one_user_and_are_bounded;
pub use tokens::{
    a_token_is_revoked_with_those_issued_by_it, tokens_are_listed_and_revoked,
    tokens_are_listed_page_by_page, tokens_are_revoked_even_if_the_issuing_token_is_gone,
};
pub use upstreams::{
    an_outdated_offer_or_token_is_not_stored, upstreams_are_packages_and_keep_their_last_offer,
};
pub use usage::{calls_are_counted_over_time, the_newest_timings_are_read};
pub use users::{
    app_data_is_bounded_and_goes_with_the_install, installs_and_grants, runs_devices_and_switches,
    users_and_what_they_can_install_are_found,
};

use toolyard_core::ports::{
    AppDataStore, AppRunStore, AppStore, ApprovalRuleStore, ApprovalStore, CallLog, DefinitionStore,
    DeviceStore, InstallStore, InstalledPluginStore, IssuedTokenStore, LabelStore, Ledger, NewAppRecord,
    OfferStore, PluginDataStore, PluginListStore, PreferenceStore, PublishedPluginStore, StoredToolSet,
    ToolSwitchStore, UpstreamStore, UpstreamTokenStore, UsageLog,
};
use toolyard_protocol::{PackageName, app::AppDetails, items::AppItems};

/// A store that implements every port.
pub trait FullStore:
    AppStore
    + DefinitionStore
    + InstallStore
    + ToolSwitchStore
    + PreferenceStore
    + DeviceStore
    + AppDataStore
    + AppRunStore
    + Ledger
    + CallLog
    + UpstreamStore
    + OfferStore
    + UpstreamTokenStore
    + InstalledPluginStore
    + PluginDataStore
    + PublishedPluginStore
    + PluginListStore
    + UsageLog
    + IssuedTokenStore
    + ApprovalStore
    + ApprovalRuleStore
    + LabelStore
{
}
impl<S> FullStore for S where
    S: AppStore
        + DefinitionStore
        + InstallStore
        + ToolSwitchStore
        + PreferenceStore
        + DeviceStore
        + AppDataStore
        + AppRunStore
        + Ledger
        + CallLog
        + UpstreamStore
        + OfferStore
        + UpstreamTokenStore
        + InstalledPluginStore
        + PluginDataStore
        + PublishedPluginStore
        + PluginListStore
        + UsageLog
        + IssuedTokenStore
        + ApprovalStore
        + ApprovalRuleStore
        + LabelStore
{
}

pub(crate) fn at_second(seconds: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

pub(crate) fn package_name(name: &str) -> PackageName {
    name.parse().unwrap()
}

pub(crate) fn tool_set(names: &[&str], hash: &str) -> StoredToolSet {
    let tool = |name: &&str| {
        toolyard_protocol::raw::to_raw(
            &serde_json::json!({ "name": name, "inputSchema": { "type": "object" } }),
        )
    };
    StoredToolSet {
        tools: names.iter().map(tool).collect(),
        items: AppItems::default(),
        hash: hash.to_owned(),
        by: "dev".to_owned(),
    }
}

/// Adds an app, for tests that need one to refer to.
///
/// # Panics
/// If the store fails.
pub async fn add_app(store: &dyn AppStore, name: &str) {
    store.create_app(app_record(name, "dev", None)).await.unwrap();
}

pub(crate) fn app_record(name: &str, owner: &str, tools: Option<StoredToolSet>) -> NewAppRecord {
    NewAppRecord {
        package: package_name(name),
        details: AppDetails { name: name.to_uppercase(), ..AppDetails::default() },
        owner: owner.to_owned(),
        key_hash: [7; 32],
        signing: vec![1, 2, 3],
        at: at_second(0),
        tools,
    }
}
