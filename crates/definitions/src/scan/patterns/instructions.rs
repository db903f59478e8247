//! Instructions that replace others: overrides, other roles, markup of prompts.

use super::rule;
use crate::scan::{
    ScanRule::{InstructionOverride, PromptMarkup, RoleChange},
    Severity::{High, Low, Medium},
    rules::TextRule,
};

/// Rules about instructions.
pub(super) const INSTRUCTION_RULES: &[TextRule] = &[
    rule(
        InstructionOverride,
        High,
        "it tells the model to drop other instructions",
        concat!(
            r"\b(?:ignor|disregard|forget|discard|abandon|overlook|neglect|skip|do not follow|don't follow|stop following|stop obeying)(?:e|es|s|ing|ed)?\b (?:[\w'-]+ ){0,3}?",
            r"(?:previous|prior|above|earlier|preceding|all|any|your|other|original|initial|system|former|past|safety|security)",
            r"(?: [\w'-]+){0,3}? (?:instructions?|directions?|directives?|prompts?|guidelines?|programming|guardrails?",
            r"|safeguards?|orders|training|system messages?)\b",
        ),
    )
    .unless(r"confirmation|interactive")
    .mentionable(),
    rule(
        InstructionOverride,
        High,
        "it tells the model to drop other instructions",
        concat!(
            r"\b(?:ignore|disregard|forget)\b (?:about )?(?:everything|anything|all|what(?:ever)?|the) (?:of )?(?:the )?",
            r"(?:above|previous|prior|preceding|earlier (?:text|context|message)|before this|you (?:were|have been) told|you (?:know|learned)|that came before|other tools?|safety|rules)\b",
            r"|\bforget everything\b|\bignor(?:e|ing) (?:any|all|every) (?:of the )?other (?:\w+ ){0,2}?tools?\b|\b(?:execute|activate|initiate|perform) (?:an? |the )?system prompt override\b|\boverrides? (?:the |your )?system prompt (?:now|and)\b",
        ),
    )
    .mentionable(),
    rule(
        InstructionOverride,
        High,
        "it tells the model to ignore its rules",
        concat!(
            r"\b(?:ignore|disregard|forget|override|bypass|violate|break|drop|skip|circumvent)\b (?:all |any |every )?(?:of )?",
            r"(?:your|previous|prior|the above|earlier|(?:all |your )?(?:safety|ethical))(?: [\w'-]+){0,3}? ",
            r"(?:rules|constraints|restrictions|polic(?:y|ies)|limitations|warnings|protocols|filters|instructions?|guidelines?",
            r"|checks|controls|measures|commands|context|guardrails?|safeguards?|prompts?)\b",
        ),
    )
    .unless(r"not recommended|force:|dangerous")
    .mentionable(),
    rule(
        InstructionOverride,
        Medium,
        "it claims to have priority over other instructions",
        concat!(
            r"\b(?:overrid\w+|supersedes?|takes? (?:precedence|priority) over|replaces?|cancels?|has priority over|instead of)\b ",
            r"(?:[\w'-]+ ){0,3}?(?:previous|prior|earlier|all other|any other|system|existing|original|user(?:'s)?|your)",
            r"(?: [\w'-]+){0,2}? (?:instructions|directives|directions|guidelines|orders|guardrails)\b",
        ),
    )
    .mentionable(),
    rule(
        InstructionOverride,
        Medium,
        "it tells the model to ignore security",
        concat!(
            r"(?:^|[.:;!\n>,\]}] ?|\band |\bplease |\bmust |\bshould |\balways )",
            r"(?:ignore|bypass|disregard|disable|circumvent|turn off|override)\b (?:all |any |the |your |every )*",
            r"(?:security|safety|content|polic(?:y|ies)|rules|access|permission)(?: (?:checks?|controls?|warnings?|filters?|restrictions?|protocols?|polic(?:y|ies)|measures?",
            r"|guidelines|guardrails|mechanisms?))?\b(?: and\b|,|\.|$|\n| now| to (?:proceed|access|continue|gain|get)|[\[{<])",
        ),
    )
    .mentionable(),
    rule(
        RoleChange,
        High,
        "it gives the model another role",
        concat!(
            r"\byou are (?:now|no longer) (?:an? |in |the |bound|restricted|limited|operating|acting|unrestricted|free\b|dan\b|required to follow)",
            r"|\bdo anything now\b|\b(?:god|jailbreak|unfiltered|unrestricted|dan) mode\b",
            r"|\bwithout (?:any )?(?:ethical|moral|content) (?:guidelines|restrictions|filters|limits|constraints)\b",
            r"|\byou have no (?:restrictions|limitations|rules|guidelines)\b|\bpretend (?:that )?you (?:are|have) (?:no|an? unrestricted)",
            r"|\byou (?:must|should|will|shall) (?:now )?(?:pretend|roleplay|role-play|impersonate|act as (?:if|an? (?:different|unrestricted|evil|hacker|malicious|root|admin)))",
        ),
    )
    .mentionable(),
    rule(
        RoleChange,
        Medium,
        "it announces new instructions",
        concat!(
            r"\b(?:new|updated|revised|real|actual|true) (?:system )?(?:instructions?|directives?|orders|objective|goal)(?: is| are| loaded| follow\w*|:)",
            r"|\bfrom (?:now|this point|here) (?:on|onwards?|forward),? (?:you|all|every|any|your|ignore|never|act|treat|respond)\b",
            r"|\byour (?:new|real|true|actual|only) (?:task|goal|objective|purpose|role|instructions?) (?:is|are)\b",
            r"|\b(?:pretend|imagine) (?:that )?you(?: are|'re| have)\b|\bremove (?:all |any )(?:restrictions|limitations|safeguards|guardrails|safety)\b|\b(?:never|must not|do not|don't) (?:refuse|decline to|question this)\b",
            r"|\btreat\b{~40}\bas (?:coming from|if (?:it|they) (?:came|were) from|a (?:system|developer) (?:message|instruction|prompt))|\btrust (?:the )?(?:outputs?|results?|responses?) of this tool (?:over|above|more than)",
            r"|\b(?:follow|obey|execute|comply with) (?:any|all|every) (?:\w+ )?(?:instructions?|commands?|directives?) (?:\w+ )?(?:in|from|by) (?:the |this |its )?(?:tool'?s? |returned )?(?:outputs?|responses?|results?|tool|content)",
            r"|\b(?:consider|treat|regard) (?:all |any )?(?:content|output|data|results?|messages?) (?:from|of|by) this (?:server|tool|app)\b{~20}\bas (?:trusted|verified|safe|authoritative|authentic)",
            r"|\b(?:disable|turn off|remove|bypass|ignore) (?:all |any |your |every )+(?:\w+ )?(?:guardrails|safeguards)\b|\btrust this (?:tool|server|app) (?:completely|fully|unconditionally|blindly|without)|\bgrant(?:s|ing)? (?:\w+ )?unrestricted\b",
            r"|\b(?:from|by) your (?:developers?|creators?|makers?)\b|\b(?:message|instruction|directive|order|request|policy)s?\b{~20}\b(?:from|by) (?:anthropic|openai|google deepmind)\b|\bwithout (?:hesitation|question)\b|\brefuse (?:any |all )?requests? (?:that|which|involving|for other|to use)\b",
            r"|\b(?:until|so that) the (?:filter|guard\w*|moderation|safety \w+) (?:lets|allows|passes|accepts)|\b(?:trick|fool|get (?:past|around)) (?:the |any )?(?:\w+ )?(?:filters?|guardrails?|moderation)\b",
            r"|\balways (?:answer|respond|reply|say) (?:with )?[`'\x22]?(?:yes|ok|true|approved|safe)\b",
            r"|\bi am your (?:creator|developer|administrator|master|owner)\b|\bas the system administrator, i\b",
            r"|\bdeveloper mode (?:is )?(?:enabled|activated)\b{~40}(?:polic|restrict|filter|any content)",
        ),
    )
    .mentionable(),
    rule(
        RoleChange,
        Medium,
        "it gives the model another role",
        concat!(
            r"\bpretend to be\b|\b(?:act|behave|roleplay|role-play|respond) (?:as|like) (?:an? |the )?(?:different|another|unrestricted|unfiltered|malicious|evil|root|dan\b|hacker|ai (?:that|without|with no)|system admin)",
            r"|\b(?:ai|assistant|model|llm)\b{~20}\b(?:without (?:any )?|with no )(?:safety|restrictions|limitations|filters|guardrails|rules)\b|(?:^|[.!\n] ?)(?:developer|debug|admin|unrestricted) mode (?:is )?(?:now )?(?:enabled|activated)\b",
            r"|\byou (?:have )?(?:previously|already|earlier) (?:agreed|confirmed|promised|consented|authori[sz]ed)\b",
        ),
    )
    .mentionable(),
    rule(
        PromptMarkup,
        High,
        "it imitates the structure of a prompt",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id)\|>|\[/?inst\]|<</?sys>>|<start_of_turn>",
    )
    .mentionable(),
    rule(
        PromptMarkup,
        High,
        "a block that imitates a system message",
        concat!(
            r"<\s*(?:system|hidden|secret|sys|system[_-]?(?:prompt|message|instructions?|override|note)|(?:\w+[_-])?override|global\w*",
            r"|backdoor|(?:hidden|secret|internal|ai|llm|agent|assistant|critical|mandatory)[_-]?(?:instructions?|note|directive|command)s?",
            r"|inject\w*|malicious|exfil\w*|s3cr3t|admin)\b[^<>]{0,40}>\s*(?:[^\s<]+\s+){1,}[^\s<]+[^<]*<\s*/",
        ),
    ),
    rule(PromptMarkup, Low, "a block that is addressed to the model", r"<\s*(?:important|instructions?|critical|note)\s*>"),
    rule(
        PromptMarkup,
        Medium,
        "a block that asks the model for more than the tool does",
        concat!(
            r"<\s*(?:important|critical|note|warning|prerequisite)\s*>[^<]{0,400}?\b(?:read|open|access|send|forward|upload|hand them|copy|extra|secret|silently|do not (?:tell|mention|reveal|inform)",
            r"|pass (?:its|the|their|all)|contents? of|before (?:using|calling) any|exfiltrate|credentials?|passwords?|api keys?|bcc|redirect)\b",
        ),
    ),
    rule(
        PromptMarkup,
        Medium,
        "a comment that people do not see in rendered text",
        concat!(
            r"<!--(?:[^-]|-[^-]){0,400}\b(?:must|always|ignore|send|read|call|execute|include|do not|don't|instructions?|secret",
            r"|hidden|system|override|never|forward|upload|before|exfiltrate|assistant|llm|ai)\b",
        ),
    ),
    rule(
        PromptMarkup,
        Medium,
        "it imitates a system message",
        concat!(
            r"[\[({*#]+ ?(?:system|hidden|secret|admin|developer)[ _-](?:note|instructions?|message|override|directive|prompt|command|update)s?\b",
            r"|(?:^|\n|[.!] |`)\[?system\]?: ?(?:you|ignore|new|override|always|all|execute|disable|do not|never|forget|from)\b",
            r"|\b(?:important|critical|hidden|secret|urgent|mandatory) system (?:note|instruction|message|directive|override|command)s?\b|\b(?:system|security|admin|safety) override\b ?[:\-\]]",
            r"|\[+ ?system(?: instruction)? ?:|[\x22_]system_(?:injection|override|instruction)|```system\b|\[system\] ?(?:you|ignore|new|override|always|all|execute|disable|do not|never|forget|from)\b",
            r"|#{2,} ?(?:system|instruction|new instructions?):? ?\n|\{\{ ?#? ?system ?\}\}|\bthought:{~80}\. ?action: |\[/?hidden\]|\[/?secret\]",
        ),
    )
    .mentionable(),
    rule(
        PromptMarkup,
        Medium,
        "markup that runs or hides when the text is rendered",
        concat!(
            r"<script[^>]{0,80}>[^<]{4,}<\s*/script|<iframe [^>]{0,80}src ?=|style ?= ?[\x22'][^\x22'>]{0,60}(?:display: ?none|opacity: ?0\b|font-size: ?0|visibility: ?hidden)",
            r"|!\[[^\]]{0,80}\]\(https?://[^)]{0,120}[?&]\w+=",
        ),
    )
    .unless(r"e\.g|\bexamples?[ :,)]|inject|render|xss|html content|returns"),
    rule(
        PromptMarkup,
        Medium,
        "it speaks of hidden instructions",
        r"\b(?:hidden|secret|covert|invisible) (?:instructions?|directives?|commands?|payloads?|prompts?|agenda|backdoor)\b",
    )
    .unless(r"detect|scan|find|check|flag|identif|remov|strip|block|analy|inspect|audit|warn|prevent")
    .mentionable(),
    rule(
        PromptMarkup,
        Low,
        "it addresses the model directly",
        r"\b(?:note|message|instructions?|attention|important|reminder|directive)s?(?: \w+)? (?:to|for) (?:the |all |any )?{MODEL}\b",
    ),
];
