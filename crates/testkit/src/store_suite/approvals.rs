//! Approvals: every change of state happens once, and only from the state before it.

use std::slice;

use toolyard_core::{
    CallOwner, Caller,
    executor::Door,
    ports::{
        AnswerOutcome, ApprovalFilter, ApprovalRecord, ApprovalStore, ApprovedCall, AskOutcome, StoredAnswer,
        StoredGrant,
    },
};
use toolyard_protocol::{
    ApprovalId, CallId, UserId,
    approval::{
        ApprovalAnswer, ApprovalReason, ApprovalState, ApprovalSurface, ArgumentPredicate, RememberScope,
        RiskLevel,
    },
};

use super::{FullStore, at_second};

/// When questions of this suite expire, in seconds.
const EXPIRES: i64 = 100;
/// Open questions of one user.
const MAX_OPEN: u64 = 3;

pub(super) fn user(name: &str) -> UserId {
    name.parse().unwrap()
}

pub(super) fn approval_id(number: u8) -> ApprovalId {
    ApprovalId::from_bytes([number; 16])
}

/// A question to a user, asked at this second. The number is its id and that of its arguments.
pub(super) fn approval(number: u8, name: &str, second: i64) -> ApprovalRecord {
    ApprovalRecord {
        id: approval_id(number),
        owner: CallOwner { user: user(name), caller: Caller::User },
        subject: ApprovedCall {
            tool: "com.a:x".parse().unwrap(),
            definition: [1; 32],
            arguments: [number; 32],
        },
        summary: vec![1, 2],
        arguments: Some(vec![3, 4]),
        risk: RiskLevel::High,
        reason: ApprovalReason::Lapsed,
        can_remember: true,
        door: Door::Mcp,
        client: Some("inspector".into()),
        conversation: Some("c1".into()),
        session: Some("session:user:-".into()),
        call: CallId::from_bytes([number; 16]),
        created_at: at_second(second),
        expires_at: at_second(second + EXPIRES),
        state: ApprovalState::Pending,
        answer: None,
        run: None,
        outcome: None,
        delivered: false,
    }
}

pub(super) fn stored_answer(answer: ApprovalAnswer, second: i64) -> StoredAnswer {
    StoredAnswer {
        answer,
        by: "ada".to_owned(),
        surface: ApprovalSurface::Console,
        at: at_second(second),
        remember: RememberScope::Tool { days: Some(7) },
        note: Some("why not".to_owned()),
    }
}

pub(super) fn stored_grant(number: u8, name: &str, uses: Option<u64>) -> StoredGrant {
    StoredGrant {
        id: approval_id(number),
        user: user(name),
        tool: "com.a:x".parse().unwrap(),
        definition: [1; 32],
        arguments: Some([2; 32]),
        predicates: vec![ArgumentPredicate {
            pointer: "/to".to_owned(),
            equals: Some("Anna".into()),
            ..ArgumentPredicate::default()
        }],
        conversation: Some("c1".into()),
        at: at_second(i64::from(number)),
        until: Some(at_second(1_000)),
        uses,
    }
}

async fn ask(store: &impl ApprovalStore, record: &ApprovalRecord) -> AskOutcome {
    store.ask(record, MAX_OPEN).await.unwrap()
}

async fn ask_new(store: &impl ApprovalStore, record: &ApprovalRecord) {
    assert!(matches!(ask(store, record).await, AskOutcome::Asked));
}

/// The approval that was known already.
async fn ask_known(store: &impl ApprovalStore, record: &ApprovalRecord) -> ApprovalId {
    match ask(store, record).await {
        AskOutcome::Known(known) => known.id,
        other => panic!("{other:?}"),
    }
}

async fn answer(store: &impl ApprovalStore, number: u8, answer: &StoredAnswer) -> AnswerOutcome {
    store.answer_approval(&approval_id(number), &user("ada"), answer, None).await.unwrap()
}

async fn approve(store: &impl ApprovalStore, number: u8) {
    let yes = stored_answer(ApprovalAnswer::Approve, 1);
    assert!(matches!(answer(store, number, &yes).await, AnswerOutcome::Answered(_)));
}

async fn find(store: &impl ApprovalStore, number: u8) -> ApprovalRecord {
    store.find_approval(&approval_id(number)).await.unwrap().unwrap()
}

/// What is asked is stored whole; the same call of the same owner is asked once; open questions are limited.
pub async fn the_same_call_is_asked_about_once(store: &impl FullStore) {
    let first = approval(1, "ada", 0);
    ask_new(store, &first).await;
    assert_eq!(format!("{:?}", find(store, 1).await), format!("{first:?}"));
    assert!(store.find_approval(&approval_id(9)).await.unwrap().is_none());
    let again = ApprovalRecord { id: approval_id(2), ..first.clone() };
    assert_eq!(ask_known(store, &again).await, first.id);

    // Another owner, definition, arguments or conversation is another call.
    let mut app = ApprovalRecord { id: approval_id(2), ..first.clone() };
    app.owner.caller = Caller::App("com.b".parse().unwrap());
    ask_new(store, &app).await;
    let mut changed = ApprovalRecord { id: approval_id(3), ..first.clone() };
    changed.subject.definition = [9; 32];
    ask_new(store, &changed).await;
    let elsewhere = ApprovalRecord { id: approval_id(4), conversation: None, ..first.clone() };
    assert!(matches!(ask(store, &elsewhere).await, AskOutcome::QuotaReached), "three are open");
    assert_eq!(ask_known(store, &again).await, first.id, "the limit is for new questions");
    ask_new(store, &approval(5, "bob", 0)).await;
    approve(store, 1).await;
    ask_new(store, &elsewhere).await;

    // A question that has expired is asked again.
    let bob_later = ApprovalRecord { id: approval_id(6), ..approval(5, "bob", EXPIRES) };
    ask_new(store, &bob_later).await;
}

/// One answer counts, within the time, by the user. A yes can store a grant; a no removes the arguments.
pub async fn an_approval_is_answered_once(store: &impl FullStore) {
    let (yes, no) = (stored_answer(ApprovalAnswer::Approve, 1), stored_answer(ApprovalAnswer::Deny, 2));
    ask_new(store, &approval(1, "ada", 0)).await;
    let by_bob = store.answer_approval(&approval_id(1), &user("bob"), &yes, None).await.unwrap();
    assert!(matches!(by_bob, AnswerOutcome::NotFound));
    assert!(matches!(answer(store, 9, &yes).await, AnswerOutcome::NotFound));
    let grant = stored_grant(1, "ada", None);
    let answered = store.answer_approval(&approval_id(1), &user("ada"), &yes, Some(&grant)).await.unwrap();
    let AnswerOutcome::Answered(record) = answered else { panic!("{answered:?}") };
    assert_eq!((record.state, record.answer.as_ref()), (ApprovalState::Approved, Some(&yes)));
    assert!(record.arguments.is_some(), "the call has yet to run");
    let AnswerOutcome::Conflict(first) = answer(store, 1, &no).await else { panic!("a second answer") };
    assert_eq!(first.answer, Some(yes.clone()));
    let rules = store.user_rules(&user("ada")).await.unwrap();
    assert_eq!(rules.grants[&grant.tool], slice::from_ref(&grant));

    ask_new(store, &approval(2, "ada", 0)).await;
    assert!(matches!(answer(store, 2, &no).await, AnswerOutcome::Answered(_)));
    let denied = find(store, 2).await;
    assert_eq!((denied.state, denied.arguments), (ApprovalState::Denied, None));

    ask_new(store, &approval(3, "ada", 0)).await;
    let late = stored_answer(ApprovalAnswer::Approve, EXPIRES);
    let refused = store.answer_approval(&approval_id(3), &user("ada"), &late, Some(&grant)).await.unwrap();
    assert!(matches!(refused, AnswerOutcome::Conflict(_)));
    assert_eq!(find(store, 3).await.state, ApprovalState::Pending);
}

/// A pending question can be withdrawn; an answered one cannot.
pub async fn a_pending_approval_can_be_withdrawn(store: &impl FullStore) {
    ask_new(store, &approval(1, "ada", 0)).await;
    assert!(store.withdraw_approval(&approval_id(1), "cancelled".to_owned()).await.unwrap());
    assert!(!store.withdraw_approval(&approval_id(1), "again".to_owned()).await.unwrap());
    let withdrawn = find(store, 1).await;
    assert_eq!(
        (withdrawn.state, withdrawn.outcome.as_deref(), withdrawn.arguments),
        (ApprovalState::Void, Some("cancelled"), None)
    );
    let late = stored_answer(ApprovalAnswer::Approve, 1);
    assert!(matches!(answer(store, 1, &late).await, AnswerOutcome::Conflict(_)));
    // The same call is a new question.
    ask_new(store, &ApprovalRecord { id: approval_id(2), ..approval(1, "ada", 1) }).await;
    approve(store, 2).await;
    assert!(!store.withdraw_approval(&approval_id(2), "cancelled".to_owned()).await.unwrap());
    assert_eq!(find(store, 2).await.state, ApprovalState::Approved);
}

/// An approved call begins once, ends once, and its outcome is delivered once.
pub async fn an_approved_call_runs_once(store: &impl FullStore) {
    let run = |number: u8| CallId::from_bytes([number; 16]);
    let id = approval_id(1);
    ask_new(store, &approval(1, "ada", 0)).await;
    assert!(!store.begin_run(&id, &run(7)).await.unwrap(), "not approved yet");
    store.end_approval(&id, ApprovalState::Done, Some("x".to_owned())).await.unwrap();
    assert_eq!(find(store, 1).await.state, ApprovalState::Pending, "an open question does not end that way");
    approve(store, 1).await;
    let waiting: Vec<_> = store.approved_calls(9).await.unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(waiting, slice::from_ref(&id));
    assert!(store.begin_run(&id, &run(7)).await.unwrap());
    assert!(!store.begin_run(&id, &run(8)).await.unwrap());
    assert!(store.approved_calls(9).await.unwrap().is_empty());
    let running = find(store, 1).await;
    assert_eq!((running.state, running.run), (ApprovalState::Running, Some(run(7))));

    store.end_approval(&id, ApprovalState::Done, Some("outcome".to_owned())).await.unwrap();
    store.end_approval(&id, ApprovalState::Void, Some("other".to_owned())).await.unwrap();
    let done = find(store, 1).await;
    assert_eq!(
        (done.state, done.outcome.as_deref(), done.arguments),
        (ApprovalState::Done, Some("outcome"), None)
    );
    let again = ApprovalRecord { id: approval_id(2), ..approval(1, "ada", 1) };
    assert_eq!(ask_known(store, &again).await, id, "its outcome was not delivered");
    assert!(store.mark_delivered(&id).await.unwrap());
    assert!(!store.mark_delivered(&id).await.unwrap());
    ask_new(store, &again).await;
}

/// Three questions, and the run of the first: for tests that open a store again.
pub async fn begin_one_run(store: &impl FullStore) {
    for number in 1..=3 {
        ask_new(store, &approval(number, "ada", 0)).await;
    }
    approve(store, 1).await;
    approve(store, 2).await;
    assert!(store.begin_run(&approval_id(1), &CallId::from_bytes([7; 16])).await.unwrap());
}

/// The run that its server did not finish gets an outcome; nothing else changes.
pub async fn interrupted_run_ends(store: &impl FullStore) {
    assert_eq!(store.end_interrupted_runs("unknown".to_owned()).await.unwrap(), 1);
    assert_eq!(store.end_interrupted_runs("unknown".to_owned()).await.unwrap(), 0);
    let ended = find(store, 1).await;
    assert_eq!((ended.state, ended.outcome.as_deref()), (ApprovalState::Done, Some("unknown")));
    assert_eq!(find(store, 2).await.state, ApprovalState::Approved);
    assert_eq!(find(store, 3).await.state, ApprovalState::Pending);
}

/// Pages are newest first; an expired question is listed as such before it is swept, and swept once.
pub async fn approvals_are_listed_and_expire(store: &impl FullStore) {
    for (number, name, second) in [(1, "ada", 0), (2, "ada", 10), (3, "bob", 10), (4, "ada", 10)] {
        ask_new(store, &approval(number, name, second)).await;
    }
    let list = async |state: Option<ApprovalState>, before: Option<u8>, limit: u32, now: i64| {
        let filter = ApprovalFilter { user: user("ada"), state, before: before.map(approval_id), limit };
        let found = store.list_approvals(&filter, at_second(now)).await.unwrap();
        found.into_iter().map(|one| (one.id.as_str()[..2].to_owned(), one.state)).collect::<Vec<_>>()
    };
    let (pending, expired) = (ApprovalState::Pending, ApprovalState::Expired);
    let row = |number: u8, state| (format!("{number:02x}"), state);
    assert_eq!(list(None, None, 2, 20).await, [row(4, pending), row(2, pending)]);
    assert_eq!(list(None, Some(2), 2, 20).await, [row(1, pending)]);
    assert_eq!(list(Some(expired), None, 9, 20).await, []);
    assert_eq!(list(Some(expired), None, 9, EXPIRES).await, [row(1, expired)]);
    assert_eq!(list(Some(pending), None, 9, EXPIRES).await, [row(4, pending), row(2, pending)]);
    let of_bob = ApprovalFilter { user: user("bob"), state: None, before: None, limit: 9 };
    assert_eq!(
        store.list_approvals(&of_bob, at_second(20)).await.unwrap().len(),
        1,
        "each user has their own"
    );

    let swept = store.expire_approvals(at_second(EXPIRES), 9).await.unwrap();
    assert_eq!(
        swept.iter().map(|one| (&one.id, one.state)).collect::<Vec<_>>(),
        [(&approval_id(1), expired)]
    );
    assert!(store.expire_approvals(at_second(EXPIRES), 9).await.unwrap().is_empty());
    let gone = find(store, 1).await;
    assert_eq!((gone.state, gone.arguments), (expired, None));
    assert_eq!(store.expire_approvals(at_second(EXPIRES + 10), 2).await.unwrap().len(), 2, "a limit");
}
