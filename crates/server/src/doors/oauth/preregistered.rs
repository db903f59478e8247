//! Clients that the operator registers in the configuration.

use toolyard_authorization::{
    client::{
        ClientAuthentication, ClientId, ClientKind, DisplayName, KeySource, OAuthClient, SecretHash, WebUrl,
    },
    grant_type::GrantType,
    scope::{OAuthScope, ScopeSet},
};
use toolyard_platform::clients::MachineGrant;
use toolyard_protocol::secret::SecretText;

use crate::{
    config::{Config, OAuthClientConfig},
    serve::{ServerDependencies, ServerStartError},
};

/// The clients of the configuration.
pub(crate) struct PreregisteredClients(Vec<(OAuthClient, Option<MachineGrant>)>);

impl PreregisteredClients {
    pub(crate) fn from_config(config: &Config, deps: &ServerDependencies) -> Result<Self, ServerStartError> {
        let mut clients: Vec<(OAuthClient, Option<MachineGrant>)> = Vec::new();
        for (number, entry) in config.oauth.clients.iter().enumerate() {
            let mistake = |key: &str, why: String| {
                ServerStartError::Config(format!("oauth.clients[{number}].{key}: {why}"))
            };
            let client = read_client(entry, deps, &mistake)?;
            if clients.iter().any(|(known, _)| known.id == client.id) {
                return Err(mistake("id", "another client has this id".to_owned()));
            }
            let machine = read_machine(entry, &client, &mistake)?;
            clients.push((client, machine));
        }
        Ok(Self(clients))
    }

    pub(super) fn find(&self, id: &ClientId) -> Option<&OAuthClient> {
        self.0.iter().map(|(client, _)| client).find(|client| client.id == *id)
    }

    /// The user and scopes of a client with the grant `client_credentials`.
    pub(super) fn machine(&self, id: &ClientId) -> Option<&MachineGrant> {
        self.0.iter().find(|(client, _)| client.id == *id).and_then(|(_, machine)| machine.as_ref())
    }

    pub(super) fn has_machines(&self) -> bool {
        self.0.iter().any(|(_, machine)| machine.is_some())
    }
}

fn read_client(
    entry: &OAuthClientConfig,
    deps: &ServerDependencies,
    mistake: &dyn Fn(&str, String) -> ServerStartError,
) -> Result<OAuthClient, ServerStartError> {
    let id: ClientId = entry.id.parse().map_err(|error| mistake("id", format!("{error}")))?;
    if id.is_document_url() {
        return Err(mistake(
            "id",
            "a URL is the id of a client with a metadata document; choose a name".to_owned(),
        ));
    }
    let mut authentication = Vec::new();
    if let Some(name) = &entry.secret_env {
        let secret = (deps.environment)(name).filter(|secret| !secret.is_empty());
        let secret =
            secret.ok_or_else(|| mistake("secret_env", format!("the variable {name} is not set")))?;
        authentication
            .push(ClientAuthentication::Secret { sha256: SecretHash::from_secret(&SecretText::new(secret)) });
    }
    if let Some(url) = &entry.keys_url {
        let url: WebUrl = url.parse().map_err(|error| mistake("keys_url", format!("{error}")))?;
        authentication.push(ClientAuthentication::PrivateKeyJwt { keys: KeySource::Url(url) });
    }
    if authentication.is_empty() {
        authentication.push(ClientAuthentication::None);
    }
    let redirect =
        |uri: &String| uri.parse().map_err(|error| mistake("redirect_uris", format!("{uri}: {error}")));
    let redirect_uris = entry.redirect_uris.iter().map(redirect).collect::<Result<Vec<_>, _>>()?;
    let mut grant_types = Vec::new();
    if !redirect_uris.is_empty() {
        grant_types.extend([GrantType::AuthorizationCode, GrantType::RefreshToken]);
    }
    if entry.acts_for.is_some() {
        grant_types.push(GrantType::ClientCredentials);
    }
    Ok(OAuthClient {
        id,
        name: DisplayName::from(entry.name.clone()),
        kind: ClientKind::Preregistered,
        redirect_uris,
        authentication,
        grant_types,
        logo: None,
        client_uri: None,
        access_token_s: entry.access_token_s,
    })
}

fn read_machine(
    entry: &OAuthClientConfig,
    client: &OAuthClient,
    mistake: &dyn Fn(&str, String) -> ServerStartError,
) -> Result<Option<MachineGrant>, ServerStartError> {
    let Some(user) = &entry.acts_for else { return Ok(None) };
    if client.authentication == [ClientAuthentication::None] {
        let why = "a client that acts without a person must prove who it is: set `secret_env` or `keys_url`";
        return Err(mistake("acts_for", why.to_owned()));
    }
    let scopes = if entry.scopes.is_empty() {
        ScopeSet::from([OAuthScope::ToolsRead, OAuthScope::ToolsWrite])
    } else {
        let parsed =
            ScopeSet::parse(&entry.scopes.join(" ")).map_err(|error| mistake("scopes", error.to_string()))?;
        if let Some(unknown) = parsed.unknown.first() {
            return Err(mistake("scopes", format!("`{unknown}` is not a scope of this server")));
        }
        parsed.scopes
    };
    Ok(Some(MachineGrant { user: user.clone(), scopes }))
}
