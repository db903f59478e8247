//! Pinned definitions, changes that wait, and notes.

use toolyard_core::{
    pinning::{AcceptedVersion, ContentDigest, PinSubject, PinnedContent},
    ports::{
        Change, DefinitionNote, DefinitionPin, MAX_NOTES_PER_PACKAGE, MAX_PINS_PER_PACKAGE, QuarantineAnswer,
        QuarantineFilter, QuarantineOutcome, QuarantinedChange, ReviewOutcome, Stores,
    },
};
use toolyard_protocol::{
    DefinitionChangeId, PackageName, UserId,
    definitions::{DefinitionChangeKind, DefinitionChangeState, PinOrigin},
};

use super::{app_record, at_second, changes::ChangeReader, package_name};

fn digest(text: &str) -> ContentDigest {
    ContentDigest::from_content(text.as_bytes())
}

fn pin(name: &str, text: &str) -> DefinitionPin {
    let content = PinnedContent::new(format!("{{\"name\":\"{name}\",\"text\":\"{text}\"}}"));
    DefinitionPin {
        subject: PinSubject::Tool(name.to_owned()),
        user: None,
        version: AcceptedVersion { content, digest: digest(text), earlier: Vec::new() },
        origin: PinOrigin::FirstUse,
        by: None,
        at: at_second(1),
        findings: Vec::new(),
    }
}

fn change(number: u8, name: &str, text: &str, user: Option<&UserId>) -> QuarantinedChange {
    QuarantinedChange {
        id: DefinitionChangeId::from_bytes([number; 16]),
        package: package_name("com.a"),
        user: user.cloned(),
        subject: PinSubject::Tool(name.to_owned()),
        kind: DefinitionChangeKind::Changed,
        other: None,
        content: PinnedContent::new(format!("{{\"name\":\"{name}\",\"text\":\"{text}\"}}")),
        digest: digest(text),
        changes: Vec::new(),
        findings: Vec::new(),
        at: at_second(2),
        state: DefinitionChangeState::Pending,
    }
}

fn answer(number: u8, text: &str, user: Option<&UserId>) -> QuarantineAnswer {
    QuarantineAnswer {
        id: DefinitionChangeId::from_bytes([number; 16]),
        digest: digest(text),
        user: user.cloned(),
        by: "op".to_owned(),
        at: at_second(3),
    }
}

async fn create(stores: &Stores) -> PackageName {
    stores.apps.create_app(app_record("com.a", "dev", None)).await.unwrap();
    package_name("com.a")
}

/// The pinned text that counts for a user.
async fn pinned(stores: &Stores, user: Option<&UserId>) -> ContentDigest {
    let pins = stores.pins.find_pins(&package_name("com.a"), user).await.unwrap();
    pins.effective()[&PinSubject::Tool("x".to_owned())].version.digest
}

async fn listed(stores: &Stores, filter: QuarantineFilter) -> Vec<(String, DefinitionChangeState)> {
    let found = stores.quarantine.list_quarantined(&QuarantineFilter { limit: 10, ..filter }).await.unwrap();
    found.into_iter().map(|(change, _)| (change.subject.name().to_owned(), change.state)).collect()
}

/// A change is accepted for everyone or for one user, in the version that was shown.
pub async fn a_change_is_accepted_as_it_was_shown(stores: &Stores) {
    let (app, ada, bob) =
        (create(stores).await, "ada".parse::<UserId>().unwrap(), "bob".parse::<UserId>().unwrap());
    let outcome = ReviewOutcome { pins: vec![pin("x", "old")], ..ReviewOutcome::default() };
    assert!(stores.pins.find_pins(&app, None).await.unwrap().first_seen.is_none());
    assert!(stores.pins.save_review(&app, None, &outcome, at_second(1)).await.unwrap());
    assert!(!stores.pins.save_review(&package_name("com.none"), None, &outcome, at_second(1)).await.unwrap());
    let waits = ReviewOutcome { changes: vec![change(1, "x", "new", None)], ..ReviewOutcome::default() };
    stores.pins.save_review(&app, None, &waits, at_second(2)).await.unwrap();
    let pins = stores.pins.find_pins(&app, None).await.unwrap();
    assert_eq!((pins.first_seen, pins.waiting.len()), (Some(at_second(1)), 1));
    for (given, expected) in [
        (answer(2, "new", None), QuarantineOutcome::NotFound),
        (answer(1, "newer", None), QuarantineOutcome::Conflict),
        (answer(1, "new", Some(&ada)), QuarantineOutcome::Stored),
    ] {
        assert_eq!(stores.quarantine.accept_change(&given).await.unwrap(), expected);
    }
    assert_eq!(pinned(stores, Some(&ada)).await, digest("new"));
    assert_eq!(pinned(stores, Some(&bob)).await, digest("old"));
    assert_eq!(stores.pins.users_with_pins(&app).await.unwrap(), std::slice::from_ref(&ada));
    let viewer = |user: &UserId, packages: &[PackageName]| QuarantineFilter {
        viewer: Some((user.clone(), packages.to_vec())),
        ..QuarantineFilter::default()
    };
    let has = std::slice::from_ref(&app);
    assert!(listed(stores, viewer(&ada, has)).await.is_empty(), "ada accepted it");
    assert_eq!(listed(stores, viewer(&bob, has)).await.len(), 1);
    assert!(listed(stores, viewer(&bob, &[])).await.is_empty(), "bob does not have the app");
    assert_eq!(
        stores.quarantine.accept_change(&answer(1, "new", None)).await.unwrap(),
        QuarantineOutcome::Stored
    );
    assert_eq!(pinned(stores, Some(&bob)).await, digest("new"));
    assert!(stores.pins.users_with_pins(&app).await.unwrap().is_empty(), "the pin of everyone replaces it");
    assert!(listed(stores, QuarantineFilter::default()).await.is_empty());
    let pins = stores.pins.find_pins(&app, None).await.unwrap();
    assert_eq!(pins.pins[0].version.earlier, [digest("old")]);
}

/// A rejected version stays rejected; the next one waits again.
pub async fn a_rejected_change_waits_again_when_it_changes(stores: &Stores) {
    let (app, ada) = (create(stores).await, "ada".parse::<UserId>().unwrap());
    let review = async |text: &str| {
        let changes = [change(1, "x", text, None), change(2, "x", text, Some(&ada))];
        for user in [None, Some(&ada)] {
            let of_user = changes.iter().filter(|change| change.user.as_ref() == user).cloned().collect();
            let outcome = ReviewOutcome { changes: of_user, ..ReviewOutcome::default() };
            stores.pins.save_review(&app, user, &outcome, at_second(2)).await.unwrap();
        }
    };
    review("one").await;
    stores.quarantine.reject_change(&answer(1, "one", None)).await.unwrap();
    let all = || listed(stores, QuarantineFilter::default());
    assert!(all().await.iter().all(|(_, state)| *state == DefinitionChangeState::Rejected));
    let pending =
        QuarantineFilter { state: Some(DefinitionChangeState::Pending), ..QuarantineFilter::default() };
    assert!(listed(stores, pending.clone()).await.is_empty());
    review("two").await;
    assert_eq!(listed(stores, pending).await.len(), 2);
    let first = QuarantineFilter { limit: 1, ..QuarantineFilter::default() };
    let page = stores.quarantine.list_quarantined(&first).await.unwrap();
    let rest = QuarantineFilter { after: Some(page[0].1.clone()), ..QuarantineFilter::default() };
    assert_eq!(listed(stores, rest).await.len(), 1);
    stores.pins.save_review(&app, None, &ReviewOutcome::default(), at_second(3)).await.unwrap();
    assert_eq!(all().await.len(), 1, "what no longer differs goes, for the reviewed offer");
}

/// Of more pins than a package may have, those go that are no longer offered, the oldest first. Comparisons are bounded too.
pub async fn pins_of_a_package_are_bounded(stores: &Stores) {
    let app = create(stores).await;
    let numbered = |number: u64| DefinitionPin {
        at: at_second(i64::try_from(number).unwrap()),
        ..pin(&format!("t{number}"), "same")
    };
    let most = MAX_PINS_PER_PACKAGE;
    let outcome = ReviewOutcome {
        pins: (0..most + 3).map(numbered).collect(),
        offered: vec![PinSubject::Tool("t0".to_owned())],
        ..ReviewOutcome::default()
    };
    stores.pins.save_review(&app, None, &outcome, at_second(1)).await.unwrap();
    let pins = stores.pins.find_pins(&app, None).await.unwrap().pins;
    assert_eq!(pins.len() as u64, most);
    let has = |name: &str| pins.iter().any(|pin| pin.subject.name() == name);
    assert!(has("t0") && has("t4") && !has("t1") && !has("t3"), "what is offered stays");
    assert_eq!(stores.pins.tools_of_others(&package_name("com.b"), 7).await.unwrap().len(), 7);
}

/// Notes are bounded, every write is in the change log, and all of it goes with the app.
pub async fn writes_of_definitions_are_in_the_change_log(stores: &Stores) {
    let app = create(stores).await;
    let log = ChangeReader::new(stores);
    log.read_changes().await;
    let note = |number: u32| DefinitionNote {
        subject: PinSubject::Instructions,
        at: at_second(1),
        text: number.to_string(),
    };
    let notes = (0..MAX_NOTES_PER_PACKAGE + 5).map(note).collect();
    let outcome = ReviewOutcome {
        pins: vec![pin("x", "old")],
        changes: vec![change(1, "y", "new", None)],
        notes,
        ..ReviewOutcome::default()
    };
    let changed = [Change::DefinitionsChanged(app.clone())];
    stores.pins.save_review(&app, None, &outcome, at_second(1)).await.unwrap();
    assert_eq!(log.read_changes().await, changed);
    let kept = stores.pins.list_notes(&app).await.unwrap();
    assert_eq!((kept.len() as u32, kept[0].text.as_str()), (MAX_NOTES_PER_PACKAGE, "104"));
    stores.quarantine.reject_change(&answer(1, "new", None)).await.unwrap();
    assert_eq!(log.read_changes().await, changed);
    stores.quarantine.accept_change(&answer(1, "new", None)).await.unwrap();
    assert_eq!(log.read_changes().await, changed);
    let others = stores.pins.tools_of_others(&package_name("com.b"), 10).await.unwrap();
    assert_eq!(others.len(), 2);
    assert!(stores.pins.tools_of_others(&app, 10).await.unwrap().is_empty());
    stores.apps.remove_app(&app).await.unwrap();
    assert!(stores.pins.find_pins(&app, None).await.unwrap().pins.is_empty());
}
