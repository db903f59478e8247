//! Which server a command uses, and with which credential: flags and variables first, then a profile.

use toolyard_protocol::secret::SecretText;
use url::Url;

use crate::{
    error::CliError,
    profiles::{ProfileName, SavedProfiles},
};

/// The server without a flag, a variable or a profile: the default address of `toolyard serve`.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:8787";

/// What the command line and the environment say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConnectionFlags<'a> {
    pub(crate) server: Option<&'a str>,
    pub(crate) token: Option<&'a SecretText>,
    pub(crate) profile: Option<&'a ProfileName>,
}

/// Where the credential comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CredentialSource {
    /// There is none: only a server in dev mode accepts that.
    None,
    /// `--token` or `TOOLYARD_TOKEN`.
    Token,
    /// A profile.
    Profile(ProfileName),
}

/// A server with its credential.
#[derive(Debug)]
pub(crate) struct ServerConnection {
    pub(crate) server: String,
    pub(crate) source: CredentialSource,
    token: Option<SecretText>,
    /// The server of a named profile whose token is not sent, because another server was named too.
    pub(crate) withheld: Option<String>,
}

impl ServerConnection {
    fn new(server: &str, token: Option<&SecretText>, source: CredentialSource) -> Self {
        Self { server: server.to_owned(), source, token: token.cloned(), withheld: None }
    }

    /// The token for the server.
    pub(crate) fn token(&self) -> Option<&SecretText> {
        self.token.as_ref()
    }

    /// The token for any server. The token of a profile is for that of the profile only.
    pub(crate) fn token_for(&self, server: &str) -> Option<&SecretText> {
        match self.source {
            CredentialSource::Profile(_) if !is_same_server(server, &self.server) => None,
            _ => self.token(),
        }
    }
}

/// Chooses the server and the credential. The profiles are read only if they matter.
pub(crate) fn choose_connection(
    flags: ConnectionFlags<'_>,
    read_profiles: impl FnOnce() -> Result<SavedProfiles, CliError>,
) -> Result<ServerConnection, CliError> {
    // A token is never sent to the server of a profile that nobody named: it may be for another server.
    if flags.token.is_some() && (flags.server.is_some() || flags.profile.is_none()) {
        let server = flags.server.unwrap_or(DEFAULT_SERVER);
        return Ok(ServerConnection::new(server, flags.token, CredentialSource::Token));
    }
    let saved = read_profiles()?;
    let Some((name, profile)) = saved.select(flags.profile)? else {
        let server = flags.server.unwrap_or(DEFAULT_SERVER);
        return Ok(ServerConnection::new(server, None, CredentialSource::None));
    };
    let server = flags.server.unwrap_or(&profile.server);
    if flags.token.is_some() {
        return Ok(ServerConnection::new(server, flags.token, CredentialSource::Token));
    }
    if is_same_server(server, &profile.server) {
        let source = CredentialSource::Profile(name.clone());
        return Ok(ServerConnection::new(server, Some(&profile.token), source));
    }
    let mut without = ServerConnection::new(server, None, CredentialSource::None);
    without.withheld = flags.profile.map(|_| profile.server.clone());
    Ok(without)
}

/// Whether two URLs name the same server. Names are not resolved: `localhost` is not `127.0.0.1`.
pub(crate) fn is_same_server(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => {
            one.origin().is_tuple()
                && one.origin() == other.origin()
                && one.path().trim_end_matches('/') == other.path().trim_end_matches('/')
                && one.query() == other.query()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::tests::profile;

    const HOME: &str = "https://home.example.com";
    const WORK: &str = "https://work.example.com/base";

    /// Two profiles; the one for work is the default.
    fn saved() -> SavedProfiles {
        let mut saved = SavedProfiles::default();
        saved.insert("home".parse().unwrap(), profile(HOME, "home-token"));
        saved.insert("work".parse().unwrap(), profile(WORK, "work-token"));
        saved
    }

    /// The server and the token.
    fn choose(server: Option<&str>, token: Option<&str>, name: Option<&str>) -> (String, Option<String>) {
        let (token, name) = (token.map(SecretText::new), name.map(|name| name.parse().unwrap()));
        let flags = ConnectionFlags { server, token: token.as_ref(), profile: name.as_ref() };
        let chosen = choose_connection(flags, || Ok(saved())).unwrap();
        let token = chosen.token().map(|token| token.expose().to_owned());
        (chosen.server, token)
    }

    fn pair(server: &str, token: Option<&str>) -> (String, Option<String>) {
        (server.to_owned(), token.map(str::to_owned))
    }

    #[test]
    fn a_profile_gives_server_and_token() {
        assert_eq!(choose(None, None, None), pair(WORK, Some("work-token")));
        assert_eq!(choose(None, None, Some("home")), pair(HOME, Some("home-token")));
        let without = choose_connection(ConnectionFlags::default(), || Ok(SavedProfiles::default())).unwrap();
        assert_eq!((without.server.as_str(), without.source), (DEFAULT_SERVER, CredentialSource::None));
        let missing: ProfileName = "missing".parse().unwrap();
        let flags = ConnectionFlags { profile: Some(&missing), ..ConnectionFlags::default() };
        assert!(matches!(choose_connection(flags, || Ok(saved())), Err(CliError::Usage { .. })));
    }

    #[test]
    fn flags_override_a_profile() {
        assert_eq!(choose(Some("http://x"), Some("t"), Some("home")), pair("http://x", Some("t")));
        assert_eq!(choose(None, Some("t"), Some("home")), pair(HOME, Some("t")));
        // The token may be for another server than that of the default profile.
        assert_eq!(choose(None, Some("t"), None), pair(DEFAULT_SERVER, Some("t")));
    }

    #[test]
    fn the_token_of_a_profile_is_sent_to_its_server_only() {
        for same in ["https://work.example.com:443/base/", "HTTPS://WORK.example.com/base"] {
            assert_eq!(choose(Some(same), None, None), pair(same, Some("work-token")));
        }
        for other in [
            "http://work.example.com/base",
            "https://work.example.com",
            "https://work.example.com/base/2",
            "https://work.example.com:8443/base",
            "https://work.example.com.evil.example/base",
            "https://work.example.com@evil.example/base",
            HOME,
            "work.example.com/base",
        ] {
            assert_eq!(choose(Some(other), None, None), pair(other, None));
            assert_eq!(choose(Some(other), None, Some("work")), pair(other, None));
        }
        let chosen = choose_connection(ConnectionFlags::default(), || Ok(saved())).unwrap();
        assert!(chosen.token_for(WORK).is_some() && chosen.token_for(HOME).is_none());
    }

    #[test]
    fn a_named_profile_that_is_not_used_is_reported() {
        let name: ProfileName = "home".parse().unwrap();
        let flags = ConnectionFlags { server: Some(WORK), profile: Some(&name), token: None };
        assert_eq!(choose_connection(flags, || Ok(saved())).unwrap().withheld.as_deref(), Some(HOME));
        let flags = ConnectionFlags { server: Some(HOME), ..ConnectionFlags::default() };
        assert_eq!(choose_connection(flags, || Ok(saved())).unwrap().withheld, None);
    }

    #[test]
    fn profiles_are_not_read_if_a_token_is_given() {
        let token = SecretText::new("t");
        let flags = ConnectionFlags { token: Some(&token), ..ConnectionFlags::default() };
        assert!(choose_connection(flags, || panic!("not needed")).is_ok());
    }
}
