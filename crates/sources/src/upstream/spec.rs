//! How one upstream is reached: the operator's configuration with its secrets filled in.

use std::{collections::BTreeMap, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use toolyard_core::{
    ports::{SecretSealer, UpstreamRecord},
    upstream_secrets,
};
use toolyard_mcp_client::{HttpTarget, McpTransport, StaticHeaders, StdioCommand};
use toolyard_net::{Guard, HttpClient, OutsideUrl};
use toolyard_protocol::upstream::{UpstreamDetails, UpstreamEndpoint};

/// Variables of our environment that a child process always gets.
const INHERITED: [&str; 2] = ["PATH", "HOME"];

/// Reads the server's environment.
pub type UpstreamEnvironment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Why an upstream's configuration is unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSpec(pub String);

/// The details with all secrets and variables filled in.
pub(super) fn resolve_details(
    record: &UpstreamRecord,
    secrets: &dyn SecretSealer,
    environment: &UpstreamEnvironment,
) -> Result<UpstreamDetails, BadSpec> {
    let mut details = record.details.clone();
    let values =
        upstream_secrets::open_secrets(record, secrets).map_err(|error| BadSpec(error.to_string()))?;
    details.headers.extend(values.headers);
    details.env.extend(values.env);
    details.client_secret = values.client_secret.or(details.client_secret);
    let texts =
        details.headers.values_mut().chain(details.env.values_mut()).chain(&mut details.client_secret);
    for text in texts {
        *text = expand_variables(text, environment)?;
    }
    Ok(details)
}

/// Replaces the `${NAME}`s in a text.
fn expand_variables(text: &str, environment: &UpstreamEnvironment) -> Result<String, BadSpec> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) =
            after.split_once('}').ok_or_else(|| BadSpec("`${` without a closing `}`".to_owned()))?;
        let value = environment(name)
            .ok_or_else(|| BadSpec(format!("the server's environment has no variable {name}")))?;
        whole.push_str(before);
        whole.push_str(&value);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// The transport to an upstream.
pub(super) fn transport_for(
    details: &UpstreamDetails,
    guard: &Guard,
    http: &HttpClient,
    environment: &UpstreamEnvironment,
) -> Result<McpTransport, BadSpec> {
    match details.endpoint() {
        Some(UpstreamEndpoint::Url(url)) => Ok(McpTransport::Http(HttpTarget {
            url: OutsideUrl::parse(url, guard).map_err(|error| BadSpec(error.to_string()))?,
            http: http.clone(),
            credentials: Arc::new(StaticHeaders::new(parse_headers(&details.headers)?)),
        })),
        Some(UpstreamEndpoint::Command(program)) => {
            let named = details.env.iter().map(|(name, value)| (name.clone(), value.clone()));
            let inherited = INHERITED.into_iter().filter(|name| !details.env.contains_key(*name));
            let inherited = inherited.filter_map(|name| Some((name.to_owned(), environment(name)?)));
            Ok(McpTransport::Stdio(StdioCommand {
                program: program.to_owned(),
                args: details.args.clone(),
                env: inherited.chain(named).collect(),
                cwd: details.cwd.as_ref().map(Into::into),
            }))
        }
        None => Err(BadSpec("it names neither a URL nor a command".to_owned())),
    }
}

fn parse_headers(named: &BTreeMap<String, String>) -> Result<HeaderMap, BadSpec> {
    let mut headers = HeaderMap::new();
    for (name, value) in named {
        let parsed =
            name.parse::<HeaderName>().map_err(|_| BadSpec(format!("`{name}` is not a header name")))?;
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| BadSpec(format!("the value of {name} is not a valid header value")))?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use toolyard_core::{
        ports::{SealError, UnsealError},
        upstream_secrets::{HIDDEN, seal_secrets},
    };

    use super::*;

    /// Seals nothing; the test checks what goes in.
    struct Open;
    impl SecretSealer for Open {
        fn seal(&self, plain: &str) -> Result<Vec<u8>, SealError> {
            Ok(plain.as_bytes().to_vec())
        }
        fn unseal(&self, sealed: &[u8]) -> Result<String, UnsealError> {
            String::from_utf8(sealed.to_vec()).map_err(|_| UnsealError)
        }
        fn derive_keys(&self, _: &str) -> Vec<[u8; 32]> {
            Vec::new()
        }
    }

    fn environment() -> UpstreamEnvironment {
        Arc::new(|name| match name {
            "TOKEN" => Some("t0k".to_owned()),
            "PATH" => Some("/bin".to_owned()),
            _ => None,
        })
    }

    fn record(text: &str) -> UpstreamRecord {
        let (details, sealed) = seal_secrets(serde_json::from_str(text).unwrap(), &Open).unwrap();
        UpstreamRecord { details, sealed, managed: false, disabled: false }
    }

    #[test]
    fn secrets_are_sealed_and_names_of_the_environment_are_not() {
        let text = r#"{"url":"https://x","headers":{"a":"Bearer ${TOKEN}","b":"s3cret"},"clientSecret":"c"}"#;
        let record = record(text);
        assert_eq!(record.details.headers["a"], "Bearer ${TOKEN}");
        assert_eq!(record.details.headers["b"], HIDDEN);
        assert_eq!(record.details.client_secret.as_deref(), Some(HIDDEN));
        let opened = resolve_details(&record, &Open, &environment()).unwrap();
        assert_eq!((opened.headers["a"].as_str(), opened.headers["b"].as_str()), ("Bearer t0k", "s3cret"));
        assert_eq!(opened.client_secret.as_deref(), Some("c"));
    }

    #[test]
    fn a_missing_variable_and_a_broken_value_say_so() {
        for (text, word) in [
            (r#"{"url":"u","headers":{"a":"${NONE}"}}"#, "NONE"),
            (r#"{"url":"u","headers":{"a":"${TOKEN"}}"#, "closing"),
        ] {
            let error = resolve_details(&record(text), &Open, &environment()).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn a_child_gets_what_is_named_and_little_else() {
        let opened = resolve_details(
            &record(r#"{"command":"x","args":["a"],"env":{"K":"${TOKEN}"}}"#),
            &Open,
            &environment(),
        );
        let guard = Guard::strict();
        let http = HttpClient::new(guard.clone(), toolyard_net::ClientSettings::default());
        let Ok(McpTransport::Stdio(command)) = transport_for(&opened.unwrap(), &guard, &http, &environment())
        else {
            panic!()
        };
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(command.env, [text("PATH", "/bin"), text("K", "t0k")]);
        let bad = record(r#"{"url":"http://127.0.0.1/mcp"}"#).details;
        assert!(transport_for(&bad, &guard, &http, &environment()).is_err(), "the guard is asked");
    }
}
