//! What was found, in a form that programs read too.

use serde::Serialize;

/// Most findings that are told; one more says that there are others.
const MAX_FINDINGS: usize = 200;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Not to be signed.
    Error,
    /// To be looked at by people.
    Warning,
    /// Worth knowing.
    Note,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $severity:ident,)*) => {
        /// What was found.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// How bad it is.
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }
        }
    };
}

codes! {
    /// `eval`, or a timer with a text.
    Eval = Error,
    /// `Function` and its relatives, which make code of text.
    FunctionConstructor = Error,
    /// `import` or `require`: nothing can be loaded.
    Import = Error,
    /// `WebAssembly`: code that people cannot read.
    WebAssembly = Error,
    /// Characters that turn the direction of text, so that it reads otherwise than it runs.
    BidiControl = Error,
    /// Comments as HTML has them, which readers skip and engines may not, or the other way round.
    HtmlComment = Error,
    /// The code cannot be read to its end.
    Syntax = Error,
    /// `.constructor`, a way to `Function`.
    ConstructorAccess = Warning,
    /// The global object, or something of another host's.
    GlobalObject = Warning,
    /// A name that is written with escapes.
    EscapedName = Warning,
    /// A text that is mostly escapes.
    EscapedText = Warning,
    /// A long text that looks like encoded data.
    EncodedBlob = Warning,
    /// Makes text of numbers or of base64.
    Decoding = Warning,
    /// A line that nobody reads to its end.
    LongLine = Warning,
    /// Characters that cannot be seen.
    InvisibleCharacter = Warning,
    /// A slash that may or may not begin a regular expression.
    UnclearSlash = Warning,
    /// `fetch` of a host that is not declared.
    UndeclaredHost = Warning,
    /// `http:`, which anybody on the way can read and change.
    PlainHttp = Warning,
    /// An address instead of a name.
    IpHost = Warning,
    /// Everything under a name.
    WildcardHost = Warning,
    /// Much code.
    LargeCode = Warning,
    /// A tool without a description.
    NoToolDescription = Warning,
    /// Asked for and not used.
    UnusedPermission = Warning,
    /// Used and not asked for: it will fail.
    MissingPermission = Warning,
    /// A URL in a text that is not a declared host's.
    OtherUrl = Note,
    /// `fetch` of a URL that is put together while running.
    ComputedUrl = Note,
    /// A forbidden word in a comment, text or regular expression.
    WordInText = Note,
    /// Letters outside ASCII in a name.
    ForeignLetters = Note,
    /// More than some chats take.
    SchemaLimits = Note,
    /// No description of the plugin.
    NoDescription = Note,
    /// There are more findings than are listed.
    More = Note,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, for programs.
    pub code: Code,
    /// Where: `tools[0].executorCode, line 3`.
    pub place: String,
    /// What it is, for people.
    pub text: String,
}

/// Everything that was found, the worst first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Whether a curator may sign it: nothing in it is an error.
    pub passes: bool,
    /// What was found.
    pub findings: Vec<AuditFinding>,
}

#[derive(Default)]
pub(super) struct FindingCollector {
    list: Vec<AuditFinding>,
    more: bool,
}

impl FindingCollector {
    /// Adds a finding. The same one at the same place is told once; errors are never the ones that are left out.
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
            let text = format!("more was found than the {MAX_FINDINGS} that are listed");
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
