//! Runs calls after their approval, and shows approvals to people.
//!
//! The answer is stored first; the run follows from it. So a yes is kept if the server stops in between, and every
//! surface, this node's or another's, leads to the same run.

use tokio::sync::broadcast::error::RecvError;
use toolyard_core::{
    Caller, ToolError,
    catalog::ViewScope,
    executor::AwaitedApproval,
    ports::{ApprovalRecord, Change, StoreError},
};
use toolyard_platform::{ActorOfUser, approvals::expire_unanswered, clients, users};
use toolyard_protocol::{
    ApprovalId, ErrorCode, PackageName, TokenId, UserId,
    approval::{
        ApprovalAnswerInfo, ApprovalInfo, ApprovalRequester, ApprovalState, ConnectedRequester,
        PendingApproval,
    },
    session::iso_millis,
};

use crate::{
    auth::CallerContext,
    calls::{CallRequest, build_call_context},
    state::ServerState,
};

/// Approved calls that one sweep starts.
const STARTED_AT_ONCE: u32 = 100;

/// Runs approved calls from now on, and those that the previous process left.
pub(crate) fn start_runs(state: &ServerState) {
    let (state, mut changes) = (state.clone(), state.change_feed.follow());
    let stopping = state.lifecycle.stopping.clone();
    state.lifecycle.clone().spawn(async move {
        sweep(&state).await;
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = stopping.cancelled() => return,
            };
            match change {
                Ok(Change::ApprovalAnswered { id, .. }) => start_run(&state, id),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => sweep(&state).await,
                Err(RecvError::Closed) => return,
            }
        }
    });
}

/// Ends questions that nobody answered and runs whose server is gone, and starts approved calls that have not begun.
pub(crate) async fn sweep(state: &ServerState) {
    if let Err(error) = expire_unanswered(&state.platform).await {
        tracing::error!(%error, "unanswered approvals not ended");
    }
    if let Err(error) = state.approvals.end_interrupted_runs().await {
        tracing::error!(%error, "interrupted runs not ended");
    }
    match state.stores.approvals.approved_calls(STARTED_AT_ONCE).await {
        Ok(records) => records.into_iter().for_each(|record| start_run(state, record.id)),
        Err(error) => tracing::error!(%error, "approved calls not read"),
    }
}

/// Runs a call on its own task, if it is approved and no other task runs it.
fn start_run(state: &ServerState, id: ApprovalId) {
    let state_of = state.clone();
    state.lifecycle.calls.spawn(async move {
        let Some(_running) = state_of.approvals.start_once(&id) else { return };
        // Read only now: the answer may be a no, and another task may have run it before.
        let record = match state_of.stores.approvals.find_approval(&id).await {
            Ok(Some(record)) if record.state == ApprovalState::Approved => record,
            Ok(_) => return,
            Err(error) => return tracing::error!(%error, approval = %id, "approval not read"),
        };
        if !state_of.acts_for(&record.owner.user).await {
            return;
        }
        match approved_context(&state_of, &record).await {
            Ok(cx) => drop(state_of.executor.run_approved(cx, &record).await),
            Err(error) => {
                tracing::warn!(%error, approval = %id, "approved call not started");
                state_of.executor.refuse_approved(&record, error).await;
            }
        }
    });
}

/// The context of an approved call: what its caller sees now.
async fn approved_context(
    state: &ServerState,
    record: &ApprovalRecord,
) -> Result<toolyard_core::CallContext, ToolError> {
    let user = &record.owner.user;
    let scope = match &record.owner.caller {
        Caller::User | Caller::Person(_) => ViewScope::Everything,
        Caller::Client(grant) => client_scope(state, grant).await?,
        Caller::App(package) => app_scope(state, user, package).await?,
    };
    state.platform.sessions.keep_alive(user);
    let request = CallRequest {
        client: record.client.clone(),
        conversation: record.conversation.clone(),
        session: record.session.clone(),
        ..CallRequest::new(record.door)
    };
    build_call_context(state, record.owner.clone(), scope, request).await.map(|(cx, _cancel)| cx)
}

/// What the client that asked sees now. Without its grant, its calls are not made.
async fn client_scope(state: &ServerState, grant: &TokenId) -> Result<ViewScope, ToolError> {
    let scope = clients::view_scope(&state.platform, grant).await.map_err(|error| {
        ToolError::new(ErrorCode::Overloaded, "The platform cannot read its store right now; try again.")
            .with_cause(error)
    })?;
    let text = "The client that asked for this call was disconnected; the call did not run.";
    scope.ok_or_else(|| ToolError::new(ErrorCode::Denied, text))
}

/// What the app that asked sees now. Without its install, its calls are not made.
async fn app_scope(
    state: &ServerState,
    user: &UserId,
    package: &PackageName,
) -> Result<ViewScope, ToolError> {
    let scope = match state.catalog.find_app(package).await? {
        Some(app) => users::app_scope(&state.platform, user, &app).await.map_err(|error| {
            ToolError::new(ErrorCode::Overloaded, "The platform cannot read its store right now; try again.")
                .with_cause(error)
        })?,
        None => None,
    };
    let text = "The app that asked for this call is no longer installed; the call did not run.";
    scope.ok_or_else(|| ToolError::new(ErrorCode::Denied, text))
}

/// The caller as one who answers the user's questions. None if it may not: only users themselves, and apps that the
/// operator trusts.
pub(crate) fn answering_actor(state: &ServerState, who: &CallerContext) -> Option<ActorOfUser> {
    let may_answer = match &who.caller {
        Caller::User => true,
        // It asks; the user answers.
        Caller::Client(_) => false,
        Caller::App(package) => state.platform.config.load().approval_apps.contains(package),
        Caller::Person(_) => false,
    };
    may_answer.then(|| who.clone().into())
}

/// The approval that a call waits for, as REST shows it.
pub(crate) fn pending_approval(awaited: &AwaitedApproval) -> PendingApproval {
    PendingApproval {
        id: awaited.id.clone(),
        url: awaited.url.clone(),
        expires_at: iso_millis(awaited.expires_at),
        summary: Some((*awaited.summary).clone()),
        risk: Some(awaited.risk),
    }
}

/// An approval as people and programs see it.
pub(crate) async fn approval_info(state: &ServerState, record: &ApprovalRecord) -> ApprovalInfo {
    let gate = &state.approvals;
    ApprovalInfo {
        id: record.id.clone(),
        user: record.owner.user.clone(),
        tool: record.subject.tool.clone(),
        definition_digest: hex::encode(record.subject.definition),
        arguments_digest: hex::encode(record.subject.arguments),
        summary: gate.summary_of(record),
        risk: record.risk,
        reason: record.reason,
        can_remember: record.can_remember,
        in_conversation: record.conversation.is_some(),
        requester: ApprovalRequester {
            door: record.door.as_str().to_owned(),
            caller: record.owner.caller.to_string(),
            client: record.client.as_deref().map(ToOwned::to_owned),
            connected: connected_requester(state, &record.owner.caller).await,
        },
        state: record.state,
        created_at: iso_millis(record.created_at),
        expires_at: iso_millis(record.expires_at),
        url: gate.page_url(&record.id),
        call_id: record.call.clone(),
        run_id: record.run.clone(),
        answer: record.answer.as_ref().map(|answer| ApprovalAnswerInfo {
            answer: answer.answer,
            by: answer.by.clone(),
            surface: answer.surface,
            at: iso_millis(answer.at),
            remember: answer.remember.clone(),
            note: answer.note.clone(),
        }),
    }
}

/// The client that the user connected, if it is the caller. Its grant has the name that the user saw.
async fn connected_requester(state: &ServerState, caller: &Caller) -> Option<ConnectedRequester> {
    let Caller::Client(grant) = caller else { return None };
    let found = state.stores.oauth.find_client_grant(grant).await.unwrap_or_else(|error| {
        tracing::error!(%error, %grant, "connected client not read");
        None
    })?;
    Some(ConnectedRequester { name: found.client_name, host: found.client_host })
}

/// The approval with this id, if it belongs to the user.
pub(crate) async fn find_own(
    state: &ServerState,
    user: &UserId,
    id: &ApprovalId,
) -> Result<Option<ApprovalRecord>, StoreError> {
    let found = state.stores.approvals.find_approval(id).await?;
    Ok(found.filter(|record| record.owner.user == *user).map(|record| record.at(state.clock.now())))
}
