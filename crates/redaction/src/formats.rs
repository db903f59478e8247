//! The table of key formats: prefix, characters, length. Issuers publish most of them; nothing here guesses from randomness.
//!
//! Checksums inside of keys (GitHub, npm) are not verified: prefix, alphabet and length already exclude ordinary text, and a key
//! that is hidden by mistake costs less than one that is shown.

use crate::{
    alphabet::Alphabet::{
        self, Alnum, AlnumHyphen, AnyHex, Base32, Base64, EncodedBase64, Hex, UpperAlnum, UrlSafe, Word,
    },
    context, private_key, token,
};

/// Checks a hit of a prefix: the text, and where the prefix starts and ends. Returns the range of the secret.
pub(crate) type CheckHit =
    fn(&mut crate::alphabet::ScannedText<'_>, usize, usize) -> Option<std::ops::Range<usize>>;

/// What must follow a prefix.
pub(crate) enum KeyShape {
    /// So many characters of an alphabet; the prefix is a part of the secret.
    Key(Alphabet, usize, usize),
    /// The same, but the prefix is only a name for it.
    Value(Alphabet, usize, usize),
    /// More than a run of characters.
    Checked(CheckHit),
}

/// One format of keys.
pub(crate) struct KeyFormat {
    /// What it is called in placeholders.
    pub(crate) kind: &'static str,
    pub(crate) prefixes: &'static [&'static str],
    pub(crate) shape: KeyShape,
}

const fn key(
    kind: &'static str,
    prefixes: &'static [&'static str],
    alphabet: Alphabet,
    min: usize,
    max: usize,
) -> KeyFormat {
    KeyFormat { kind, prefixes, shape: KeyShape::Key(alphabet, min, max) }
}

const fn value(
    kind: &'static str,
    prefixes: &'static [&'static str],
    alphabet: Alphabet,
    min: usize,
    max: usize,
) -> KeyFormat {
    KeyFormat { kind, prefixes, shape: KeyShape::Value(alphabet, min, max) }
}

const fn checked(kind: &'static str, prefixes: &'static [&'static str], check: CheckHit) -> KeyFormat {
    KeyFormat { kind, prefixes, shape: KeyShape::Checked(check) }
}

/// All formats. Where two match the same characters, the first one names them.
pub(crate) const FORMATS: &[KeyFormat] = &[
    // Cloud providers.
    key("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], Base32, 16, 16),
    key("aws-access-key", &["A3T"], UpperAlnum, 17, 17),
    key("aws-session-token", &["IQoJb3JpZ2luX2Vj", "FwoGZXIvYXdz"], Base64, 80, 4096),
    key("aws-bedrock-key", &["ABSKQmVkcm9ja0FQSUtleS"], Base64, 80, 300),
    checked("aws-secret-key", context::AWS_NAMES, context::find_aws_secret),
    key("google-api-key", &["AIza"], UrlSafe, 35, 35),
    key("google-oauth-token", &["ya29."], UrlSafe, 20, 2048),
    key("google-oauth-secret", &["GOCSPX-"], UrlSafe, 28, 28),
    checked("google-refresh-token", &["1//0"], token::find_google_refresh_token),
    value(
        "azure-storage-key",
        &["AccountKey=", "AccountKey=\"", "AccountKey='", "AccountKey\": \"", "AccountKey\":\""],
        Base64,
        88,
        88,
    ),
    value("azure-shared-access-key", &["SharedAccessKey="], Base64, 44, 44),
    checked("azure-sas-signature", &["sig="], context::find_azure_signature),
    checked("azure-client-secret", &["Q~"], token::find_azure_client_secret),
    key("alibaba-access-key", &["LTAI"], Alnum, 20, 20),
    key("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, 64, 64),
    key("databricks-token", &["dapi"], Hex, 32, 32),
    key("flyio-token", &["fm2_"], Base64, 100, 4096),
    key("heroku-key", &["HRKU-"], UrlSafe, 36, 80),
    key("supabase-token", &["sbp_"], Hex, 40, 40),
    key("planetscale-token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], UrlSafe, 32, 64),
    // Code hosts, registries and build services.
    key("github-token", &["ghp_", "gho_", "ghu_", "ghr_", "ghs_"], Alnum, 36, 251),
    checked("github-token", &["ghs_"], token::find_github_app_token),
    key("github-token", &["github_pat_"], Word, 82, 244),
    checked(
        "gitlab-token",
        &["glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "glrtr-", "glffct-", "glcbt-", "glimt-"],
        token::find_gitlab_token,
    ),
    key("gitlab-token", &["glptt-"], AnyHex, 40, 40),
    key("gitlab-token", &["glagent-"], UrlSafe, 50, 1024),
    key("gitlab-token", &["gloas-"], UrlSafe, 64, 64),
    key("gitlab-token", &["GR1348941"], UrlSafe, 20, 50),
    key("atlassian-token", &["ATATT3"], EncodedBase64, 180, 200),
    key("npm-token", &["npm_"], Alnum, 36, 36),
    value("npm-token", &[":_authToken="], UrlSafe, 20, 400),
    key("pypi-token", &["pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"], UrlSafe, 50, 1000),
    key("rubygems-token", &["rubygems_"], Hex, 48, 48),
    key("docker-token", &["dckr_pat_"], UrlSafe, 27, 27),
    key("docker-token", &["dckr_oat_"], UrlSafe, 32, 32),
    key("artifactory-key", &["AKCp"], Alnum, 69, 69),
    key("pulumi-token", &["pul-"], Hex, 40, 40),
    key("doppler-token", &["dp.pt."], Alnum, 40, 44),
    key("sentry-token", &["sntryu_"], Hex, 64, 64),
    checked("postman-key", &["PMAK-"], token::find_postman_key),
    key("grafana-token", &["glsa_"], Word, 41, 41),
    key("buildkite-token", &["bkua_"], Hex, 40, 40),
    // Models.
    key("anthropic-key", &["sk-ant-"], UrlSafe, 80, 200),
    key("openrouter-key", &["sk-or-v1-"], Hex, 64, 64),
    key("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], UrlSafe, 40, 250),
    checked("openai-key", &["sk-"], token::find_openai_key),
    key("huggingface-token", &["hf_", "api_org_"], Alnum, 34, 34),
    key("groq-key", &["gsk_"], Alnum, 52, 52),
    key("replicate-token", &["r8_"], Alnum, 37, 37),
    key("perplexity-key", &["pplx-"], Alnum, 48, 48),
    key("xai-key", &["xai-"], Alnum, 80, 80),
    checked("langsmith-key", &["lsv2_pt_", "lsv2_sk_"], token::find_langsmith_key),
    // Messages, payments, work.
    checked(
        "slack-token",
        &[
            "xoxb-",
            "xoxp-",
            "xoxa-",
            "xoxo-",
            "xoxs-",
            "xoxr-",
            "xoxe-",
            "xoxc-",
            "xapp-",
            "xoxe.xoxb-",
            "xoxe.xoxp-",
        ],
        token::find_slack_token,
    ),
    key("slack-token", &["xoxd-"], EncodedBase64, 40, 400),
    value("slack-webhook", &["hooks.slack.com/services/", "hooks.slack.com/workflows/"], Base64, 40, 80),
    checked("telegram-bot-token", &[":AA"], token::find_telegram_token),
    key("twilio-key", &["SK"], Hex, 32, 32),
    checked("sendgrid-key", &["SG."], token::find_sendgrid_key),
    checked("brevo-key", &["xkeysib-", "xsmtpsib-"], token::find_brevo_key),
    key("stripe-key", &["sk_live_", "rk_live_", "sk_test_", "rk_test_"], Alnum, 16, 247),
    key("stripe-webhook-secret", &["whsec_"], Base64, 32, 64),
    key("square-token", &["sq0atp-"], UrlSafe, 22, 22),
    key("square-token", &["sq0csp-"], UrlSafe, 43, 43),
    key("easypost-key", &["EZAK"], Alnum, 54, 54),
    key("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], AnyHex, 32, 32),
    key("linear-key", &["lin_api_"], Alnum, 40, 40),
    key("linear-key", &["lin_oauth_"], Hex, 64, 64),
    checked("notion-token", &["ntn_"], token::find_notion_token),
    key("notion-token", &["secret_"], Alnum, 43, 43),
    key("figma-token", &["figd_"], UrlSafe, 40, 44),
    key("contentful-token", &["CFPAT-"], UrlSafe, 43, 43),
    key("newrelic-key", &["NRAK-"], UpperAlnum, 27, 27),
    key("tailscale-key", &["tskey-auth-", "tskey-api-", "tskey-client-"], AlnumHyphen, 24, 80),
    // Vaults and key files.
    key("vault-token", &["hvs."], UrlSafe, 24, 300),
    key("vault-token", &["hvb.", "hvr."], UrlSafe, 90, 400),
    key("onepassword-token", &["ops_eyJ"], Base64, 200, 4096),
    key("age-key", &["AGE-SECRET-KEY-1"], UpperAlnum, 58, 58),
    key("age-key", &["AGE-SECRET-KEY-PQ-1"], UpperAlnum, 50, 200),
    checked("private-key", &["-----BEGIN "], private_key::find_pem_key),
    checked("putty-key", &["Private-Lines: "], private_key::find_putty_key),
    // Forms that many issuers use. They come last, so that an issuer's name wins.
    checked("jwt", &["eyJ"], token::find_jwt),
    checked("url-password", &["://"], context::find_url_password),
    checked("bearer-token", context::BEARER_WORDS, context::find_bearer_token),
    checked("basic-auth", context::BASIC_WORDS, context::find_basic_credentials),
];
