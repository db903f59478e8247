//! `/api/approvals/{choices,grants,policy,preview}`: what runs without a question, and what never runs.

use std::sync::Arc;

use axum::extract::State;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::{
    approvals::{ApprovalGate, ApprovalPolicy, PolicyRule},
    ports::{StoredChoice, StoredGrant, Stores},
};
use toolyard_platform::{Actor, Platform, approvals as verbs};
use toolyard_protocol::{
    ToolName,
    approval::{ApprovalGrantInfo, ChoiceRequest, GrantRequest, PreviewReport, ToolChoiceInfo},
    session::iso_millis,
};

use super::{HandlerResult, approvals::parse_id, no_content, ok_json, parse_tool};
use crate::{
    auth::{AuthenticatedPerson, KnownActor, TargetUser},
    body::JsonBody,
    error::json_response,
    extract::PathParams,
    routes::{Route, RouteAccess},
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/approvals/choices",
            RouteAccess::User,
            "Tools for which the user chose always, ask or never",
            list_choices,
        )
        .response_body::<ChoiceList>(),
        Route::audited(
            Method::PUT,
            "/api/approvals/choices/{tool}",
            RouteAccess::User,
            "Sets the user's choice for a tool",
            set_choice,
        )
        .request_body::<ChoiceRequest>()
        .response_body::<ToolChoiceInfo>(),
        Route::audited(
            Method::DELETE,
            "/api/approvals/choices/{tool}",
            RouteAccess::User,
            "Removes the user's choice for a tool",
            remove_choice,
        )
        .success_status(204),
        Route::new(
            Method::GET,
            "/api/approvals/grants",
            RouteAccess::User,
            "Remembered approvals, and calls that the user allowed in advance",
            list_grants,
        )
        .response_body::<GrantList>(),
        Route::audited(
            Method::POST,
            "/api/approvals/grants",
            RouteAccess::User,
            "Allows calls of a tool in advance, within bounds",
            add_grant,
        )
        .request_body::<GrantRequest>()
        .response_body::<ApprovalGrantInfo>()
        .success_status(201),
        Route::audited(
            Method::DELETE,
            "/api/approvals/grants/{id}",
            RouteAccess::User,
            "Revokes a remembered approval or a grant",
            revoke_grant,
        )
        .success_status(204),
        Route::new(
            Method::GET,
            "/api/approvals/policy",
            RouteAccess::Authenticated,
            "The operator's policy",
            get_policy,
        )
        .response_body::<PolicyBody>(),
        Route::audited(
            Method::PUT,
            "/api/approvals/policy",
            RouteAccess::Operator,
            "Replaces the policy of the configuration file",
            set_policy,
        )
        .request_body::<ApprovalPolicy>()
        .response_body::<PolicyBody>(),
        Route::audited(
            Method::DELETE,
            "/api/approvals/policy",
            RouteAccess::Operator,
            "Returns to the policy of the configuration file",
            reset_policy,
        )
        .success_status(204),
        Route::new(
            Method::POST,
            "/api/approvals/preview",
            RouteAccess::Person,
            "What a rule would have done to the last 1,000 calls of the user; for operators, of all users",
            preview_rule,
        )
        .request_body::<PolicyRule>()
        .response_body::<PreviewReport>(),
    ]
}

#[derive(Serialize, JsonSchema)]
struct ChoiceList {
    choices: Vec<ToolChoiceInfo>,
}

#[derive(Serialize, JsonSchema)]
struct GrantList {
    grants: Vec<ApprovalGrantInfo>,
}

/// The policy in force, and where it comes from.
#[derive(Serialize, JsonSchema)]
struct PolicyBody {
    #[serde(flatten)]
    policy: ApprovalPolicy,
    source: PolicySource,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PolicySource {
    /// The configuration file.
    Config,
    /// Set at run time.
    Stored,
}

async fn list_choices(State(stores): State<Stores>, who: TargetUser) -> HandlerResult {
    let rules = stores.approval_rules.user_rules(&who.user).await?;
    let mut choices: Vec<_> = rules.choices.into_iter().map(|(tool, one)| choice_info(tool, &one)).collect();
    choices.sort_by(|a, b| a.tool.as_str().cmp(b.tool.as_str()));
    ok_json(&ChoiceList { choices })
}

async fn set_choice(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(tool): PathParams<String>,
    JsonBody(request): JsonBody<ChoiceRequest>,
) -> HandlerResult {
    let tool = parse_tool(&tool)?;
    match verbs::choose(&platform, &who.into(), &tool, Some(request)).await? {
        Some(choice) => ok_json(&choice_info(tool, &choice)),
        None => no_content(),
    }
}

async fn remove_choice(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(tool): PathParams<String>,
) -> HandlerResult {
    verbs::choose(&platform, &who.into(), &parse_tool(&tool)?, None).await?;
    no_content()
}

async fn list_grants(State(stores): State<Stores>, who: TargetUser) -> HandlerResult {
    let rules = stores.approval_rules.user_rules(&who.user).await?;
    let mut grants: Vec<_> = rules.grants.into_values().flatten().collect();
    grants.sort_by_key(|grant| std::cmp::Reverse(grant.at));
    ok_json(&GrantList { grants: grants.iter().map(grant_info).collect() })
}

async fn add_grant(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    JsonBody(request): JsonBody<GrantRequest>,
) -> HandlerResult {
    let grant = verbs::grant(&platform, &who.into(), request).await?;
    Ok(json_response(StatusCode::CREATED, &grant_info(&grant)))
}

async fn revoke_grant(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    verbs::revoke_grant(&platform, &who.into(), &parse_id(&id)?).await?;
    no_content()
}

async fn get_policy(
    State(gate): State<Arc<ApprovalGate>>,
    State(stores): State<Stores>,
    _who: KnownActor,
) -> HandlerResult {
    policy_response(&gate, &stores).await
}

async fn set_policy(
    State(platform): State<Arc<Platform>>,
    State(gate): State<Arc<ApprovalGate>>,
    KnownActor(actor): KnownActor,
    JsonBody(policy): JsonBody<ApprovalPolicy>,
) -> HandlerResult {
    verbs::set_policy(&platform, &actor, &policy).await?;
    policy_response(&gate, &platform.stores).await
}

async fn reset_policy(State(platform): State<Arc<Platform>>, KnownActor(actor): KnownActor) -> HandlerResult {
    verbs::reset_policy(&platform, &actor).await?;
    no_content()
}

async fn policy_response(gate: &ApprovalGate, stores: &Stores) -> HandlerResult {
    let is_stored = stores.approval_rules.stored_policy().await?.is_some();
    let source = if is_stored { PolicySource::Stored } else { PolicySource::Config };
    ok_json(&PolicyBody { policy: (*gate.policy()).clone(), source })
}

async fn preview_rule(
    State(platform): State<Arc<Platform>>,
    who: AuthenticatedPerson,
    JsonBody(rule): JsonBody<PolicyRule>,
) -> HandlerResult {
    let user = match &who.actor {
        Actor::Person { role: crate::auth::Role::Operator, .. } => None,
        _ => Some(who.user.ok_or(crate::auth::AuthRefusal::NoUser)?),
    };
    ok_json(&verbs::preview_rule(&platform, user.as_ref(), &rule).await?)
}

fn choice_info(tool: ToolName, choice: &StoredChoice) -> ToolChoiceInfo {
    ToolChoiceInfo {
        tool,
        choice: choice.choice,
        chosen_at: iso_millis(choice.at),
        until: choice.until.map(iso_millis),
        until_changed: choice.definition.is_some(),
    }
}

fn grant_info(grant: &StoredGrant) -> ApprovalGrantInfo {
    ApprovalGrantInfo {
        id: grant.id.clone(),
        tool: grant.tool.clone(),
        in_conversation: grant.conversation.is_some(),
        same_arguments: grant.arguments.is_some(),
        arguments: grant.predicates.clone(),
        created_at: iso_millis(grant.at),
        until: grant.until.map(iso_millis),
        uses: grant.uses,
    }
}
