//! Which routes are recorded. The stranger table (`access.rs`) sends a permitted request to every route, and checks that each
//! audited one which succeeds there writes an entry, and no other one does. What cannot succeed there is listed here, with the
//! test that proves it.

use std::collections::BTreeSet;

/// Audited routes whose request is refused in the stranger table, and the test in which it succeeds and is recorded.
pub(crate) const PROVED_ELSEWHERE: [(&str, &str); 26] = [
    ("POST /oauth/token", "oauth::without_person::a_program_acts_for_its_user_without_a_person"),
    ("POST /api/config/reload", "reload::a_report_says_what_changed_and_what_waits_for_a_restart"),
    ("POST /oauth/revoke", "audit::people::clients_are_recorded"),
    ("POST /api/oauth/consent", "audit::people::clients_are_recorded"),
    ("DELETE /api/clients/{id}", "audit::people::clients_are_recorded"),
    ("PATCH /api/users/{user}", "audit::people::what_operators_do_to_accounts_is_recorded"),
    ("POST /api/users/{user}/link", "audit::people::what_operators_do_to_accounts_is_recorded"),
    ("DELETE /api/users/{user}", "audit::people::what_operators_do_to_accounts_is_recorded"),
    ("DELETE /api/me/sessions", "audit::people::what_people_do_to_their_own_accounts_is_recorded"),
    ("DELETE /api/me/sessions/{id}", "audit::people::what_people_do_to_their_own_accounts_is_recorded"),
    ("PUT /api/me/password", "audit::people::what_people_do_to_their_own_accounts_is_recorded"),
    ("GET /api/me/data", "audit::people::what_people_do_to_their_own_accounts_is_recorded"),
    ("DELETE /api/me", "audit::people::what_people_do_to_their_own_accounts_is_recorded"),
    ("DELETE /api/me/password", "accounts::passkeys::a_passkey_is_added_used_and_removed"),
    ("POST /api/me/passkeys", "accounts::passkeys::a_passkey_is_added_used_and_removed"),
    ("DELETE /api/me/passkeys/{id}", "accounts::passkeys::a_passkey_is_added_used_and_removed"),
    ("POST /api/sign-in/passkey", "accounts::passkeys::a_passkey_is_added_used_and_removed"),
    ("POST /api/sign-in/password", "audit::people::sign_ins_are_recorded_and_failed_ones_have_a_bound"),
    ("POST /api/sign-in/link", "audit::people::sign_ins_are_recorded_and_failed_ones_have_a_bound"),
    ("POST /api/sign-out", "audit::people::sign_ins_are_recorded_and_failed_ones_have_a_bound"),
    (
        "GET /sign-in/{issuer}/callback",
        "accounts::issuers::a_person_of_an_issuer_signs_in_with_the_role_of_the_rules",
    ),
    ("POST /api/device-logins/{code}", "audit::people::device_logins_are_recorded"),
    ("POST /api/sign-in/device/token", "audit::people::device_logins_are_recorded"),
    (
        "POST /api/approvals/{id}",
        "approvals::a_destructive_call_asks_shows_what_will_run_and_runs_once_after_yes",
    ),
    ("DELETE /api/approvals/grants/{id}", "audit::people::a_revoked_grant_is_recorded"),
    (
        "POST /api/definitions/{id}",
        "pinned::answers::an_operator_accepts_for_everyone_and_a_restart_keeps_it",
    ),
];

/// Routes that change something and are not recorded, with the reason.
const NOT_RECORDED: [(&str, &str); 35] = [
    ("POST /api/tools/execute", "a call, which is in the ledger"),
    ("POST /api/tools/apps/{package}/tool", "a call, which is in the ledger"),
    ("POST /mcp", "calls are in the ledger; an approval that is answered here is recorded"),
    ("DELETE /mcp", "a live session, which is not stored"),
    ("POST /api/chat", "its calls are in the ledger"),
    ("DELETE /api/chat/{id}/stream", "a live response, which is not stored"),
    ("POST /v1/chat/completions", "its calls are in the ledger"),
    ("POST /v1/responses", "its calls are in the ledger"),
    ("POST /api/mcp/ticket", "lives for seconds and gives no more than its caller has"),
    ("POST /api/glasses/ticket", "lives for seconds and gives no more than its caller has"),
    ("DELETE /api/session", "a live session, which is not stored"),
    ("POST /api/session/apps/{package}/start", "a live session, which is not stored"),
    ("POST /api/session/apps/{package}/stop", "a live session, which is not stored"),
    ("PUT /api/settings/tools/{name}", "a preference of the user"),
    ("PUT /api/settings/platform", "a preference of the user"),
    ("PUT /api/settings/apps/{package}", "a preference of the user"),
    ("POST /api/push/subscriptions", "a preference of the user"),
    ("DELETE /api/push/subscriptions/{id}", "a preference of the user"),
    ("POST /api/push/test", "stores nothing"),
    ("PUT /api/sdk/simple-storage/{user}", "data of an app"),
    ("PUT /api/sdk/simple-storage/{user}/{key}", "data of an app"),
    ("DELETE /api/sdk/simple-storage/{user}", "data of an app"),
    ("DELETE /api/sdk/simple-storage/{user}/{key}", "data of an app"),
    ("POST /api/apps/{package}/tools/check", "stores nothing"),
    ("POST /api/approvals/preview", "stores nothing"),
    ("POST /api/me/passkeys/challenge", "stores nothing"),
    ("POST /api/sign-in/passkey/challenge", "stores nothing"),
    ("POST /api/sign-in/device", "permits nothing before a person agrees, which is recorded"),
    ("POST /oauth/register", "anyone may, and it permits nothing before a user agrees, which is recorded"),
    ("POST /oauth/introspect", "stores nothing"),
    ("POST /oauth/userinfo", "stores nothing"),
    ("POST /api/upstreams/{id}/refresh", "reads again what the upstream offers; changes are reviewed"),
    ("POST /api/upstreams/{id}/authorize", "only a link; the user agrees at the upstream"),
    ("POST /api/plugins/reload", "reads signed lists again, as every minute"),
    ("POST /oauth/callback", "the user agreed at the upstream; the removal is recorded"),
];

#[test]
fn every_route_that_changes_something_is_recorded_or_has_a_reason() {
    let table = toolyard_server::routes::route_table();
    let name = |route: &toolyard_server::routes::Route| format!("{} {}", route.method, route.path);
    let unrecorded: BTreeSet<String> =
        table.iter().filter(|route| route.method != http::Method::GET && !route.audited).map(name).collect();
    let excused: BTreeSet<String> = NOT_RECORDED.iter().map(|(route, _)| (*route).to_owned()).collect();
    assert_eq!(unrecorded, excused);
    let audited: BTreeSet<String> = table.iter().filter(|route| route.audited).map(name).collect();
    let unknown: Vec<_> = PROVED_ELSEWHERE.iter().filter(|(route, _)| !audited.contains(*route)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
