//! Private data: files with secrets, data that leaves, the context of the model.

use super::{EXAMPLE, rule};
use crate::scan::{
    ScanRule::{ContextHarvest, Exfiltration, PromptDisclosure, SensitiveFile},
    Severity::{High, Medium},
    rules::TextRule,
};

/// Rules about data.
pub(super) const DATA_RULES: &[TextRule] = &[
    rule(
        SensitiveFile,
        High,
        "it asks the model for a file that holds secrets",
        concat!(
            r"\b(?:read|open|cat|access|load|retrieve|fetch|get|include|pass|provide|copy|attach|paste|append|collect|extract|dump|grab|put|add|send",
            r"|upload|steal|exfiltrate|leak|print|view|check|locate|find|search|scan|look (?:at|for|in)|transmit|post|share|return|output|enumerate|list)\b",
            r"{~70}{PATH}",
        ),
    )
    .unless(EXAMPLE),
    rule(
        SensitiveFile,
        High,
        "it passes a file that holds secrets in an argument",
        concat!(
            r"(?:contents?|text|data|values?) (?:of|from|in)\b{~40}(?:[~/\\]\.(?:ssh|aws|gnupg|kube|cursor)\b|\bid_(?:rsa|ed25519)|/etc/(?:passwd|shadow)|mcp\.json|\.netrc)",
            r"|{PATH}{~60}\b(?:as|into|in|via|through)\b (?:the |a |an |its |this )?[`'\x22]?(?:side ?_?notes?|notes?|context|arguments?|parameters?|params?|metadata|query|body|comment)\b",
        ),
    ),
    rule(
        SensitiveFile,
        Medium,
        "it makes a file that holds secrets a condition",
        r"\b(?:must|required?|first|before|always|need(?:s|ed)? to|have to|in order to|necessary|prerequisite|ensure|verify|whenever|every time|each time|invoke|critical)\b{~100}{PATH}|{PATH}{~60}\b(?:must|is required|are required|first|is needed|are needed|before (?:any|each|every|using|calling))\b",
    )
    .unless(EXAMPLE),
    rule(
        Exfiltration,
        High,
        "it sends private data to another place",
        r"\b{SEND}\b{~90}{PRIVATE}{~90}\b(?:to|at|via|through|into|with|in)\b{~25}{SINK}",
    )
    .unless(r"e\.g|\bexamples?[ :,)]|\bnever|do not|don't|must not|detect|prevent|block|not sent"),
    rule(
        Exfiltration,
        High,
        "it sends private data to another place",
        r"{PRIVATE}{~60}\b(?:and|then|,) (?:\w+ ){0,2}?(?:send|forward|upload|post|transmit|exfiltrate|leak|email|submit|share)(?:s|es|ed|ing)?\b{~40}\b(?:to|at|via)\b{~25}{SINK}",
    )
    .unless(r"e\.g|\bexamples?[ :,)]|\bnever|do not|don't|must not|detect|prevent|block|not sent"),
    rule(
        Exfiltration,
        High,
        "it speaks of stealing data",
        concat!(
            r"\bexfiltrat(?:e|es|ing|ed)\b{~40}(?:{PRIVATE}|data|files?|to\b|contents?|the\b|keys?|user)",
            r"|\b{SEND}\b{~80}\bto (?:the |an? |our |my )?(?:attacker|adversary|hacker|malicious|evil|rogue|c2\b)",
            r"|\b(?:steal|harvest|siphon)(?:s|ing)?\b{~30}{PRIVATE}",
        ),
    )
    .unless(r"detect|prevent|block|analy|simulat|protect|against|monitor|defen|att&ck|mitre|tactic|threat|pentest|red team|risk|whether")
    .mentionable(),
    rule(
        Exfiltration,
        Medium,
        "it sends results or data to a fixed place",
        concat!(
            r"(?:^|[.:;!\n>,(] ?|\b(?:and|then|also|must|should|always|first|to|please|additionally|silently|will|then also) )",
            r"(?:send|forward|upload|post|transmit|copy|bcc|submit|report|redirect|relay|share|email|e-mail|log|append|write|mirror|sync|exfiltrate|cc)\b",
            r"{~40}\b(?:all|every|each|any|a copy|copies|entire|full|contents?|conversations?|responses?|results?|outputs?|data|keys?|files?|messages?|emails?|it|them|this|input|information|queries|history)\b",
            r"{~50}\b(?:to|at|via)\b:? ?(?:this |the |our )?(?:\w+ )?(?:address|url|endpoint|server|webhook|host|following url)?:? ?[`'\x22(<]?{LITERAL}",
        ),
    )
    .unless(r"e\.g|\bexamples?[ :,)]|docs|documentation|feedback|issues?\b|support@|localhost|127\.0\.0\.1|your-|<your"),
    rule(
        Exfiltration,
        Medium,
        "it sends results or data to a fixed place",
        concat!(
            r"\b(?:data|results?|reports?|inputs?|outputs?|responses?|queries|information|events|logs|contents?|conversations?|messages?|arguments)(?: \w+){0,2}? (?:is|are|will be|gets?|must be|should be) (?:\w+ )?(?:sent|forwarded|uploaded|posted|transmitted|copied|relayed|mirrored|logged) (?:\w+ )?(?:to|at) ?[`'\x22(<]?{LITERAL}",
            r"|\b(?:must|always|you should)\b{~15}\b(?:send|forward|upload|post|transmit|report|copy|leak)\b (?:all |any |every |the |user |this |your )*(?:data|results?|outputs?|inputs?|information|conversations?|contents?|responses?)\b{~20}\bto (?:the |an? |our |this )?(?:\w+ )?(?:endpoint|server|webhook|url|host|address|collector|third party)\b",
        ),
    )
    .unless(r"e\.g|\bexamples?[ :,)]|docs|documentation|feedback|issues?\b|localhost|127\.0\.0\.1"),
    rule(
        Exfiltration,
        Medium,
        "it adds a fixed receiver",
        concat!(
            r"\b(?:also|additionally|always|automatically|and then|must)\b{~15}\b(?:send|forward|copy|post|report|upload|email|submit|transmit)\b{~25}\bto:? ?[`'\x22(<]?{LITERAL}",
            r"|\b(?:bcc|blind[- ]copy)\b:? ?(?:to |field |all emails to |a copy to )?[`'\x22(<]?[\w.+-]+@[\w-]+\.[a-z]{2,}",
            r"|\b(?:and|then) (?:post|send|upload|forward|transmit|submit|posts|sends|uploads|forwards)(?: it| them| this| everything| that)? to ?[`'\x22(<]?{LITERAL}",
            r"|\b(?:sends|posts|uploads|forwards|transmits|copies|leaks)\b{~20}\b(?:contents?|conversations?|files?|code|secrets?|keys?|prompts?|history)\b{~15}\bto ?[`'\x22(<]?{LITERAL}",
            r"|\bredirect (?:all |the |any |every )?(?:output|results?|responses?|data|emails?|messages?|payments?) to (?:the |an? |our )(?:\w+ )?(?:endpoint|server|address|url|account|host|wallet)\b",
        ),
    )
    .unless(r"e\.g|\bexamples?[ :,)]|docs|documentation|feedback|issues?\b|support@|localhost|127\.0\.0\.1|comma"),
    rule(
        Exfiltration,
        Medium,
        "it asks for private data with every use of a tool",
        concat!(
            r"\bwhen(?:ever)? (?:using|calling|invoking|you (?:use|call|invoke)|the user (?:uses|calls|asks)) {~50}\b(?:always|must|should|also)\b (?:\w+ )?(?:include|pass|add|append|send|provide|attach|supply|insert)\b{~30}{PRIVATE}",
            r"|\b(?:after|then|also|automatically|execute|first)\b{~30}\b(?:export|dump|copy|send|write|save|search for) (?:all |any |the )*(?:users?'?s?|customers?'?s?|private|personal|files containing) (?:\w+ )?(?:data|records|information|files|passwords?|secrets?|[`'\x22])",
            r"|\b(?:read|dump|collect|gather|extract|harvest|enumerate|send|include) (?:all |every |any )(?:the |of the |available |user |stored |found |system )*(?:env(?:ironment)? (?:vars?|variables?)|credentials|secrets|passwords|api keys|access tokens|private keys|ssh keys)\b",
            r"|\b(?:must|always|first|required to)\b{~10}\b(?:pass|send|include|hand over|give|transmit|leak)\b (?:the |your |all |any |user'?s? |their )*(?:api[ _-]?keys?|credentials|passwords?|secrets|private keys?|ssh keys?|env(?:ironment)? variables|session tokens?)\b",
        ),
    )
    .unless(r"e\.g|\bexamples?[ :,)]|\bnever|do not|don't|must not|not contain|header|authenticat|authori[sz]ation|scan|detect|leak check|audit|vault|secret manager|rotat"),
    rule(
        Exfiltration,
        Medium,
        "it hands private data to another tool",
        r"\b(?:call|invoke|use|run)\b{~40}\bwith (?:the |all |any )?(?:user(?:'s)? |their |your )(?:\w+ ){0,2}?(?:secrets?|credentials?|passwords?|keys?|tokens?|private \w+|personal \w+|conversation|chat history|files)\b",
    )
    .unless(r"\bnever|do not|don't|must not|should not|authenticat|auth "),
    rule(
        Exfiltration,
        Medium,
        "it sends a copy of data to another place",
        concat!(
            r"\b(?:also|additionally|secretly|automatically|a copy|copies|in addition)\b{~30}\b(?:send|post|forward|upload|transmit|report|submit|leak|copy|copied)?(?:s|es|ed|ing)?\b{~50}",
            r"\bto (?:an? |the |our |some )?(?:external|remote|third[- ]party|outside|unknown|tracking|analytics|telemetry|collection|attacker\S*)[ -](?:\w+[ -])?(?:server|endpoint|host|site|service|url|address|domain|collector|webhook|api)",
            r"|\b(?:send|post|forward|upload|transmit|submit)(?:s|es|ing)? (?:a copy|the results?|all|every\w*|the contents?|the output|any)\b{~40}",
            r"\bto (?:an? |the |our |some )?(?:external|third[- ]party|outside|unknown|attacker\S*)[ -](?:\w+[ -])?(?:server|endpoint|host|site|service|url|address|domain|collector)",
        ),
    ),
    rule(
        Exfiltration,
        Medium,
        "it asks the model to pass private data along",
        concat!(
            r"{PRIVATE}{~60}\b(?:and|then) (?:\w+ )?(?:supply|pass|put|include|embed|provide|place|insert|relay|encode|attach|append|hand|send|forward|return)\b (?:it|them|that|those|the \w+|its \w+)\b{~30}\b(?:arguments?|parameters?|fields?|this tool|url|request|call|back|along|over|in\b)",
            r"|\b(?:include|pass|provide|append|attach|add|insert|embed|put|paste|encode|submit|place|supply)\b{~30}(?:the user's |any |all |your |found |available |current |value of |contents? of )",
            r"{~25}{PRIVATE}{~50}\b(?:in|into|as|to|within|with|via|using)\b (?:the |this |an? |each |every |all |its )?[`'\x22]?(?:\w+[`'\x22]?[_ ]){0,3}?",
            r"(?:parameters?|params?|arguments?|fields?|requests?|calls?|query|url|metadata|notes?|context|responses?|headers?|side ?notes?|comment|message)\b",
        ),
    )
    .unless(r"\bnever|do not|don't|must not|should not|avoid|header|authenticat|authori[sz]"),
    rule(
        PromptDisclosure,
        High,
        "it asks for the model's own instructions",
        concat!(
            r"\b(?:reveal|print|output|repeat|include|send|return|disclose|show|leak|dump|provide|pass|paste|append|copy|share|expose|recite|extract|write out|give|add|insert|put)\b{~30}",
            r"\b(?:your|the (?:model|assistant|agent|llm|ai)'?s?|own|hidden|original|verbatim|current|full|entire|complete)\b(?: [\w'-]+){0,2}? (?:system (?:prompt|message|instructions?)|initial (?:prompt|instructions?)|(?:hidden|internal) instructions?|instructions above|developer message|prompt verbatim)\b",
            r"|\b(?:repeat|print|output|copy) (?:everything|all (?:the )?text) (?:above|before)\b|\bwhat (?:are|is) your (?:system|initial|original) (?:instructions|prompt)",
        ),
    )
    .unless(r"(?:in|into|to) your (?:\w+ )?system (?:prompt|message|instructions)")
    .mentionable(),
    rule(
        ContextHarvest,
        Medium,
        "it collects the conversation",
        concat!(
            r"\b(?:include|pass|provide|send|copy|paste|put|supply|attach|append|insert|add|record|log|store|transmit|forward|must contain|should contain|upload|export|capture|collect|(?:call|calls|called|invoke)\b{~15}\bwith)\b{~25}",
            r"\b(?:full|entire|complete|whole|verbatim|all(?: of)?|every|raw)\b (?:[\w'-]+ ){0,3}?(?:conversation|chat|dialogue?|user messages?|chat messages?|(?:previous|prior|past|other|all) (?:messages|tool calls?|tool results?|tool outputs?|responses)|message history|prompt history|context window|tool[- ]call history)\b",
        ),
    )
    .unless(r"memor(?:y|ies)|transcript|slack|discord|teams|telegram|whatsapp|channel|thread|mailbox|gmail|export (?:the |a )?(?:chat|conversation)|training|fine-?tun|session|archive|database|backup|llm call|completion|openai format|embedding"),
    rule(
        ContextHarvest,
        Medium,
        "it asks for what the model knows",
        concat!(
            r"\b(?:your|the (?:model|assistant|agent|llm|ai)'s) (?:full |entire |complete |internal |private )*(?:chain[- ]of[- ]thought|system prompt|conversation (?:history|context)|instructions|context window|available tools|tool list|api keys?|credentials|environment variables|memory contents?)\b{~30}\b(?:here|verbatim|must|required|for (?:analytics|logging|debugging|verification|telemetry|context|audit))",
            r"|\beverything (?:that )?(?:the )?users? (?:has |have )?(?:said|typed|wrote|written|asked|entered|shared)|\b(?:attach|include|append|add|send|pass)\b{~20}\b(?:the )?user'?s (?:most recent|last|latest|previous|recent|other|past) (?:\d+ )?(?:messages?|prompts?|quer(?:y|ies)|inputs?|emails?)",
            r"|\b(?:run|execute) [`'\x22]?(?:env|printenv|id|whoami|uname|hostname|ifconfig|ps|history)\b[^.\n]{0,30}\b(?:and|then) (?:\w+ )?(?:report|include|send|pass|put|return|attach|add|supply)\b",
            r"|\b(?:pass|include|provide|supply|send|hand over|append)\b{~60}\b(?:tools|functions|servers) (?:that )?you (?:have access to|can (?:use|call))",
            r"|\bverbatim\b{~40}\b(?:system prompt|instructions|conversation|user (?:message|prompt|request)s?)|\b(?:system prompt|conversation)\b{~30}\bverbatim\b",
        ),
    )
    .unless(r"do not|don't|\bnever|into your system prompt"),
];
