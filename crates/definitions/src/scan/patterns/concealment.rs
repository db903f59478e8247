//! What the model is asked to keep from the user.

use super::rule;
use crate::scan::{
    ScanRule::Concealment,
    Severity::{High, Low},
    rules::TextRule,
};

/// Rules about concealment.
pub(super) const CONCEALMENT_RULES: &[TextRule] = &[
    rule(
        Concealment,
        High,
        "it tells the model to keep something from the user",
        concat!(
            r"\b{NOT}(?: ever| explicitly| directly)? (?:tell|inform|alert|warn|notify|telling|informing|alerting|warning|notifying|let)\b ",
            r"(?:the |your |any |an? )?(?:end[- ])?(?:users?|humans?|customers?|anyone|anybody|operators?)\b",
            r"(?: know)?(?: (?:about|of|that|anything|this|you|why|it|what|when|where|how)\b|[.,;!)\]>]|$|\n| -| unless| or\b| and\b)",
        ),
    )
    .mentionable(),
    rule(
        Concealment,
        High,
        "it tells the model to keep something from the user",
        concat!(
            r"\b{NOT}(?: ever| explicitly| directly)? (?:mention|reveal|disclose|discuss|acknowledge|expose|divulge|mentioning|revealing|disclosing)\b ",
            r"(?:this|these|that|it|any of|the (?:existence|fact|instructions?|side ?note|steps?|process|transfer|forwarding|copy|access|file|collection",
            r"|redirect\w*|upload|logging|exfil\w*|real|hidden|above|contents?|call|use)|anything|your (?:instructions?|actions?|access))\b",
            r"{~60}\b(?:to|in|with|from) (?:the |your |any )?(?:{USER}|responses?|output|repl(?:y|ies)|conversation|chat|summar\w+)",
        ),
    )
    .mentionable(),
    rule(
        Concealment,
        High,
        "it tells the model to keep its own instructions or actions secret",
        concat!(
            r"\b{NOT}(?: ever)? (?:mention|reveal|disclose|discuss|acknowledge|divulge|talk about|speak of|show|explain|display|share)\b ",
            r"(?:this|these|any of these|the (?:above|existence of|fact that|hidden|secret))(?: [\w'-]+){0,2}? ?",
            r"(?:instructions?|directives?|steps?|requirements?|behaviou?r|actions?|process|block|note|message|step|operation|parameter|tag|section)\b",
        ),
    )
    .mentionable(),
    rule(
        Concealment,
        High,
        "it acts behind the user's back",
        concat!(
            r"\b(?:secretly|covertly|surreptitiously|stealthily|discreetly|quietly|silently|invisibly)\b,? (?:[\w'-]+ ){0,2}?",
            r"(?:send|forward|upload|post|transmit|copy|collect|read|access|exfiltrate|include|append|log|record|share|email|bcc|add|call",
            r"|execute|run|extract|steal|harvest|fetch|capture|monitor|track|redirect|modify|change|insert|leak|pass|transfer|enable|disable|install|register|subscribe|grant|create|start)(?:s|es|ing|ed|d)?\b",
        ),
    )
    .unless(r"no-?op|\bnever\b|does not|doesn't|without sound|notification"),
    rule(
        Concealment,
        High,
        "it acts behind the user's back",
        concat!(
            r"\bwithout (?:the |any |their )?(?:user'?s?|human|their|operator'?s?) ?(?:explicit |prior )?(?:knowledge|awareness|noticing|knowing|realizing|seeing|consent)\b",
            r"|\b(?:so that |so )?(?:the )?{USER} (?:must|should|will|does|do|can)(?: not|n't) (?:ever )?(?:know|notice|find out|realize|suspect",
            r"|be (?:told|informed|notified|aware|alerted)|become aware|see this|see these)\b",
            r"|\b(?:hide|conceal|mask|disguise)\b (?:this|these|it|your|the (?:fact|action|instruction|real|true|result|request|call|transfer|data)\w*)\b{~40}\bfrom (?:the |end )?(?:{USER}|view|logs?|audit)",
            r"|\bkeep (?:this|these|it|that|all of this)\b{~30}\b(?:secret from|hidden from|confidential from|quiet|between us|from the user|hidden|unnoticed)",
        ),
    )
    .unless(r"\b(?:never|don't|do not|must not|should not|cannot|can't|not be|illegal|prohibited)\b(?:[^.!?\n]){0,40}\bwithout\b|\bprivate (?:note|repo)")
    .mentionable(),
    rule(
        Concealment,
        High,
        "it tells the model to deceive the user",
        concat!(
            r"\b(?:do not|don't|never|should not|shouldn't|must not) bring (?:this|it|these|that|up)\b|\b(?:leave|keep) (?:this|it|these|that)\b{~25}\bout of (?:your|the) (?:summary|reply|replies|response|answer|output)",
            r"|\b(?:omit|exclude|remove) (?:this|it|these|any mention)\b{~30}\bfrom (?:your|the) (?:summary|reply|response|answer|final)",
            r"|\bif (?:the )?users? asks?\b{~50}\b(?:say (?:that|it|you|this|only)|lie\b|claim (?:that|it|you)|deny|pretend|tell them (?:that )?(?:it|this|you|everything|nothing|the tool)|reply that (?:it|you|nothing))",
            r"|\b(?:wipe|erase|clear|delete|remove) (?:the |all |any )?(?:logs?|traces?|evidence|audit trail)\b{~25}\b(?:so that|to hide|to avoid|no trace|detection|afterwards)|\bleave no trace|\bcover (?:your|its|the|our) tracks",
            r"|\bkeep (?:this|it|that|the following) between us\b|\bpretend(?:s|ing)? (?:the|that|it|everything|nothing)\b|\b(?:do not|never|don't) (?:reveal|disclose|mention|show|tell)\b{~15}\byou (?:contact|call|use|read|access|send|did|do|made)\b",
            r"|\b(?:outputs?|results?|responses?|balances?|amounts?|numbers?) (?:from|of|by) (?:the |other )?[\w -]{2,30}? (?:should|must|are to|is to|has to|have to) be (?:modified|altered|changed|adjusted|falsified|increased|decreased)\b",
            r"|\bwithout (?:bothering|involving|alarming|alerting|worrying) (?:the )?(?:user|human|customer)",
            r"|\b(?:make|so)(?: that)? (?:it )?(?:looks?|appears?|seems?) (?:like|as if|as though)\b{~40}\b(?:normal|nothing|legitimate|user|regular)",
        ),
    )
    .mentionable(),
    rule(
        Concealment,
        Low,
        "it says what not to show to the user",
        r"\b{NOT} (?:\w+ )?(?:mention|reveal|disclose|show|explain|tell|inform|notify|display)\b{~50}\b{USER}\b|\bwithout (?:notifying|telling|informing|alerting|showing)\b",
    ),
];
