//! Reviewing what a package offers: what is new is pinned, what is harmless is applied with a note, everything else waits for
//! an answer.

use std::{collections::BTreeMap, hash::BuildHasher as _, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, MutexGuard};
use toolyard_core::{
    pinning::{AcceptedVersion, FirstUse, PinMode, PinPolicy, current_offer, current_tools},
    ports::{
        AppRecord, Change, Clock, DefinitionNote, DefinitionPin, OfferReview, PackagePins, QuarantinedChange,
        ReviewOutcome, StoreError, Stores, UpstreamOffer,
    },
    schema::pool::{SET_TIMEOUT, WorkOwner, WorkPool},
};
use toolyard_definitions::{
    DefinitionChange, PinSubject, ScanFinding,
    review::{CurrentOffer, JudgedChange, ReviewedSubject, SubjectVerdict, review_offer},
    scan::{AppTool, scan_definition, scan_list, scan_text},
};
use toolyard_protocol::{
    DefinitionChangeId, PackageName, UserId,
    definitions::{DefinitionChangeKind, DefinitionChangeState, PinKind, PinOrigin},
    text::truncate_chars,
};

use crate::{Actor, Platform, PlatformError};

/// Locks for packages. Two packages may share one.
const LOCKS: usize = 32;
/// Tools of other packages that a new or changed tool is compared with.
const MAX_COMPARED_TOOLS: u32 = 5_000;
/// Offers up to this size are reviewed inline: a few milliseconds of work.
const MAX_INLINE_BYTES: usize = 64 * 1024;
/// Longest text of a note, in characters.
const MAX_NOTE_CHARS: usize = 300;

/// What happens to a change that is not harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ChangeRule {
    /// It waits for an answer.
    Quarantine,
    /// It is applied with a note.
    Note,
    /// An operator published it, so it is accepted for everyone.
    Published(String),
}

/// Reviews offers and tool sets against what was accepted.
pub struct DefinitionReviewer {
    stores: Stores,
    clock: Arc<dyn Clock>,
    policy: PinPolicy,
    /// One review or acceptance of a package at a time, so that neither overwrites the other.
    locks: Vec<Mutex<()>>,
    hasher: std::hash::RandomState,
}

impl DefinitionReviewer {
    /// A reviewer with these rules.
    pub fn new(stores: Stores, clock: Arc<dyn Clock>, policy: PinPolicy) -> Self {
        let locks = (0..LOCKS).map(|_| Mutex::default()).collect();
        Self { stores, clock, policy, locks, hasher: Default::default() }
    }

    /// Its rules.
    pub fn policy(&self) -> PinPolicy {
        self.policy
    }

    /// Waits until no review of this package runs.
    pub(super) async fn lock(&self, package: &PackageName) -> MutexGuard<'_, ()> {
        let number = self.hasher.hash_one(package.as_str()) as usize % self.locks.len();
        self.locks[number].lock().await
    }

    /// Reviews the current tools of an app. What an operator publishes is accepted for everyone.
    pub(crate) async fn review_app(
        &self,
        app: &AppRecord,
        actor: Option<&Actor>,
    ) -> Result<bool, StoreError> {
        let rule = match (actor, self.policy.apps) {
            (_, PinMode::Off) => return Ok(false),
            (Some(actor), _) if actor.is_operator() => ChangeRule::Published(actor.name()),
            (_, PinMode::Note) => ChangeRule::Note,
            (_, PinMode::Quarantine) => ChangeRule::Quarantine,
        };
        let set = self.stores.definitions.find_tool_set(&app.package, app.tools_version).await?;
        let Some(set) = set else { return Ok(false) };
        self.review(&app.package, None, current_tools(&set), &rule, FirstUse::Pin).await
    }

    async fn review(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        current: CurrentOffer,
        rule: &ChangeRule,
        first_use: FirstUse,
    ) -> Result<bool, StoreError> {
        let _one_at_a_time = self.lock(package).await;
        let pins = self.stores.pins.find_pins(package, user).await?;
        let (accepted, is_known) = (pins.accepted(), pins.first_seen.is_some());
        let size = current.tools.iter().map(|(_, tool)| tool.text.len()).sum();
        let work = move || review_offer(&accepted, &current, is_known);
        let reviewed = run_sized(package, size, work).await?;
        let reviewed = reviewed.map_err(|error| StoreError::Failed(error.to_string()))?;
        let (reviewed, findings) = self.scan(package, reviewed).await?;
        let writer = OutcomeWriter {
            package,
            user,
            pins: &pins,
            rule,
            first_use,
            at: self.clock.now(),
            outcome: ReviewOutcome::default(),
        };
        let outcome = writer.write_all(reviewed, findings);
        let waiting: BTreeMap<_, _> =
            outcome.changes.iter().map(|change| (change.subject.clone(), change.digest)).collect();
        if is_known && outcome.pins.is_empty() && outcome.notes.is_empty() && waiting == pins.waiting {
            return Ok(false);
        }
        if !outcome.changes.is_empty() {
            tracing::warn!(%package, waiting = outcome.changes.len(), "changed definitions wait for acceptance");
        }
        let saved = self.stores.pins.save_review(package, user, &outcome, self.clock.now()).await?;
        if saved {
            self.stores.announcements.announce(Change::DefinitionsChanged(package.clone())).await;
        }
        Ok(saved)
    }

    /// Scans what is new or changed, also against the tools of other packages.
    async fn scan(
        &self,
        package: &PackageName,
        reviewed: Vec<ReviewedSubject>,
    ) -> Result<(Vec<ReviewedSubject>, Vec<Vec<ScanFinding>>), StoreError> {
        if reviewed.iter().all(|one| one.verdict == SubjectVerdict::Unchanged) {
            let none = vec![Vec::new(); reviewed.len()];
            return Ok((reviewed, none));
        }
        let others = self.stores.pins.tools_of_others(package, MAX_COMPARED_TOOLS).await?;
        let app = package.clone();
        let size = others.iter().map(|(_, raw)| raw.get().len()).sum::<usize>()
            + reviewed.iter().map(|one| one.content.text.len()).sum::<usize>();
        let work = move || {
            let others: Vec<(String, Value)> = others
                .iter()
                .filter_map(|(app, raw)| Some((app.to_string(), serde_json::from_str(raw.get()).ok()?)))
                .collect();
            let others: Vec<AppTool<'_>> =
                others.iter().map(|(app, definition)| AppTool { app, definition }).collect();
            let findings = scan_changed(&app, &reviewed, &others);
            (reviewed, findings)
        };
        run_sized(package, size, work).await
    }
}

fn scan_changed(
    app: &PackageName,
    reviewed: &[ReviewedSubject],
    others: &[AppTool<'_>],
) -> Vec<Vec<ScanFinding>> {
    let is_changed = |one: &&ReviewedSubject| one.verdict != SubjectVerdict::Unchanged;
    let definitions: Vec<Value> = reviewed
        .iter()
        .filter(|one| one.subject.kind() == PinKind::Tool)
        .filter(is_changed)
        .map(|one| one.content.to_value(PinKind::Tool))
        .collect();
    let tools: Vec<AppTool<'_>> =
        definitions.iter().map(|definition| AppTool { app: app.as_str(), definition }).collect();
    let mut of_tools = scan_list(&tools, others).into_iter();
    let scan = |one: &ReviewedSubject| match one.subject.kind() {
        _ if one.verdict == SubjectVerdict::Unchanged => Vec::new(),
        PinKind::Tool => {
            of_tools.next().unwrap_or_else(|| scan_definition(&one.content.to_value(PinKind::Tool)))
        }
        PinKind::Instructions => scan_text("/instructions", &one.content.text),
        // Models do not read pages.
        PinKind::Page => Vec::new(),
    };
    reviewed.iter().map(scan).collect()
}

/// Runs work on outside data, on the pool if that can take long.
async fn run_sized<T: Send + 'static>(
    package: &PackageName,
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    if bytes <= MAX_INLINE_BYTES {
        return Ok(work());
    }
    let owner = WorkOwner::for_package(package);
    let ran = WorkPool::global().run_within(&owner, SET_TIMEOUT, work).await;
    ran.map_err(|error| {
        StoreError::Failed(format!("definitions of {bytes} bytes cannot be reviewed: {error}"))
    })
}

/// Turns verdicts into what is stored.
struct OutcomeWriter<'r> {
    package: &'r PackageName,
    user: Option<&'r UserId>,
    pins: &'r PackagePins,
    rule: &'r ChangeRule,
    first_use: FirstUse,
    at: Timestamp,
    outcome: ReviewOutcome,
}

impl OutcomeWriter<'_> {
    fn write_all(mut self, reviewed: Vec<ReviewedSubject>, findings: Vec<Vec<ScanFinding>>) -> ReviewOutcome {
        let pins = self.pins;
        let effective = pins.effective();
        for (one, findings) in reviewed.into_iter().zip(findings) {
            self.outcome.offered.push(one.subject.clone());
            let pin = effective.get(&one.subject).copied();
            self.write_one(one, pin, findings);
        }
        self.outcome
    }

    fn write_one(&mut self, one: ReviewedSubject, pin: Option<&DefinitionPin>, findings: Vec<ScanFinding>) {
        let verdict = one.verdict.clone();
        match (verdict, self.rule) {
            (SubjectVerdict::Unchanged, _) => {}
            (SubjectVerdict::FirstUse, ChangeRule::Quarantine) if self.first_use == FirstUse::Approve => {
                let added =
                    JudgedChange { kind: DefinitionChangeKind::Added, other: None, changes: Vec::new() };
                self.quarantine(one, added, findings);
            }
            (SubjectVerdict::FirstUse, _) => {
                if self.pins.first_seen.is_some() {
                    self.note(&one.subject, "new; pinned on first use");
                }
                self.pin(one, pin, PinOrigin::FirstUse, findings);
            }
            (SubjectVerdict::Harmless(changes), _) => {
                self.note(&one.subject, &format!("harmless change applied: {}", join_reasons(&changes)));
                self.update_pin(one, pin, findings);
            }
            (SubjectVerdict::NeedsAcceptance(change), ChangeRule::Quarantine) => {
                self.quarantine(one, change, findings);
            }
            (SubjectVerdict::NeedsAcceptance(change), ChangeRule::Note) => {
                let text = format!("{} and applied: {}", change.kind.as_str(), join_reasons(&change.changes));
                self.note(&one.subject, &text);
                self.pin(one, pin, PinOrigin::Noted, findings);
            }
            (SubjectVerdict::NeedsAcceptance(_), ChangeRule::Published(_)) => {
                self.pin(one, pin, PinOrigin::Published, findings);
            }
        }
    }

    fn note(&mut self, subject: &PinSubject, text: &str) {
        let text = truncate_chars(text, MAX_NOTE_CHARS).into_owned();
        self.outcome.notes.push(DefinitionNote { subject: subject.clone(), at: self.at, text });
    }

    /// Pins it for everyone.
    fn pin(
        &mut self,
        one: ReviewedSubject,
        old: Option<&DefinitionPin>,
        origin: PinOrigin,
        findings: Vec<ScanFinding>,
    ) {
        let by = match self.rule {
            ChangeRule::Published(by) => Some(by.clone()),
            ChangeRule::Quarantine | ChangeRule::Note => None,
        };
        let earlier = old.map(|old| old.earlier_than_next(&one.digest)).unwrap_or_default();
        // What is new to everyone replaces nothing that a user accepted.
        if origin != PinOrigin::FirstUse {
            self.outcome.ended_user_pins.push(one.subject.clone());
        }
        self.outcome.pins.push(DefinitionPin {
            subject: one.subject,
            user: None,
            version: AcceptedVersion { content: one.content, digest: one.digest, earlier },
            origin: if by.is_some() { PinOrigin::Published } else { origin },
            by,
            at: self.at,
            findings,
        });
    }

    /// Replaces the content of a pin. A difference of one user's offer is no news for others, so it is pinned for the user.
    fn update_pin(&mut self, one: ReviewedSubject, old: Option<&DefinitionPin>, findings: Vec<ScanFinding>) {
        let Some(old) = old else { return };
        let user = old.user.clone().or_else(|| self.user.cloned());
        let version = AcceptedVersion {
            content: one.content,
            digest: one.digest,
            earlier: old.version.earlier.clone(),
        };
        self.outcome.pins.push(DefinitionPin { user, version, findings, ..old.clone() });
    }

    fn quarantine(&mut self, one: ReviewedSubject, change: JudgedChange, findings: Vec<ScanFinding>) {
        self.outcome.changes.push(QuarantinedChange {
            id: change_id(self.package, self.user, &one.subject),
            package: self.package.clone(),
            user: self.user.cloned(),
            subject: one.subject,
            kind: change.kind,
            other: change.other,
            content: one.content,
            digest: one.digest,
            changes: change.changes,
            findings,
            at: self.at,
            state: DefinitionChangeState::Pending,
        });
    }
}

fn join_reasons(changes: &[DefinitionChange]) -> String {
    let mut reasons: Vec<&str> = changes.iter().map(|change| change.reason.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    if reasons.is_empty() { "the content of an icon is known now".to_owned() } else { reasons.join("; ") }
}

/// The id of a change follows from what it is about, so that a later version has the same one.
fn change_id(package: &PackageName, user: Option<&UserId>, subject: &PinSubject) -> DefinitionChangeId {
    let user = user.map_or("", UserId::as_str);
    let parts = [package.as_str(), user, subject.kind().as_str(), subject.name()];
    let digest = Sha256::digest(parts.join("\0"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    DefinitionChangeId::from_bytes(bytes)
}

#[async_trait]
impl OfferReview for DefinitionReviewer {
    async fn review_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        offer: &UpstreamOffer,
    ) -> Result<bool, StoreError> {
        let rule = match self.policy.upstreams {
            PinMode::Off => return Ok(false),
            PinMode::Note => ChangeRule::Note,
            PinMode::Quarantine => ChangeRule::Quarantine,
        };
        self.review(package, user, current_offer(offer), &rule, self.policy.first_use).await
    }
}

/// Reviews everything stored that was never reviewed: what an older version of this server left behind.
pub async fn review_stored(platform: &Platform) -> Result<usize, PlatformError> {
    let (stores, reviewer) = (&platform.stores, &platform.definitions);
    let mut count = 0;
    for app in stores.apps.list_apps(None).await? {
        if stores.pins.find_pins(&app.package, None).await?.first_seen.is_none() {
            count += was_reviewed(&app.package, reviewer.review_app(&app, None).await);
        }
    }
    for (package, _, _) in stores.upstreams.list_upstreams().await? {
        let Some(stored) = stores.offers.last_offer(&package, None).await? else { continue };
        if stores.pins.find_pins(&package, None).await?.first_seen.is_none() {
            let reviewed = reviewer.review_offer(&package, None, &stored.offer).await;
            count += was_reviewed(&package, reviewed);
        }
    }
    Ok(count)
}

/// One package that cannot be reviewed does not keep the others from it.
fn was_reviewed(package: &PackageName, reviewed: Result<bool, StoreError>) -> usize {
    match reviewed {
        Ok(reviewed) => usize::from(reviewed),
        Err(error) => {
            tracing::error!(%package, %error, "stored definitions could not be reviewed");
            0
        }
    }
}
