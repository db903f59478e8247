//! A user, an upstream, its authorization server, and a browser that accepts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::{HeaderMap, Request, StatusCode};
use jiff::Timestamp;
use rand::Rng as _;
use toolyard_mcp_client::oauth::{
    MemoryPending, MemoryTokens, OAuth, OAuthCallback, OAuthCredentials, OAuthError, OAuthParts,
    OAuthSettings, OAuthUpstream, StartedFlow, TokenKey, TokenStore, UserAuthorizer,
};
use toolyard_mcp_client::{AuthChallenge, Credentials, CredentialsError};
use toolyard_net::{ClientSettings, Guard, GuardPolicy, HttpClient, OutsideUrl, ReferralClients};
use toolyard_protocol::UserId;
use toolyard_testkit::authorization::{FakeAuthorization, FakeResource};

pub(crate) const REDIRECT: &str = "https://yard.example/callback";
pub(crate) const PRM: &str = "/.well-known/oauth-protected-resource";
pub(crate) const METADATA: &str = "/.well-known/oauth-authorization-server";

pub(crate) struct World {
    pub(crate) authorization: FakeAuthorization,
    pub(crate) resource: FakeResource,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) tokens: Arc<MemoryTokens>,
    pub(crate) oauth: OAuth,
    pub(crate) settings: OAuthSettings,
    pub(crate) parts: OAuthParts,
}

/// Stands still until it is advanced; in seconds.
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

pub(crate) fn user(name: &str) -> UserId {
    name.parse().unwrap()
}

/// A client that may call this machine and nothing else that is private.
pub(crate) fn client() -> HttpClient {
    HttpClient::new(Guard::dev(), ClientSettings::default())
}

/// The same for addresses that an upstream names.
pub(crate) fn clients() -> ReferralClients {
    let policy = GuardPolicy { loopback: true, ..GuardPolicy::default() };
    ReferralClients::new(&policy, ClientSettings::default())
}

/// The result of a request with credentials.
pub(crate) type Called = Result<StatusCode, CredentialsError>;

impl World {
    pub(crate) async fn start() -> Self {
        let authorization = FakeAuthorization::start().await;
        let resource = FakeResource::start(&authorization).await;
        let (clock, tokens) =
            (Arc::new(TestClock(AtomicI64::new(1_800_000_000))), Arc::new(MemoryTokens::default()));
        let now = clock.clone();
        let parts = OAuthParts {
            http: clients(),
            tokens: tokens.clone(),
            pending: Arc::new(MemoryPending::default()),
            clock: Arc::new(move || now.now()),
            random: Arc::new(|bytes| rand::rng().fill_bytes(bytes)),
            tasks: Default::default(),
        };
        let settings = OAuthSettings {
            redirect_uri: REDIRECT.to_owned(),
            client_name: "Yard".to_owned(),
            ..OAuthSettings::default()
        };
        let oauth = OAuth::new(parts.clone());
        Self { authorization, resource, clock, tokens, oauth, settings, parts }
    }

    pub(crate) fn upstream(&self, url: &str) -> Arc<OAuthUpstream> {
        Arc::new(OAuthUpstream {
            id: "mcp.test".to_owned(),
            url: OutsideUrl::parse(url, &Guard::dev()).unwrap(),
            settings: self.settings.clone(),
        })
    }

    pub(crate) fn authorizer(&self) -> UserAuthorizer {
        self.oauth.authorizer(self.upstream(&self.resource.url()), user("ada"))
    }

    pub(crate) fn credentials(&self) -> OAuthCredentials {
        self.authorizer().credentials()
    }

    pub(crate) async fn begin(&self) -> Result<StartedFlow, OAuthError> {
        self.authorizer().begin_flow().await
    }

    /// The user opens the link, consents, and the browser returns.
    pub(crate) async fn say_yes(&self, started: &StartedFlow) -> OAuthCallback {
        let request = Request::get(&started.link).body(Default::default()).unwrap();
        let answer = client().send(request).await.unwrap();
        assert_eq!(answer.status, StatusCode::FOUND, "the authorization server did not like the link");
        let back = answer.headers["location"].to_str().unwrap().to_owned();
        let query = back.strip_prefix(REDIRECT).unwrap().strip_prefix('?').unwrap();
        OAuthCallback::from_query(query)
    }

    pub(crate) async fn complete(&self, callback: OAuthCallback) -> Result<TokenKey, OAuthError> {
        self.oauth.complete_flow(&user("ada"), callback).await
    }

    /// The whole flow.
    pub(crate) async fn authorize(&self) -> Result<TokenKey, OAuthError> {
        let started = self.begin().await?;
        self.complete(self.say_yes(&started).await).await
    }

    /// Calls the resource as an MCP client does: with credentials, and once more if they can be renewed.
    pub(crate) async fn call(&self) -> Called {
        self.call_as(&self.credentials()).await
    }

    pub(crate) async fn call_as(&self, credentials: &dyn Credentials) -> Called {
        let (status, challenge) = self.request(credentials.headers().await?).await;
        match challenge {
            Some(challenge) if credentials.handle_challenge(&challenge).await? => {
                Ok(self.request(credentials.headers().await?).await.0)
            }
            _ => Ok(status),
        }
    }

    pub(crate) async fn request(&self, headers: HeaderMap) -> (StatusCode, Option<AuthChallenge>) {
        let mut request = Request::get(self.resource.url()).body(Default::default()).unwrap();
        *request.headers_mut() = headers;
        let answer = client().send(request).await.unwrap();
        let www_authenticate = answer.headers.get_all("www-authenticate").iter();
        let www_authenticate = www_authenticate.map(|value| value.to_str().unwrap().to_owned()).collect();
        let status = answer.status;
        let turned_away = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        (status, turned_away.then_some(AuthChallenge { status, www_authenticate }))
    }

    /// The stored text for Ada.
    pub(crate) async fn kept(&self) -> Option<String> {
        let key = TokenKey { upstream: "mcp.test".to_owned(), user: user("ada") };
        self.tokens.load(&key).await.unwrap().map(|text| text.expose().to_owned())
    }

    /// The form of each request to the token endpoint with this grant type.
    pub(crate) fn token_requests(&self, grant: &str) -> Vec<std::collections::BTreeMap<String, String>> {
        let forms = self.authorization.requests("/token").into_iter().map(|seen| seen.form);
        forms.filter(|form| form["grant_type"] == grant).collect()
    }
}
