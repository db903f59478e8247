//! The change log: it contains every write that a cache or a live part depends on, announced or not.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use toolyard_core::ports::{
    Announcement, AppChange, Change, ChangeSubscriber, NewUpstreamRecord, PluginSwitch, PublishedPlugin,
    StoredChoice, StoredOffer, Stores, TokenQuota, TokenScope, UpstreamOffer, UpstreamRecord, UpstreamWrite,
};
use toolyard_protocol::{
    CallId, PlatformSettings, UserId,
    api::Role,
    approval::{ApprovalAnswer, ApprovalState, ToolChoice},
    upstream::UpstreamDetails,
};

use super::{app_record, approvals, at_second, package_name, plugins, tokens, tool_set};

/// Records announcements.
#[derive(Default)]
struct ChangeRecorder(Mutex<Vec<Change>>);

#[async_trait]
impl ChangeSubscriber for ChangeRecorder {
    async fn follow(&self, announcement: &Announcement) {
        assert!(announcement.version > 0);
        self.0.lock().unwrap().push(announcement.change.clone());
    }
}

/// Reads the changes since the last read, without duplicates.
pub(super) struct ChangeReader {
    stores: Stores,
    recorder: Arc<ChangeRecorder>,
}

impl ChangeReader {
    pub(super) fn new(stores: &Stores) -> Self {
        let recorder = Arc::new(ChangeRecorder::default());
        let subscriber: Arc<dyn ChangeSubscriber> = recorder.clone();
        stores.announcements.subscribe(Arc::downgrade(&subscriber));
        Self { stores: stores.clone(), recorder }
    }

    pub(super) async fn read_changes(&self) -> Vec<Change> {
        self.stores.announcements.catch_up().await.unwrap();
        let mut changes = std::mem::take(&mut *self.recorder.0.lock().unwrap());
        changes.dedup();
        changes
    }
}

fn new_upstream(name: &str, for_all: bool, write: UpstreamWrite) -> NewUpstreamRecord {
    let details = UpstreamDetails {
        url: Some("https://u.example/mcp".to_owned()),
        for_all,
        ..UpstreamDetails::default()
    };
    NewUpstreamRecord {
        package: package_name(name),
        owner: "op".to_owned(),
        upstream: UpstreamRecord { details, sealed: vec![1], managed: false, disabled: false },
        at: at_second(0),
        write,
        moved: false,
    }
}

/// Apps, installs, grants, switches and settings.
pub async fn writes_of_apps_and_installs_are_in_the_change_log(stores: &Stores) {
    let (log, ada, app) =
        (ChangeReader::new(stores), "ada".parse::<UserId>().unwrap(), package_name("com.a"));
    assert_eq!(log.read_changes().await, []);
    stores.apps.create_app(app_record("com.a", "dev", Some(tool_set(&["x"], "h")))).await.unwrap();
    assert_eq!(log.read_changes().await, [Change::AppChanged(app.clone())]);
    stores.apps.change_app(&app, AppChange::Assistant(true), at_second(1)).await.unwrap();
    assert_eq!(log.read_changes().await, [Change::AppChanged(app.clone())]);
    stores.definitions.publish_tools(&app, tool_set(&["y"], "h2"), at_second(2)).await.unwrap();
    assert_eq!(log.read_changes().await, [Change::AppChanged(app.clone())]);
    stores.definitions.activate_version(&app, 1, at_second(3)).await.unwrap();
    assert_eq!(log.read_changes().await, [Change::AppChanged(app.clone())]);

    let view = [Change::ViewChanged(ada.clone())];
    stores.installs.install_app(&ada, &app, at_second(4)).await.unwrap();
    assert_eq!(log.read_changes().await, view);
    for granted in [true, false] {
        stores.installs.set_assistant_grant(&ada, &app, granted).await.unwrap();
        assert_eq!(log.read_changes().await, view);
    }
    for enabled in [false, true] {
        stores.settings.switch_tool(&ada, &"com.a:x".parse().unwrap(), enabled).await.unwrap();
        assert_eq!(log.read_changes().await, view);
    }
    for number in [1, 2] {
        let values = serde_json::Map::from_iter([("k".to_owned(), number.into())]);
        stores.app_data.set_app_settings(&ada, &app, values).await.unwrap();
        assert_eq!(
            log.read_changes().await,
            [Change::AppSettingsChanged { user: ada.clone(), package: app.clone() }]
        );
    }
    for metric_system_enabled in [true, false] {
        let settings = PlatformSettings { metric_system_enabled, ..PlatformSettings::default() };
        stores.preferences.set_platform_settings(&ada, &settings).await.unwrap();
        assert_eq!(log.read_changes().await, [Change::PlatformSettingsChanged(ada.clone())]);
    }
    stores.installs.set_assistant_grant(&ada, &app, true).await.unwrap();
    log.read_changes().await;
    stores.installs.uninstall_app(&ada, &app).await.unwrap();
    let uninstalled = Change::AppUninstalled { user: ada.clone(), package: app.clone() };
    assert_eq!(log.read_changes().await, [uninstalled]);
    // What is removed together with the app is part of that change.
    stores.installs.install_app(&ada, &app, at_second(5)).await.unwrap();
    log.read_changes().await;
    stores.apps.remove_app(&app).await.unwrap();
    assert_eq!(log.read_changes().await, [Change::AppRemoved(app)]);
}

/// Upstreams, their offers and authorizations.
pub async fn writes_of_upstreams_are_in_the_change_log(stores: &Stores) {
    let (log, ada, one) =
        (ChangeReader::new(stores), "ada".parse::<UserId>().unwrap(), package_name("mcp.one"));
    stores.upstreams.put_upstream(new_upstream("mcp.one", false, UpstreamWrite::Add)).await.unwrap();
    assert_eq!(log.read_changes().await, [Change::UpstreamChanged(one.clone())]);
    stores.upstreams.put_upstream(new_upstream("mcp.one", true, UpstreamWrite::Change)).await.unwrap();
    assert_eq!(log.read_changes().await, [Change::UpstreamChanged(one.clone()), Change::SharedToolsChanged]);
    for (hash, expected) in [("a", 1), ("a", 0), ("b", 1)] {
        let offer = StoredOffer { offer: UpstreamOffer::default(), hash: hash.to_owned(), at: at_second(1) };
        let now = stores.offers.offer_version().await.unwrap();
        stores.offers.save_offer(&one, None, offer, now).await.unwrap();
        assert_eq!(log.read_changes().await, vec![Change::UpstreamOfferChanged(one.clone()); expected]);
    }
    let authorization = [Change::AuthorizationChanged { user: ada.clone(), package: one.clone() }];
    stores.upstream_tokens.set_token(&one, &ada, Some(vec![1])).await.unwrap();
    assert_eq!(log.read_changes().await, authorization);
    stores.upstream_tokens.set_token(&one, &ada, Some(vec![2])).await.unwrap();
    assert_eq!(log.read_changes().await, [], "a refreshed token is the same authorization");
    stores.upstream_tokens.set_token(&one, &ada, None).await.unwrap();
    assert_eq!(log.read_changes().await, authorization);
    stores.apps.remove_app(&one).await.unwrap();
    let mut removed = log.read_changes().await;
    removed.sort_by_key(|change| *change == Change::SharedToolsChanged);
    assert_eq!(removed, [Change::UpstreamRemoved(one), Change::SharedToolsChanged]);
}

/// Tokens, plugins, and the curator's lists.
pub async fn writes_of_tokens_and_plugins_are_in_the_change_log(stores: &Stores) {
    let (log, ada) = (ChangeReader::new(stores), "ada".parse::<UserId>().unwrap());
    let token = tokens::issued_token(2, "ada");
    stores.tokens.add_token(&token, TokenQuota { of_subject: 9, of_all: 9 }).await.unwrap();
    assert_eq!(log.read_changes().await, [Change::TokenIssued { subject: "ada".into() }]);
    let all = TokenScope { subject: None, role: Role::Operator };
    for expected in [1, 0] {
        stores.tokens.revoke_token(&token.id, all, at_second(3)).await.unwrap();
        let (id, expires_at) = (token.id.clone(), token.expires_at);
        let revoked = Change::TokenRevoked { id, subject: "ada".into(), expires_at };
        assert_eq!(log.read_changes().await, vec![revoked; expected]);
    }

    let view = [Change::ViewChanged(ada.clone())];
    let plugin = plugins::installed_plugin("one", 1);
    stores.plugins.put_plugin(&ada, &plugin, 9).await.unwrap();
    assert_eq!(log.read_changes().await, view);
    stores.plugins.switch_plugin(&ada, &plugin.id, &plugin.hash, &PluginSwitch::Off).await.unwrap();
    assert_eq!(log.read_changes().await, view);
    stores.plugins.remove_plugin(&ada, &plugin.id).await.unwrap();
    assert_eq!(log.read_changes().await, view);
    let published = PublishedPlugin {
        id: plugin.id,
        version: plugin.version,
        name: "One".to_owned(),
        description: String::new(),
        publisher: None,
        hash: plugin.hash,
        manifest: plugin.manifest,
        by: "cur".to_owned(),
        at: at_second(1),
    };
    stores.published_plugins.publish_plugin(&published, 9).await.unwrap();
    assert_eq!(log.read_changes().await, [Change::PluginCatalogueChanged]);
    for (text, expected) in [("a", 1), ("a", 0), ("b", 1)] {
        stores.plugin_lists.save_plugin_list("keys", text).await.unwrap();
        assert_eq!(log.read_changes().await, vec![Change::PluginListsChanged; expected]);
    }
}

/// Approvals, choices, grants and the policy.
pub async fn writes_of_approvals_are_in_the_change_log(stores: &Stores) {
    let (log, ada) = (ChangeReader::new(stores), "ada".parse::<UserId>().unwrap());
    let requested =
        |number| Change::ApprovalRequested { user: ada.clone(), id: approvals::approval_id(number) };
    let answered =
        |number| Change::ApprovalAnswered { user: ada.clone(), id: approvals::approval_id(number) };
    for number in [1, 2] {
        stores.approvals.ask(&approvals::approval(number, "ada", 0), 9).await.unwrap();
        assert_eq!(log.read_changes().await, [requested(number)]);
    }
    stores.approvals.ask(&approvals::approval(1, "ada", 0), 9).await.unwrap();
    assert_eq!(log.read_changes().await, [], "the same question");
    let (id, yes) = (approvals::approval_id(1), approvals::stored_answer(ApprovalAnswer::Approve, 1));
    for expected in [1, 0] {
        stores.approvals.answer_approval(&id, &ada, &yes, None).await.unwrap();
        assert_eq!(log.read_changes().await, vec![answered(1); expected]);
    }
    stores.approvals.begin_run(&id, &CallId::from_bytes([7; 16])).await.unwrap();
    stores.approvals.end_approval(&id, ApprovalState::Done, None).await.unwrap();
    stores.approvals.mark_delivered(&id).await.unwrap();
    assert_eq!(log.read_changes().await, [], "a run is announced by the node that runs it");
    stores.approvals.expire_approvals(at_second(1_000), 9).await.unwrap();
    assert_eq!(log.read_changes().await, [answered(2)]);

    let rules = [Change::ApprovalRulesChanged(ada.clone())];
    let choice = |choice| StoredChoice { choice, at: at_second(0), until: None, definition: None };
    let choices = [Some(choice(ToolChoice::Always)), Some(choice(ToolChoice::Never)), None];
    for choice in choices {
        stores.approval_rules.set_choice(&ada, &"com.a:x".parse().unwrap(), choice.as_ref()).await.unwrap();
        assert_eq!(log.read_changes().await, rules);
    }
    let grant = approvals::stored_grant(5, "ada", Some(2));
    stores.approval_rules.add_grant(&grant, 9).await.unwrap();
    assert_eq!(log.read_changes().await, rules);
    stores.approval_rules.use_grant(&grant.id).await.unwrap();
    assert_eq!(log.read_changes().await, [], "the store counts the uses");
    stores.approval_rules.remove_grant(&ada, &grant.id).await.unwrap();
    assert_eq!(log.read_changes().await, rules);
    for policy in [Some("{}"), Some("[]"), None] {
        stores.approval_rules.set_stored_policy(policy).await.unwrap();
        assert_eq!(log.read_changes().await, [Change::ApprovalPolicyChanged]);
    }
}
