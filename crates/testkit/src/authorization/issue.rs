//! What the authorization server issues, and its checks: clients, codes, tokens.

use std::collections::{BTreeMap, HashMap};

use base64::{Engine as _, engine::general_purpose};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    AuthorizationState,
    web::{self, WebReply, WebRequest},
};

/// Everything issued so far.
#[derive(Default)]
pub(super) struct IssuedCredentials {
    number: u32,
    clients: HashMap<String, Option<String>>,
    codes: HashMap<String, PendingCode>,
    pub(super) access: HashMap<String, IssuedGrant>,
    pub(super) refresh: HashMap<String, IssuedGrant>,
}

struct PendingCode {
    challenge: String,
    redirect_uri: String,
    given: IssuedGrant,
}

/// What a token grants.
#[derive(Clone)]
pub(super) struct IssuedGrant {
    client: String,
    pub(super) resource: String,
    pub(super) scope: String,
}

impl IssuedCredentials {
    fn next_name(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}-{}", self.number)
    }
}

type FormFields = BTreeMap<String, String>;

fn required_field<'a>(fields: &'a FormFields, name: &str) -> Result<&'a str, String> {
    fields.get(name).map(String::as_str).ok_or_else(|| format!("no {name}"))
}

pub(super) fn register_client(state: &mut AuthorizationState, request: &WebRequest) -> WebReply {
    let id = state.issued.next_name("client");
    let secret = state.script.gives_secret.then(|| format!("secret-of-{id}"));
    state.issued.clients.insert(id.clone(), secret.clone());
    let mut answer = json!({ "client_id": id, "redirect_uris": request.json["redirect_uris"] });
    if let Some(secret) = secret {
        answer["client_secret"] = json!(secret);
    }
    web::json_reply(201, &answer)
}

/// Issues a code for the query of `/authorize`.
pub(super) fn issue_code(state: &mut AuthorizationState, query: &FormFields) -> Result<String, String> {
    let client = required_field(query, "client_id")?;
    let known = state.issued.clients.contains_key(client)
        || state.script.clients.iter().any(|(id, _)| id == client)
        || state.script.cimd && client.starts_with("https://");
    let asked_well = required_field(query, "response_type")? == "code"
        && required_field(query, "code_challenge_method")? == "S256";
    if !known || !asked_well {
        return Err("unknown client, or not a code with S256".to_owned());
    }
    let code = PendingCode {
        challenge: required_field(query, "code_challenge")?.to_owned(),
        redirect_uri: required_field(query, "redirect_uri")?.to_owned(),
        given: IssuedGrant {
            client: client.to_owned(),
            resource: required_field(query, "resource")?.to_owned(),
            scope: query.get("scope").cloned().unwrap_or_default(),
        },
    };
    let name = state.issued.next_name("code");
    state.issued.codes.insert(name.clone(), code);
    Ok(name)
}

pub(super) fn handle_token(state: &mut AuthorizationState, request: &WebRequest) -> WebReply {
    let refuse = |status, error: &str| web::json_reply(status, &json!({ "error": error }));
    if let Some((status, error)) = &state.script.refuses {
        return refuse(*status, error);
    }
    let Some(client) = proven_client(state, request) else { return refuse(401, "invalid_client") };
    let given = match request.form.get("grant_type").map(String::as_str) {
        Some("authorization_code") => redeem_code(state, &request.form),
        // Rotation: a refresh token can be used once.
        Some("refresh_token") => required_field(&request.form, "refresh_token")
            .ok()
            .and_then(|token| state.issued.refresh.remove(token)),
        _ => return refuse(400, "unsupported_grant_type"),
    };
    let resource = request.form.get("resource");
    match given.filter(|given| given.client == client && Some(&given.resource) == resource) {
        Some(given) => grant_tokens(state, given),
        None => refuse(400, "invalid_grant"),
    }
}

/// The authenticated client of a request, by a method that the server accepts.
fn proven_client(state: &AuthorizationState, request: &WebRequest) -> Option<String> {
    let header = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    let basic = header.and_then(|value| value.strip_prefix("Basic ")).map(|value| {
        let decoded = general_purpose::STANDARD.decode(value).unwrap();
        let decoded = String::from_utf8(decoded).unwrap();
        let (id, secret) = decoded.split_once(':').unwrap();
        (id.to_owned(), Some(secret.to_owned()), "client_secret_basic")
    });
    let (id, secret, method) = basic.or_else(|| {
        let secret = request.form.get("client_secret").cloned();
        let method = if secret.is_some() { "client_secret_post" } else { "none" };
        Some((request.form.get("client_id")?.clone(), secret, method))
    })?;
    let by_hand =
        state.script.clients.iter().find(|(known, _)| *known == id).map(|(_, secret)| secret.clone());
    let registered = || state.issued.clients.get(&id).cloned();
    let expected = by_hand.or_else(registered).or_else(|| id.starts_with("https://").then_some(None))?;
    let taken = state.script.auth_methods.iter().any(|taken| taken == method);
    (taken && secret == expected).then_some(id)
}

fn redeem_code(state: &mut AuthorizationState, form: &FormFields) -> Option<IssuedGrant> {
    let code = state.issued.codes.remove(form.get("code")?)?;
    let digest = Sha256::digest(form.get("code_verifier")?.as_bytes());
    let proven = general_purpose::URL_SAFE_NO_PAD.encode(digest) == code.challenge;
    (proven && form.get("redirect_uri") == Some(&code.redirect_uri)).then_some(code.given)
}

fn grant_tokens(state: &mut AuthorizationState, given: IssuedGrant) -> WebReply {
    let scope = state.script.gives_scope.clone().unwrap_or_else(|| given.scope.clone());
    let given = IssuedGrant { scope, ..given };
    let access = state.issued.next_name("access");
    state.issued.access.insert(access.clone(), given.clone());
    let mut answer = json!({ "access_token": access, "token_type": "Bearer", "scope": given.scope });
    if let Some(seconds) = state.script.expires_in {
        answer["expires_in"] = json!(seconds);
    }
    if state.script.refreshes {
        let refresh = state.issued.next_name("refresh");
        state.issued.refresh.insert(refresh.clone(), given);
        answer["refresh_token"] = json!(refresh);
    }
    web::json_reply(200, &answer)
}
