//! The audit report, readable by programs.

use serde::Serialize;

/// Maximum number of findings in a report; one more finding says that there are others.
const MAX_FINDINGS: usize = 200;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Must not be signed.
    Error,
    /// Must be reviewed by a person.
    Warning,
    /// Worth knowing.
    Note,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $severity:ident,)*) => {
        /// The kind of a finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The severity of this kind.
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }
        }
    };
}

codes! {
    /// `eval`, or a timer with a string.
    Eval = Error,
    /// `Function` and similar constructors, which compile text to code.
    FunctionConstructor = Error,
    /// `import` or `require`: nothing can be loaded.
    Import = Error,
    /// `WebAssembly`: code that people cannot read.
    WebAssembly = Error,
    /// Characters that change the text direction, so that code reads differently than it runs.
    BidiControl = Error,
    /// HTML comments, which people and engines may treat differently.
    HtmlComment = Error,
    /// The code cannot be parsed to its end.
    Syntax = Error,
    /// `.constructor`, which leads to `Function`.
    ConstructorAccess = Warning,
    /// The global object, or an object of another host.
    GlobalObject = Warning,
    /// A name written with escapes.
    EscapedName = Warning,
    /// A string that is mostly escapes.
    EscapedText = Warning,
    /// A long string that looks like encoded data.
    EncodedBlob = Warning,
    /// Decodes text from numbers or base64.
    Decoding = Warning,
    /// A line too long to review.
    LongLine = Warning,
    /// Invisible characters.
    InvisibleCharacter = Warning,
    /// A slash that may or may not start a regular expression.
    UnclearSlash = Warning,
    /// `fetch` of an undeclared host.
    UndeclaredHost = Warning,
    /// `http:`, which anyone on the network can read and change.
    PlainHttp = Warning,
    /// An IP address instead of a name.
    IpHost = Warning,
    /// A wildcard host.
    WildcardHost = Warning,
    /// A large amount of code.
    LargeCode = Warning,
    /// A tool without a description.
    NoToolDescription = Warning,
    /// Requested but not used.
    UnusedPermission = Warning,
    /// Used but not requested: it will fail.
    MissingPermission = Warning,
    /// A URL in a string whose host is not declared.
    OtherUrl = Note,
    /// `fetch` of a URL that is computed at run time.
    ComputedUrl = Note,
    /// A forbidden word in a comment, string or regular expression.
    WordInText = Note,
    /// Non-ASCII letters in a name.
    ForeignLetters = Note,
    /// Exceeds the limits of some chats.
    SchemaLimits = Note,
    /// No description of the plugin.
    NoDescription = Note,
    /// There are more findings than are listed.
    More = Note,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    /// Its severity.
    pub severity: Severity,
    /// Its kind, for programs.
    pub code: Code,
    /// Where: `tools[0].executorCode, line 3`.
    pub place: String,
    /// A description for people.
    pub text: String,
}

/// All findings, most severe first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Whether a curator may sign it: no finding is an error.
    pub passes: bool,
    /// The findings.
    pub findings: Vec<AuditFinding>,
}

#[derive(Default)]
pub(super) struct FindingCollector {
    list: Vec<AuditFinding>,
    more: bool,
}

impl FindingCollector {
    /// Adds a finding. Duplicates at the same place are dropped; if the list is full, errors replace less severe findings.
    pub(super) fn add(&mut self, code: Code, place: &str, text: impl Into<String>) {
        let severity = code.severity();
        if self.list.iter().rev().any(|found| found.code == code && found.place == place) {
            return;
        }
        if self.list.len() >= MAX_FINDINGS {
            self.more = true;
            let Some(least) = self.list.iter().rposition(|found| found.severity > severity) else { return };
            self.list.remove(least);
        }
        self.list.push(AuditFinding { severity, code, place: place.to_owned(), text: text.into() });
    }

    pub(super) fn into_report(mut self) -> AuditReport {
        self.list.sort_by_key(|found| found.severity);
        if self.more {
            let text = format!("there are more findings than the {MAX_FINDINGS} listed");
            let severity = Code::More.severity();
            self.list.push(AuditFinding { severity, code: Code::More, place: String::new(), text });
        }
        let passes = self.list.iter().all(|found| found.severity != Severity::Error);
        AuditReport { passes, findings: self.list }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_bounded_and_errors_stay() {
        let mut findings = FindingCollector::default();
        for line in 0..MAX_FINDINGS + 5 {
            findings.add(Code::LongLine, &format!("line {line}"), "");
            findings.add(Code::LongLine, &format!("line {line}"), "");
        }
        findings.add(Code::Eval, "line 7", "");
        let report = findings.into_report();
        assert_eq!((report.findings.len(), report.passes), (MAX_FINDINGS + 1, false));
        assert_eq!(report.findings[0].code, Code::Eval);
        assert_eq!(report.findings.last().unwrap().code, Code::More);
        assert_eq!(serde_json::to_value(&report.findings[0]).unwrap()["code"], "eval");
    }
}
