//! Many writers at once, on two nodes. With one writer nothing can come between a check and the write that follows from it; with
//! several, only a lock or a conditional statement sees to that.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::future::join_all;
use toolyard_core::ports::{
    AddTokenOutcome, Announcement, AskOutcome, ChangeSubscriber, ClaimOutcome, KeyQuota, SaveAccountOutcome,
    StoreError, StoreQuotas, Stores, TokenQuota, UserAccount,
};
use toolyard_protocol::{CallId, TokenId, UserId, api::Role};

use super::{
    accounts::account,
    app_record,
    approvals::{approval, approval_id},
    at_second,
    keys::{key_claim, with_key},
    package_name,
    tokens::issued_token,
    tool_set,
};

/// How many writers there are at once.
const WRITERS: u8 = 24;

/// The quotas that the stores of these tests are opened with.
pub const SMALL_QUOTAS: StoreQuotas = StoreQuotas {
    apps_per_developer: 5,
    upstreams_per_developer: 5,
    installs_per_user: 5,
    switched_off_tools_per_user: 5,
    tool_choices_per_user: 5,
    settings_bytes_per_user: 1_000,
    catalogue_versions_per_curator: 5,
    tool_versions_per_app: 100,
    remembered_devices: 5,
};

/// Two nodes on one store. A store for one machine has both handles on the same opening.
pub type Nodes = [Stores; 2];

/// Runs a write for each number at once, alternating between the nodes.
async fn at_once<T>(nodes: &Nodes, write: impl AsyncFn(&Stores, u8) -> T) -> Vec<T> {
    let writes = (0..WRITERS).map(|number| write(&nodes[usize::from(number) % 2], number));
    join_all(writes).await
}

fn count<T: PartialEq>(outcomes: &[T], wanted: &T) -> usize {
    outcomes.iter().filter(|outcome| *outcome == wanted).count()
}

/// How many writes succeeded; the others must have met a quota.
fn count_stored<T>(outcomes: Vec<Result<T, StoreError>>) -> usize {
    let stored = outcomes.into_iter().filter(|outcome| match outcome {
        Ok(_) => true,
        Err(StoreError::Quota(_)) => false,
        Err(error) => panic!("{error}"),
    });
    stored.count()
}

/// Of many claims of one key, one is fresh, whichever node it is on.
pub async fn a_key_is_claimed_once(nodes: &Nodes) {
    let outcomes = at_once(nodes, async |stores, number| {
        stores.ledger.claim_key(&key_claim("ada", 1, number, 0)).await.unwrap()
    });
    let outcomes = outcomes.await;
    assert_eq!(count(&outcomes, &ClaimOutcome::Fresh), 1, "{outcomes:?}");
    assert_eq!(count(&outcomes, &ClaimOutcome::Running), usize::from(WRITERS) - 1, "{outcomes:?}");
    // Different keys in opposite orders.
    let claims = at_once(nodes, async |stores, number| {
        let user = if number % 4 < 2 { ["bob", "cleo"] } else { ["cleo", "bob"] };
        let claim = |user| with_key(key_claim(user, 1, number, 0), &format!("key {number}"));
        let (one, two) = (claim(user[0]), claim(user[1]));
        (stores.ledger.claim_key(&one).await.unwrap(), stores.ledger.claim_key(&two).await.unwrap())
    });
    assert_eq!(count(&claims.await, &(ClaimOutcome::Fresh, ClaimOutcome::Fresh)), usize::from(WRITERS));
}

/// The bound of a user's keys holds.
pub async fn keys_of_a_user_are_bounded(nodes: &Nodes) {
    let outcomes = at_once(nodes, async |stores, number| {
        let mut claim = with_key(key_claim("ada", 1, number, 0), &format!("key {number}"));
        claim.quota = KeyQuota { keys: 5, bytes: 1_000 };
        stores.ledger.claim_key(&claim).await.unwrap()
    });
    let outcomes = outcomes.await;
    assert_eq!(count(&outcomes, &ClaimOutcome::Fresh), 5, "{outcomes:?}");
    assert_eq!(count(&outcomes, &ClaimOutcome::QuotaReached), usize::from(WRITERS) - 5, "{outcomes:?}");
}

/// The bounds of apps, installs, switched-off tools and settings hold.
pub async fn quotas_hold(nodes: &Nodes) {
    let ada: UserId = "ada".parse().unwrap();
    let apps = at_once(nodes, async |stores, number| {
        stores.apps.create_app(app_record(&format!("com.a{number}"), "dev", None)).await
    });
    assert_eq!(count_stored(apps.await), 5);
    for number in 0..WRITERS {
        let app = app_record(&format!("com.b{number}"), &format!("dev {number}"), None);
        assert!(nodes[0].apps.create_app(app).await.unwrap());
    }
    let installs = at_once(nodes, async |stores, number| {
        stores.installs.install_app(&ada, &package_name(&format!("com.b{number}")), at_second(0)).await
    });
    assert_eq!(count_stored(installs.await), 5);
    assert_eq!(nodes[1].installs.list_installs(&ada).await.unwrap().len(), 5);
    let switches = at_once(nodes, async |stores, number| {
        stores.settings.switch_tool(&ada, &format!("com.b1:t{number}").parse().unwrap(), false).await
    });
    assert_eq!(count_stored(switches.await), 5);
}

/// Each published set gets a version of its own, and one of them is current.
pub async fn versions_are_numbered_once(nodes: &Nodes) {
    let app = package_name("com.a");
    nodes[0].apps.create_app(app_record("com.a", "dev", None)).await.unwrap();
    let published = at_once(nodes, async |stores, number| {
        let set = tool_set(&[&format!("tool_{number}")], &format!("hash {number}"));
        stores.definitions.publish_tools(&app, set, at_second(1)).await.unwrap().unwrap()
    });
    let mut versions = published.await;
    versions.sort_unstable();
    assert_eq!(versions, (1..=u64::from(WRITERS)).collect::<Vec<_>>());
    let current = nodes[1].apps.find_app(&app).await.unwrap().unwrap().tools_version;
    assert_eq!(current, u64::from(WRITERS));
}

/// The bounds of tokens hold, and no token outlives the one that issued it.
pub async fn tokens_are_bounded_and_end_with_their_issuer(nodes: &Nodes) {
    let room = TokenQuota { of_subject: 100, of_all: 10 };
    let added = at_once(nodes, async |stores, number| {
        let token = issued_token(100 + number, &format!("user {number}"));
        stores.tokens.add_token(&token, room).await.unwrap()
    });
    let added = added.await;
    assert_eq!(count(&added, &AddTokenOutcome::Listed), 10, "{added:?}");
    let all = TokenQuota { of_subject: 1_000, of_all: 1_000 };
    let issuer = issued_token(99, "ada");
    nodes[0].tokens.add_token(&issuer, all).await.unwrap();
    let issued = at_once(nodes, async |stores, number| {
        if number == WRITERS / 2 {
            let scope = toolyard_core::ports::TokenScope { subject: None, role: Role::Operator };
            stores.tokens.revoke_token(&issuer.id, scope, at_second(50)).await.unwrap();
            return AddTokenOutcome::Revoked;
        }
        let mut token = issued_token(200 + number, "ada");
        token.made_with = Some(issuer.id.clone());
        stores.tokens.add_token(&token, all).await.unwrap()
    });
    let issued = issued.await;
    let revoked = nodes[1].tokens.revoked_tokens(at_second(50)).await.unwrap();
    let is_revoked = |id: TokenId| revoked.iter().any(|(revoked, _)| *revoked == id);
    for (number, outcome) in issued.iter().enumerate() {
        let id = issued_token(200 + number as u8, "ada").id;
        assert!(*outcome != AddTokenOutcome::Listed || is_revoked(id), "{number} outlived its issuer");
    }
}

/// Two operators who disable each other at the same moment do not both succeed.
pub async fn an_operator_is_left(nodes: &Nodes) {
    let pair = ["one", "two"].map(|name| account(name, Role::Operator));
    for operator in &pair {
        nodes[0].accounts.add_account(operator, 9).await.unwrap();
    }
    let disabled = pair.clone().map(|operator| UserAccount { disabled_at: Some(at_second(2)), ..operator });
    for _ in 0..WRITERS {
        let disable = async |number: usize| {
            nodes[number].accounts.change_account(&pair[number], &disabled[number]).await.unwrap()
        };
        let outcomes: [_; 2] = tokio::join!(disable(0), disable(1)).into();
        assert_eq!(count(&outcomes, &SaveAccountOutcome::Saved), 1, "{outcomes:?}");
        assert!(nodes[0].accounts.has_operator().await.unwrap());
        for number in 0..2 {
            if outcomes[number] == SaveAccountOutcome::Saved {
                nodes[0].accounts.change_account(&disabled[number], &pair[number]).await.unwrap();
            }
        }
    }
}

/// The same call is asked about once, runs once, and a code is redeemed once.
pub async fn questions_and_codes_are_used_once(nodes: &Nodes) {
    let asked = at_once(nodes, async |stores, number| {
        let mut record = approval(1, "ada", 0);
        record.id = approval_id(number + 1);
        matches!(stores.approvals.ask(&record, 100).await.unwrap(), AskOutcome::Asked)
    });
    assert_eq!(count(&asked.await, &true), 1);
    let hash = [7; 32];
    let grant = TokenId::from_bytes([1; 16]);
    nodes[0].oauth.add_code(&hash, &grant, "binding", at_second(60)).await.unwrap();
    let redeemed = at_once(nodes, async |stores, _| {
        use toolyard_core::ports::RedeemedCode::Fresh;
        matches!(stores.oauth.redeem_code(&hash, at_second(1)).await.unwrap(), Fresh { .. })
    });
    assert_eq!(count(&redeemed.await, &true), 1);
    let used =
        at_once(nodes, async |stores, _| stores.oauth.use_id_once("jti", at_second(60)).await.unwrap());
    assert_eq!(count(&used.await, &true), 1);
}

/// An approved call begins once.
pub async fn an_approved_call_begins_once(nodes: &Nodes) {
    use toolyard_protocol::approval::ApprovalAnswer;
    let record = approval(1, "ada", 0);
    assert!(matches!(nodes[0].approvals.ask(&record, 9).await.unwrap(), AskOutcome::Asked));
    let answer = super::approvals::stored_answer(ApprovalAnswer::Approve, 1);
    nodes[0].approvals.answer_approval(&record.id, &record.owner.user, &answer, None).await.unwrap();
    let began = at_once(nodes, async |stores, number| {
        stores.approvals.begin_run(&record.id, &CallId::from_bytes([number; 16])).await.unwrap()
    });
    assert_eq!(count(&began.await, &true), 1);
}

/// Counts announcements.
#[derive(Default)]
struct VersionRecorder(Mutex<Vec<u64>>);

#[async_trait]
impl ChangeSubscriber for VersionRecorder {
    async fn follow(&self, announcement: &Announcement) {
        self.0.lock().unwrap().push(announcement.version);
    }
}

/// A node that reads the change log while others write misses nothing, and sees each version once, in order.
pub async fn a_reader_of_the_change_log_misses_nothing(nodes: &Nodes) {
    const ROUNDS: u8 = 10;
    let recorder = Arc::new(VersionRecorder::default());
    let subscriber: Arc<dyn ChangeSubscriber> = recorder.clone();
    nodes[0].announcements.subscribe(Arc::downgrade(&subscriber));
    let writes = async {
        for round in 0..ROUNDS {
            at_once(nodes, async |stores, number| {
                let name = format!("com.r{round}n{number}");
                // Two changes in one transaction, and one in the next.
                let app = app_record(&name, &name, Some(tool_set(&["x"], "h")));
                assert!(stores.apps.create_app(app).await.unwrap());
                stores
                    .installs
                    .install_app(&"ada".parse().unwrap(), &package_name(&name), at_second(0))
                    .await
                    .ok();
                let user: UserId = format!("user{number}").parse().unwrap();
                assert!(stores.installs.install_app(&user, &package_name(&name), at_second(0)).await.is_ok());
                stores.installs.uninstall_app(&user, &package_name(&name)).await.unwrap();
            })
            .await;
        }
    };
    let done = tokio::sync::watch::Sender::new(false);
    let reads = async {
        let done = done.subscribe();
        while !*done.borrow() {
            nodes[0].announcements.catch_up().await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(reads, async {
        writes.await;
        done.send_replace(true);
    });
    nodes[0].announcements.catch_up().await.unwrap();
    let versions = recorder.0.lock().unwrap().clone();
    assert!(versions.is_sorted_by(|one, two| one < two), "in order, each once");
    // The app and its tools, ada's installs up to the quota, the user's install and uninstall.
    let per_write = 2 + 1 + 1;
    let written = usize::from(ROUNDS) * usize::from(WRITERS) * per_write + 5;
    assert_eq!(versions.len(), written);
}
