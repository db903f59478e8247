//! A sample of each format, made when the tests run: no key is written in this file, so that scanners of repositories stay quiet.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

const ALNUM: &[u8] = b"a7Kq9ZbX2mWc4RtY8nVd3LsG6pHf5JkT1eQuM0iBgNoC";
const HEX: &[u8] = b"3f9a07c5e1b8d246";
const BASE32: &[u8] = b"Q7M2XK5ZT4BWLNRA36HJ";
const DIGITS: &[u8] = b"4718290365";

/// So many characters of an alphabet, always the same ones.
pub(crate) fn fill(alphabet: &[u8], count: usize) -> String {
    (0..count).map(|at| char::from(alphabet[(at * 7 + at / 11) % alphabet.len()])).collect()
}

pub(crate) fn alnum(count: usize) -> String {
    fill(ALNUM, count)
}

pub(crate) fn hex(count: usize) -> String {
    fill(HEX, count)
}

/// A signed token with this header.
pub(crate) fn jwt(header: &str) -> String {
    let payload = URL_SAFE_NO_PAD.encode(r#"{"sub":"anna","exp":1900000000}"#);
    format!("{}.{payload}.{}", URL_SAFE_NO_PAD.encode(header), alnum(43))
}

/// A block of PEM with this label and line break.
pub(crate) fn pem(label: &str, line: &str) -> String {
    let body: Vec<_> = (0..5).map(|_| alnum(64)).collect();
    format!("-----BEGIN {label}-----{line}{}{line}-----END {label}-----", body.join(line))
}

/// Formats whose length is fixed or at its minimum: one character less is no key.
pub(crate) fn shortest_keys() -> Vec<(&'static str, String)> {
    let key = |kind, prefix: &str, body: String| (kind, format!("{prefix}{body}"));
    let mut keys = vec![
        key("aws-access-key", "AKIA", fill(BASE32, 16)),
        key("aws-access-key", "ASIA", fill(BASE32, 16)),
        key("google-api-key", "AIza", alnum(35)),
        key("google-oauth-token", "ya29.", alnum(20)),
        key("google-oauth-secret", "GOCSPX-", alnum(28)),
        key("google-refresh-token", "1//0", alnum(60)),
        key("azure-client-secret", "abC8Q~", alnum(31)),
        key("alibaba-access-key", "LTAI", alnum(20)),
        key("digitalocean-token", "dop_v1_", hex(64)),
        key("databricks-token", "dapi", hex(32)),
        key("supabase-token", "sbp_", hex(40)),
        key("github-token", "github_pat_", format!("{}_{}", alnum(22), alnum(59))),
        key("gitlab-token", "glpat-", alnum(20)),
        key("gitlab-token", "glptt-", hex(40)),
        key("gitlab-token", "glagent-", alnum(50)),
        key("gitlab-token", "gloas-", alnum(64)),
        key("gitlab-token", "GR1348941", alnum(20)),
        key("npm-token", "npm_", alnum(36)),
        key("pypi-token", "pypi-AgEIcHlwaS5vcmc", alnum(50)),
        key("rubygems-token", "rubygems_", hex(48)),
        key("docker-token", "dckr_pat_", alnum(27)),
        key("docker-token", "dckr_oat_", alnum(32)),
        key("artifactory-key", "AKCp", alnum(69)),
        key("pulumi-token", "pul-", hex(40)),
        key("sentry-token", "sntryu_", hex(64)),
        key("postman-key", "PMAK-", format!("{}-{}", hex(24), hex(34))),
        key("grafana-token", "glsa_", format!("{}_{}", alnum(32), hex(8))),
        key("anthropic-key", "sk-ant-api03-", format!("{}-{}", alnum(40), alnum(33))),
        key("openrouter-key", "sk-or-v1-", hex(64)),
        key("openai-key", "sk-proj-", format!("{}_{}", alnum(20), alnum(19))),
        key("openai-key", "sk-", alnum(48)),
        key("openai-key", "sk-", hex(32)),
        key("huggingface-token", "hf_", alnum(34)),
        key("groq-key", "gsk_", alnum(52)),
        key("replicate-token", "r8_", alnum(37)),
        key("perplexity-key", "pplx-", alnum(48)),
        key("xai-key", "xai-", alnum(80)),
        key("langsmith-key", "lsv2_pt_", format!("{}_{}", hex(32), hex(10))),
        key("telegram-bot-token", &format!("{}:AA", fill(DIGITS, 9)), alnum(33)),
        key("twilio-key", "SK", hex(32)),
        key("sendgrid-key", "SG.", format!("{}.{}", alnum(22), alnum(43))),
        key("brevo-key", "xkeysib-", format!("{}-{}", hex(64), alnum(16))),
        key("stripe-key", "sk_live_", alnum(16)),
        key("stripe-webhook-secret", "whsec_", alnum(32)),
        key("square-token", "sq0atp-", alnum(22)),
        key("easypost-key", "EZAK", alnum(54)),
        key("linear-key", "lin_api_", alnum(40)),
        key("notion-token", "ntn_", format!("{}{}", fill(DIGITS, 11), alnum(35))),
        key("notion-token", "secret_", alnum(43)),
        key("contentful-token", "CFPAT-", alnum(43)),
        key("newrelic-key", "NRAK-", fill(BASE32, 27)),
        key("vault-token", "hvs.", alnum(24)),
        key("age-key", "AGE-SECRET-KEY-1", fill(BASE32, 58)),
        key(
            "jwt",
            jwt(r#"{"alg":"HS256","typ":"JWT"}"#).rsplit_once('.').unwrap().0,
            format!(".{}", alnum(16)),
        ),
    ];
    for prefix in ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"] {
        keys.push(key("github-token", prefix, alnum(36)));
    }
    for prefix in ["shpat_", "shpca_", "shppa_", "shpss_"] {
        keys.push(key("shopify-token", prefix, hex(32)));
    }
    keys
}

/// Formats with more freedom.
pub(crate) fn other_keys() -> Vec<(&'static str, String)> {
    let number = |count| fill(DIGITS, count);
    let marked = format!("sk-{}T3BlbkFJ{}", alnum(20), alnum(20));
    let app_token = format!("ghs_{}_{}", number(6), jwt(r#"{"alg":"RS256"}"#));
    let encrypted = format!(
        "{}..{}.{}.{}",
        URL_SAFE_NO_PAD.encode(r#"{"alg":"dir","enc":"A256GCM"}"#),
        alnum(16),
        alnum(80),
        alnum(22)
    );
    vec![
        ("aws-session-token", format!("IQoJb3JpZ2luX2Vj{}==", alnum(300))),
        ("gitlab-token", format!("glpat-{}.{}", alnum(27), "01a2b3c4d")),
        ("gitlab-token", format!("glcbt-{}_{}", hex(2), alnum(20))),
        ("slack-token", format!("xoxb-{}-{}-{}", number(12), number(13), alnum(24))),
        ("slack-token", format!("xoxp-{}-{}-{}-{}", number(12), number(12), number(12), hex(32))),
        ("slack-token", format!("xoxa-2-{}", alnum(40))),
        ("slack-token", format!("xapp-1-A{}-{}-{}", alnum(10), number(13), hex(64))),
        ("slack-token", format!("xoxe.xoxp-1-{}", alnum(163))),
        ("slack-token", format!("xoxe-1-{}", alnum(146))),
        ("openai-key", marked),
        ("openai-key", format!("sk-svcacct-{}T3BlbkFJ{}", alnum(74), alnum(74))),
        ("github-token", app_token),
        ("stripe-key", format!("rk_live_{}", alnum(99))),
        ("tailscale-key", format!("tskey-auth-{}-{}", alnum(12), alnum(32))),
        ("vault-token", format!("hvs.{}", alnum(95))),
        ("vault-token", format!("hvb.{}", alnum(150))),
        ("jwt", jwt(r#"{"typ":"JWT","alg":"ES256","kid":"a"}"#)),
        ("jwt", encrypted),
        ("private-key", pem("PRIVATE KEY", "\n")),
        ("private-key", pem("RSA PRIVATE KEY", "\r\n")),
        ("private-key", pem("EC PRIVATE KEY", "\n")),
        ("private-key", pem("DSA PRIVATE KEY", "\n")),
        ("private-key", pem("OPENSSH PRIVATE KEY", "\n")),
        ("private-key", pem("ENCRYPTED PRIVATE KEY", "\n")),
        ("private-key", pem("PGP PRIVATE KEY BLOCK", "\n")),
        ("private-key", pem("RSA PRIVATE KEY", "\\n")),
    ]
}

/// All of them.
pub(crate) fn all_keys() -> Vec<(&'static str, String)> {
    shortest_keys().into_iter().chain(other_keys()).collect()
}
