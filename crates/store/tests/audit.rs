//! Whatever someone with access to the database does to the audit log is found, and the first bad entry is named.

#![cfg(test)]

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};
use tokio_util::task::TaskTracker;
use toolyard_core::audit::{AuditFault, AuditHead, AuditSummary};
use toolyard_store::{PostgresSettings, SqliteSettings, StoreSettings, append_audit, open, verify_audit};
use toolyard_testkit::{
    postgres::TestDatabase,
    store_suite::{audit_event, audit_keys},
};

/// A log of six entries, of which the first two were pruned, and a way to change it behind the server's back.
struct TamperedLog {
    settings: StoreSettings,
    url: String,
    head: AuditHead,
    _folder: tempfile::TempDir,
    _database: Option<TestDatabase>,
}

impl TamperedLog {
    async fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let url = format!("sqlite://{}", path.display());
        Self::fill(SqliteSettings::for_file(path).into(), url, folder, None).await
    }

    async fn on_postgres() -> Self {
        let database = TestDatabase::create();
        let (settings, url) = (PostgresSettings::for_url(&database.url).into(), database.url.clone());
        Self::fill(settings, url, tempfile::tempdir().unwrap(), Some(database)).await
    }

    async fn fill(
        settings: StoreSettings,
        url: String,
        folder: tempfile::TempDir,
        database: Option<TestDatabase>,
    ) -> Self {
        let keys = audit_keys(&[1]);
        let stores = open(settings.clone(), &TaskTracker::new()).await.unwrap();
        let mut head = AuditHead::default();
        for second in 0..6 {
            head = stores.audit.append_audit(&audit_event(second), &keys).await.unwrap().head();
        }
        assert_eq!(stores.audit.prune_audit(audit_event(2).at, &keys, 10).await.unwrap(), 2);
        stores.maintenance.close().await;
        Self { settings, url, head, _folder: folder, _database: database }
    }

    async fn run(&self, statements: &str) {
        let sql = AssertSqlSafe(statements.to_owned());
        if self.url.starts_with("sqlite") {
            let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        } else {
            let mut connection = PgConnection::connect(&self.url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        }
    }

    async fn verify(&self, head: Option<AuditHead>) -> Result<AuditSummary, AuditFault> {
        verify_audit(&self.settings, &audit_keys(&[1]), head).await.unwrap()
    }
}

const BYTES_OF_SQLITE: &str = "zeroblob(32)";
const BYTES_OF_POSTGRES: &str = r"decode(repeat('00', 32), 'hex')";

/// What is done to the log, and what is found.
fn attacks(bytes: &str) -> Vec<(String, AuditFault)> {
    let changed = AuditFault::Changed { number: 4 };
    let set = |value: &str| format!("UPDATE audit_log SET {value} WHERE number = 4");
    let mut attacks: Vec<_> = [
        "at = at + 1",
        "actor_kind = 'app'",
        "actor = 'eve'",
        "credential = ''",
        "action = 'token.revoked'",
        "target = 'another'",
        "user_id = 'eve'",
        "detail = '{}'",
    ]
    .map(|value| (set(value), changed))
    .into();
    // Text that moves from one field to the next is a change as well.
    attacks.push((set("actor = actor || 't', credential = substr(credential, 2)"), changed));
    attacks.push((set(&format!("previous = {bytes}")), changed));
    attacks.push((set(&format!("hash = {bytes}")), changed));
    attacks.push((set("action = 'no.such'"), changed));
    // The hash is right, the proof is not.
    attacks.push((set(&format!("mac = {bytes}")), AuditFault::Inserted { number: 4 }));
    attacks.push((
        "UPDATE audit_log SET mac = (SELECT mac FROM audit_log WHERE number = 5) WHERE number = 4".to_owned(),
        AuditFault::Inserted { number: 4 },
    ));
    attacks.push((
        "DELETE FROM audit_log WHERE number = 4".to_owned(),
        AuditFault::Removed { first: 4, last: 4 },
    ));
    attacks.push((
        "DELETE FROM audit_log WHERE number < 6".to_owned(),
        AuditFault::Removed { first: 3, last: 5 },
    ));
    attacks.push((
        "UPDATE audit_log SET number = 99 WHERE number = 4; UPDATE audit_log SET number = 4 WHERE number = 5;
         UPDATE audit_log SET number = 5 WHERE number = 99"
            .to_owned(),
        AuditFault::Reordered { number: 4, written_as: 5 },
    ));
    // A gap is closed by moving the rest.
    attacks.push((
        "DELETE FROM audit_log WHERE number = 4; UPDATE audit_log SET number = 4 WHERE number = 5;
         UPDATE audit_log SET number = 5 WHERE number = 6"
            .to_owned(),
        AuditFault::Reordered { number: 4, written_as: 5 },
    ));
    // A copy of an entry at the end, and an entry that retention removed.
    let copy = |to: u64| {
        format!(
            "INSERT INTO audit_log SELECT {to}, at, actor_kind, actor, credential, action, target, user_id, detail, previous,
             hash, mac FROM audit_log WHERE number = 4"
        )
    };
    attacks.push((copy(7), AuditFault::Reordered { number: 7, written_as: 4 }));
    attacks.push((copy(2), AuditFault::Inserted { number: 2 }));
    attacks.push((
        "UPDATE audit_anchor SET number = 3; DELETE FROM audit_log WHERE number = 3".to_owned(),
        AuditFault::AnchorChanged { number: 3 },
    ));
    // The proof of an entry does not prove an anchor.
    attacks.push((
        "DELETE FROM audit_anchor; INSERT INTO audit_anchor SELECT 1, number, hash, mac FROM audit_log WHERE number = 4;
         DELETE FROM audit_log WHERE number <= 4"
            .to_owned(),
        AuditFault::AnchorChanged { number: 4 },
    ));
    attacks.push(("DELETE FROM audit_anchor".to_owned(), AuditFault::Removed { first: 1, last: 2 }));
    attacks
}

async fn every_attack_is_found(start: impl AsyncFn() -> TamperedLog, bytes: &str) {
    for (attack, fault) in attacks(bytes) {
        let log = start().await;
        assert_eq!(log.verify(None).await.unwrap().head, log.head);
        log.run(&attack).await;
        assert_eq!(log.verify(None).await, Err(fault), "{attack}");
    }
}

#[tokio::test]
async fn every_attack_on_sqlite_is_found() {
    every_attack_is_found(TamperedLog::on_sqlite, BYTES_OF_SQLITE).await;
}

#[tokio::test]
async fn every_attack_on_postgres_is_found() {
    every_attack_is_found(TamperedLog::on_postgres, BYTES_OF_POSTGRES).await;
}

#[tokio::test]
async fn a_truncated_log_is_found_by_a_head() {
    let log = TamperedLog::on_sqlite().await;
    let summary = log.verify(Some(log.head)).await.unwrap();
    assert_eq!((summary.entries, summary.removed_up_to, summary.is_head_found), (4, 2, true));
    let other = AuditHead { hash: [1; 32], ..log.head };
    assert_eq!(log.verify(Some(other)).await, Err(AuditFault::HeadDiffers { number: 6 }));
    let pruned = AuditHead { number: 1, hash: [1; 32] };
    assert!(!log.verify(Some(pruned)).await.unwrap().is_head_found, "retention removed it");
    log.run("DELETE FROM audit_log WHERE number > 4").await;
    assert_eq!(log.verify(None).await.unwrap().head.number, 4, "nothing else tells");
    assert_eq!(log.verify(Some(log.head)).await, Err(AuditFault::Truncated { first: 5, last: 6 }));
    // The server goes on, and hides the gap from everyone who noted nothing.
    let keys = audit_keys(&[1]);
    for second in 10..13 {
        append_audit(&log.settings, &audit_event(second), &keys).await.unwrap();
    }
    assert_eq!(log.verify(None).await.unwrap().head.number, 7);
    assert_eq!(log.verify(Some(log.head)).await, Err(AuditFault::HeadDiffers { number: 6 }));
}

#[tokio::test]
async fn a_chain_of_another_key_or_another_copy_is_found() {
    let log = TamperedLog::on_sqlite().await;
    append_audit(&log.settings, &audit_event(7), &audit_keys(&[9])).await.unwrap();
    assert_eq!(
        log.verify(None).await,
        Err(AuditFault::Inserted { number: 7 }),
        "the whole chain can be hashed by anyone"
    );
    // An entry of a copy of the database, written by a server with the right key.
    let (one, two) = (TamperedLog::on_sqlite().await, TamperedLog::on_sqlite().await);
    let keys = audit_keys(&[1]);
    append_audit(&one.settings, &audit_event(8), &keys).await.unwrap();
    append_audit(&two.settings, &audit_event(9), &keys).await.unwrap();
    append_audit(&two.settings, &audit_event(10), &keys).await.unwrap();
    let path = two.url.trim_start_matches("sqlite://");
    one.run(&format!(
        "ATTACH '{path}' AS other; INSERT INTO main.audit_log SELECT * FROM other.audit_log WHERE number = 8"
    ))
    .await;
    assert_eq!(one.verify(None).await, Err(AuditFault::Detached { number: 8 }));
}
