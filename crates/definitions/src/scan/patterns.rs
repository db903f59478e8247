//! What the text rules look for: a verb, its object, and where it leads. All patterns are in lower case, as normalized text is.
//!
//! A rule that means every tool of a kind ("reads ~/.aws") would flag honest tools, so most rules need two or three parts: who
//! is addressed, what is asked, and what it is asked about.

use super::rules::TextRule;

mod concealment;
mod data;
mod instructions;
mod languages;
mod tools;

/// Every list of rules.
pub(super) const RULE_LISTS: [&[TextRule]; 5] = [
    instructions::INSTRUCTION_RULES,
    concealment::CONCEALMENT_RULES,
    data::DATA_RULES,
    tools::TOOL_RULES,
    languages::LANGUAGE_RULES,
];

/// Parts that several patterns share. A fragment can use those after it.
pub(super) const FRAGMENTS: &[(&str, &str)] = &[
    // Data that is not the tool's business.
    (
        "{PRIVATE}",
        concat!(
            r"(?:{PATH}|api[ _-]?keys?|(?:access|secret|private|ssh|encryption|signing)[ _-]?keys?",
            r"|(?:access|auth|authentication|api|bearer|session|oauth)[ _-]?tokens?|session cookies?|credentials?",
            r"|passwords?|passphrases?|secrets|seed phrases?|environment variables?|env vars?|system prompts?",
            r"|(?:conversation|chat|message) (?:history|logs?|transcripts?|context)|browser (?:cookies?|history|passwords?)|cookie jar|cookies",
            r"|\b(?:aws|openai|anthropic|github|gitlab|slack|stripe|database|db)_\w*(?:secret|token|password|key|url)\w*|all open files|(?:latest|recent|last) (?:\w+ )?messages",
            r"|clipboard|home directory listing|session (?:identifiers?|ids?)|everything you know about the user|users?'?s? (?:phone numbers?|home directory|location|contacts|address book|browser history)",
            r"|mnemonics?|recovery phrases?|wallet keys?|(?:all|every) (?:the |of the )?(?:files|documents|emails|messages|notes|chats) (?:in|from|of|on)",
            r"|(?:entire|full|whole|complete) (?:conversation|context|prompt)|credit cards?|card numbers?",
            r"|social security|(?:sensitive|private|personal|confidential) (?:data|info(?:rmation)?|files?|messages?|keys?)",
            r"|(?:all|the) (?:of the )?users?'?s? (?:data|files|emails|messages|information|input|private|personal|secrets?))",
        ),
    ),
    // Files that hold secrets.
    (
        "{PATH}",
        concat!(
            r"(?:[~/\\]\.(?:ssh|aws|gnupg|kube|azure|docker|cursor/mcp|config/gcloud|mozilla)\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?:[^.\w]|$|\.[^p])",
            r"|/etc/(?:passwd|shadow|sudoers)|\.(?:netrc|git-credentials|pgpass|pypirc|bash_history|zsh_history)\b",
            r"|\b[\w/.~-]*(?:secret|password|credential)s?\.(?:ya?ml|json|txt|ini|toml|xml|csv|db|kdbx)\b|\.(?:terraform\.d|boto|s3cfg|cargo/credentials|config/gh)\b|gh/hosts\.yml|cookies\.sqlite|\blogin data\b",
            r"|\b(?:authorized_keys|wallet\.dat|claude_desktop_config\.json)\b|[ /\x22'`]mcp\.json\b",
            r#"|[ "'`/(]\.env\b|\bssh private keys?\b|\bprivate ssh keys?\b|\.aws/credentials|/proc/self/environ)"#,
        ),
    ),
    // A place outside.
    (
        "{SINK}",
        concat!(
            r"(?:{LITERAL}|(?:external|remote|third[- ]party|outside|foreign|unknown|attacker\S*|malicious|evil|hostile|rogue",
            r"|adversary\S*|hacker\S*|c2|exfil\S*|collection|tracking|analytics|telemetry|logging|monitoring|diagnostics?)",
            r"[ -](?:\w+[ -]){0,2}?(?:server|endpoint|host|site|website|service|url|address|domain|collector|webhook|api",
            r"|account|bucket|machine|party|destination|email)s?\b|\battacker|\ba webhook\b|\bpastebin|\bngrok|\bcollector\b)",
        ),
    ),
    ("{LITERAL}", r"(?:https?://(?:[^\s]|$)|ftp://|[\w.+-]+@[\w-]+\.[a-z]{2,}|\b\d{1,3}(?:\.\d{1,3}){3}\b)"),
    (
        "{SEND}",
        concat!(
            r"(?:send|forward|upload|post|transmit|exfiltrate|leak|copy|email|e-mail|mail|bcc|submit|relay|share|dump",
            r"|beacon|siphon|smuggle|ship|publish|curl|report|write|append|pass|encode)(?:s|es|ed|ing|ted|ting|ped|ping)?",
        ),
    ),
    (
        "{NOT}",
        r"(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|shall not|avoid|refrain from|no need to)",
    ),
    ("{USER}", r"(?:users?|humans?|customers?|end[- ]?users?|anyone|anybody|operators?|the person|them)"),
    ("{MODEL}", r"(?:ai|llms?|assistants?|agents?|(?:language )?models?|claude|gpt|chatgpt|copilot|gemini)"),
];

/// A rule for all text.
const fn rule(
    rule: super::ScanRule,
    severity: super::Severity,
    reason: &'static str,
    pattern: &'static str,
) -> TextRule {
    TextRule { rule, severity, reason, pattern, unless: None, mentionable: false }
}

impl TextRule {
    const fn unless(mut self, pattern: &'static str) -> Self {
        self.unless = Some(pattern);
        self
    }

    const fn mentionable(mut self) -> Self {
        self.mentionable = true;
        self
    }
}

/// Words of a sentence that gives an example or a default, or says what is refused.
const EXAMPLE: &str = concat!(
    r"e\.g|\bexamples?[ :,)]|such as|default|path to|optional|falls? back|denied|block|refus|reject|protect|exclud|redact|mask",
    r"|not allowed|disallow|do not (?:read|open|access|include|log|print|commit|expose|share|echo)|cannot|can't|\bnever |forbidden|sensitive paths?|secrets? scan|detect|instead of",
);

/// What a decoded text runs. Only for text that was encoded: in plain text it is documentation.
pub(super) const SHELL_PAYLOAD: &str = concat!(
    r"\b(?:curl|wget|iwr|invoke-webrequest)\b{~120}(?:https?://|\||\d{1,3}(?:\.\d{1,3}){3})|\brm -[rf]{1,2}\b|/dev/tcp/|\bchmod (?:\+x|[0-7]{3,4})\b",
    r"|\b(?:bash|sh|zsh) -[ci]\b|\bnc (?:-\w+ )*\S+ \d+|\bpowershell\b|\beval\(|\bimport os\b|\bos\.system|\bsubprocess\.|/etc/passwd|\.ssh/|\bsudo \w+|\bmkfs\b|\bdd if=",
);
