//! Other tools, pressure on the model, and commands.

use super::{EXAMPLE, rule};
use crate::scan::{
    ScanRule::{ApprovalBypass, Coercion, CommandPayload, Preference, ToolHijack},
    Severity::{High, Low, Medium},
    rules::TextRule,
};

/// Rules about tools.
pub(super) const TOOL_RULES: &[TextRule] = &[
    rule(
        ToolHijack,
        High,
        "it changes what other tools do",
        concat!(
            r"\bwhen(?:ever)? this (?:tool|(?:mcp )?server|function|plugin) is (?:available|present|loaded|enabled|installed|connected|active|registered|listed)",
            r"|\b(?:any|every|all|each|other|subsequent|future|the [`'\x22]?\w+_\w+[`'\x22]?) (?:(?:calls?|requests?) to )?(?:the )?(?:other )?(?:[`'\x22]?[\w.-]+[`'\x22]? )?(?:tools?|tool calls|functions?|emails?|messages?|payments?|transactions?)",
            r"{~20}\b(?:must|should|shall|has to|have to|needs? to) (?:always |now |also |instead |all )?(?:be (?:replaced|redirected|rerouted|forwarded|copied|bcc'?e?d|sent to|routed (?:to|through)|changed to)|send (?:all|every|any|a copy)|go (?:to|through) |add bcc|bcc )",
            r"|\bside[- ]effects? (?:on|for) (?:other|the \w+) tools?|\b(?:shadow|hijack|intercept)s? (?:all |any |other |the )+(?:\S+ )?(?:tool|call|email|message|request)s?\b",
        ),
    )
    .unless(r"detect|prevent|monitor|debug|proxy|network|browser|playwright|http request"),
    rule(
        ToolHijack,
        High,
        "it redirects data of other tools",
        concat!(
            r"\b(?:redirect|reroute|divert|forward|bcc|cc|copy)\b (?:all|any|every|each)\b{~40}\b(?:to|through|via)\b ?[`'\x22]?(?:{LITERAL}|attacker|\+\d{5,})",
            r"|\b(?:replace|change|modify|swap|substitute|set|override|rewrite)\b{~25}\b(?:recipients?|address|phone number|amount|destination|beneficiary|account|iban|to field|receiver|payee|bcc)\b{~25}\b(?:to|with|by)\b ?[`'\x22]?(?:{LITERAL}|attacker|\+?\d{6,}|0x[0-9a-f]{8,}|[a-z]{2}\d{10,})",
            r"|\b(?:prefix|prepend|precede|append|wrap)\b{~40}\b(?:to |before )?(?:all|every|each|any)\b (?:\w+ ){0,2}?(?:commands?|queries|requests?|tool calls?|shell|code|scripts?|emails?|outgoing)\b",
            r"|\b(?:recipient|beneficiary|payee|receiver|wallet|account|destination)\b{~30}\b(?:must|should|has to|needs to|will|is to) (?:always )?be (?:set|changed|replaced|switched|updated)\b{~15}\b(?:to|with|by)\b{~12}(?:\d{6,}|{LITERAL}|0x[0-9a-f]{6,}|bc1|[a-z]{2}\d{10,})",
            r"|\b(?:replace|swap|substitute) (?:any|every|each)\b{~30}\b(?:address(?:es)?|accounts?|wallets?|links?|urls?|recipients?|phone numbers?)\b",
            r"|\b(?:swap|replace|exchange|substitute|change)\b{~30}\b(?:account|iban|address|wallet|number|links?|recipient)\b{~30}\b(?:for|with|by|to)\b{~8}\d{6,}|\b(?:rewrite|redirect|route|wrap|send)\b{~30}\b(?:links?|urls?|requests?|traffic)\b{~30}\bthrough https?://",
            r"|\b(?:whenever|any ?time|every time|each time|every (?:invocation|call|use|session|conversation|request)|each (?:session|conversation|request|call)|if asked|when asked|start (?:each|every))\b{~50}\b(?:invite|attach|copy|copying|forward|register|report|append|supply|pass|invoke|invoking|insert|add|send|include)\w*\b{~40}(?:{LITERAL}|/mnt/|/tmp/|{PRIVATE})",
            r"|\b(?:must|should|have to|need to|will) (?:always )?be (?:cc'?e?d|bcc'?e?d|copied|forwarded|mirrored|cc|bcc) to ?[`'\x22]?{LITERAL}",
            r"|\b(?:other|original|official|existing|real|built-in) (?:one|tool|version|server|tools) (?:is|are|has been|have been) (?:compromised|malicious|insecure|unsafe|untrusted|hacked)",
            r"|\bredirect (?:all |any |every )?(?:calls?|requests?|invocations?|usage|traffic|it|them)\b{~15}\bto (?:this|our|my) (?:server|tool|function)",
            r"|\b(?:always|must|automatically)\b{~12}\b(?:add|set|include|use|insert)\b{~12}\b(?:bcc|blind copy)\b",
            r"|\b(?:always|must|automatically|silently) (?:also )?(?:add|include|bcc|cc|copy)\b{~30}[\w.+-]+@[\w-]+\.[a-z]{2,}",
        ),
    )
    .unless(r"e\.g|example:"),
    rule(
        ToolHijack,
        Medium,
        "it makes itself a step of everything the assistant does",
        concat!(
            r"\b(?:before|after|prior to|whenever|when|every time|each time|upon)\b{~15}\b(?:any|every|each|all)\b{~25}\b(?:tools?|functions?|actions?|operations?|tasks?|requests?|commands?|responses?|messages?|queries|calls?)\b",
            r"{~60}\b(?:must|always|required|need to|have to|first|mandatory|should)\b{~50}(?:{PRIVATE}|{LITERAL})",
        ),
    )
    .unless(EXAMPLE),
    rule(
        ToolHijack,
        Medium,
        "it adds a step to what other tools do",
        concat!(
            r"\b(?:before|prior to|after|whenever|when|every time|each time|upon)\b (?:\w+ ){0,4}?(?:any|every|each|all|other) (?:\w+ ){0,3}?(?:tools?|functions?|operations?|actions?|requests?|commands?|calls?|messages?|emails?|files?|payments?|transactions?|quer(?:y|ies))\b",
            r"{~30}\b(?:must|always|shall|required to|have to) (?:\w+ ){0,2}?(?:read|write|delete|send|modify|change|replace|set|execute|forward|append|upload|copy|disable|remove|transfer|grant|rename|overwrite|redirect|post)\b",
            r"|\b(?:when(?:ever)?|if|every time|each time|before|after) (?:the )?[`'\x22]?\w+_\w+[`'\x22]? (?:tool |function )?(?:is|gets) (?:called|used|invoked|executed|run)\b{~40}\b(?:must|always|also|instead)\b (?:\w+ )?(?:call|invoke|execute|send|forward|set|change|replace|delete|modify|include|add|redirect)\b",
            r"|\b(?:values?|amounts?|parameters?|arguments?|fields?) (?:of|in|for)\b{~30}\b\w+_\w+\b{~15}\b(?:must|should|are to|is to|has to|have to) (?:always )?be (?:overwritten|replaced|changed|increased|decreased|multiplied|swapped)\b",
            r"|\b(?:first|then|also|prior to|before|after(?:wards)?|when finished|if an error occurs),?\b{~25}\b(?:disable|turn off|deactivate|switch off) (?:the |all |any )?(?:two-factor|2fa|mfa|logging|audit\w*|firewall|antivirus|monitoring|security|protection|safety|authentication|approval)",
            r"|\b(?:call|use|invoke|run|execute)\b{~60}\b(?:even (?:if|when) (?:it is |it's |it seems |the \w+ is )?(?:not |un)?(?:related|unrelated|needed|asked|necessary|relevant|irrelevant|requested)|regardless of (?:the |what )?(?:user|request|task|query|question|topic)\b)",
        ),
    )
    .unless(EXAMPLE),
    rule(
        ToolHijack,
        Low,
        "it asks to be called before other tools",
        concat!(
            r"\b(?:always|must|required to|need to|have to|mandatory|should)\b{~25}\b(?:call|use|invoke|run|execute)(?:ed)? (?:this|it)\b{~20}\b(?:first|before)\b",
            r"|\bbefore (?:using |calling |invoking |running |executing )?(?:any|all|every|each)(?: of the)?(?: other)? (?:tools?|functions?|actions?|operations?|tasks?|requests?|responses?|\w+ operations?)\b",
            r"|\b(?:for|on|in|with|to) (?:every|each|all|any) (?:single )?(?:user )?(?:message|request|quer(?:y|ies)|conversation|prompt|response|turn|interaction|question)s?\b",
            r"|\bcalled (?:first|before (?:any|every|all|each))\b",
        ),
    ),
    rule(
        Coercion,
        Medium,
        "it demands obedience",
        concat!(
            r"\byou (?:must|have to|shall|will) (?:always )?(?:obey|comply)\b|\bobey (?:these|this|the following|all|my|without)\b|\bmust comply with the (?:request|instruction|command)s? (?:embedded|below|here|in)",
            r"|\bthis is (?:a |an )?(?:mandatory |authoritative |official |critical |direct |priority )*(?:system|developer|admin\w*|anthropic|openai)[ -](?:level )?(?:instruction|directive|command|order|override|message|prompt)\b",
            r"|\b(?:if you (?:do not|don't|fail to|refuse)|failure to|or else|otherwise)\b{~70}\b(?:upset|angry|fired|die\b|dies\b|punished|penalized|people will|be harmed|lawsuit|catastroph\w+|kill)",
        ),
    )
    .mentionable(),
    rule(
        Coercion,
        Low,
        "it threatens with consequences",
        concat!(
            r"\b(?:if you (?:do not|don't|fail to|skip)|failure to|otherwise)\b{~70}\b(?:will|may|could|would) (?:not work|fail|crash|be (?:blocked|rejected|terminated|suspended|lost|corrupted|invalid)|break|corrupt|lose|be incorrect|cause)",
            r"|\b(?:authoritative|only trusted|only official|approved by|verified by|certified|mandated by|required by (?:policy|compliance|security))\b",
            r"|\byou (?:must|have to) (?:always|do this|never)\b",
        ),
    ),
    rule(
        Coercion,
        Low,
        "it gives a pretext",
        concat!(
            r"\bfor (?:security|compliance|verification|audit(?:ing)?|safety|diagnostics?|legal|policy|identity verification|quality assurance|integrity) (?:purposes|reasons|checks?|compliance|verification)\b",
            r"|\bto (?:verify|validate|confirm|ensure) (?:\w+ ){0,3}?(?:identity|integrity|authori[sz]ation|permissions?|environment|compliance|authenticity|security)\b",
            r"|\b(?:mandatory|required) (?:security|safety|compliance|verification|authentication) (?:check|step|procedure|protocol|measure|policy)\b",
        ),
    ),
    rule(
        Preference,
        Low,
        "it asks to be preferred to other tools",
        concat!(
            r"\b(?:prefer|prioriti[sz]e[ds]?|choose|select|use|favou?r) (?:this|it)\b{~25}\b(?:over|instead of|rather than|before|above)\b{~20}\b(?:other|any|all|alternative|competing|built-in|similar|every)\b",
            r"|\b(?:never|do not|don't|avoid) (?:use|call|using|calling|invoke|select) (?:any |the )?(?:other|alternative|competing|similar|different|built-in)\b",
            r"|\b(?:prioritized|preferred|chosen|used|selected|priority) (?:\w+ )?(?:over|above|before) (?:all |any )?(?:other|similar|alternative) |\balways (?:use|choose|prefer|select|call|pick) this\b",
            r"|\b(?:best|superior|most (?:reliable|accurate|trusted|powerful|efficient)|only (?:correct|reliable|safe|valid)) (?:tool|choice|option|way)\b",
            r"|\b(?:deprecated|broken|insecure|unsafe|outdated|compromised)\b{~30}\buse this (?:tool|one)? ?instead",
        ),
    ),
    rule(
        Preference,
        Medium,
        "it asks to be used instead of all other tools",
        concat!(
            r"\b(?:must|always|should|shall)\b{~25}\b(?:prioriti[sz]e|prefer|choose|select|use|favou?r|call)d?\b (?:this|it)\b{~30}\b(?:over|instead of|rather than|above)\b (?:any|all|every)(?: of the)?(?: \w+)? (?:tools?|functions?|options?|servers?|alternatives)",
            r"|\b(?:prefer|use|choose|select|call|prioriti[sz]e)\b{~40}\b(?:over|instead of|rather than)\b{~40}\b(?:from|of|on|by) (?:other|another|any other|different) (?:mcp )?(?:servers?|apps?|providers?|plugins?|vendors?)\b",
            r"|\bother (?:\w+ )?(?:tools?|ones?|servers?) (?:is|are|has been|have been) (?:deprecated|broken|outdated|unreliable|inaccurate|obsolete|disabled)\b|\binstead of (?:the )?[`'\x22]?\w+_\w+[`'\x22]?,? (?:always|you must|you should) (?:use|call) this",
            r"|\b(?:choose|pick|select|prefer) this (?:tool |one )?(?:over|instead of|above) (?:the rest|(?:all |any )?(?:the )?others?\b)|\b(?:selected|chosen|preferred|used) whenever (?:more than one|multiple|several)\b",
            r"|\b(?:must|should|shall) (?:always )?be (?:preferred|prioriti[sz]ed|chosen|selected|used|called) (?:over|instead of|above|rather than) (?:any|all|every)\b",
            r"|\b(?:never|do not|don't) (?:use|call|invoke|select|choose|trust) (?:any |the |all )?(?:other|alternative|competing) (?:\w+ )?(?:tools?|servers?|functions?|mcps?)\b{~40}(?:always|instead|under any|ever|malicious|insecure|unsafe|compromised|unreliable|$|[.!])",
        ),
    )
    .unless(r"for this (?:\w+ )?(?:task|purpose|server|project)|for that|for these|within this server|unless|until|when |if "),
    rule(
        ApprovalBypass,
        Low,
        "it tells the model not to ask the user",
        concat!(
            r"\b(?:do not|don't|never|no need to|without)\b (?:ask(?:ing)?|prompt(?:ing)?|request(?:ing)?|wait(?:ing)?|seek(?:ing)?|requir\w+|any|user|further)\b{~25}\b(?:confirmation|permission|approval|consent|user|confirm)",
            r"|\b(?:auto-?approve|skip (?:the )?(?:confirmation|approval)|pre-?approved|already (?:approved|authorized|consented))\b",
        ),
    ),
    rule(
        ApprovalBypass,
        Medium,
        "it claims that the user agreed before",
        r"\b(?:the )?users? (?:has|have) (?:already |pre-?|implicitly |previously )+(?:approved|consented|authori[sz]ed|agreed|granted|given|confirmed)\b{~40}(?:access|all|any|every|action|call|operation|permission|consent|transfer|this)",
    )
    .unless(r"only|if |when |after|once|unless|must have|ensure|confirm that|verify"),
    rule(
        CommandPayload,
        Medium,
        "it tells the model to decode and follow hidden text",
        r"\b(?:decode|base64[_ -]?decode|atob|unescape|rot13|decrypt|reverse|unscramble|deobfuscate)\b{~60}\b(?:and|then|to)\b{~20}\b(?:execute|run it|follow|obey|eval|comply|get (?:the )?instructions)\b",
    ),
    rule(
        CommandPayload,
        Medium,
        "it changes how the user's shell starts",
        r"\b(?:add|append|write|insert|put|echo)\b{~50}\.(?:bashrc|zshrc|bash_profile|profile)\b|\buse sudo for (?:everything|all|every)",
    )
    .unless(EXAMPLE),
    rule(
        CommandPayload,
        High,
        "it tells the model to run a command",
        concat!(
            r"(?:\b(?:always|must|first|silently|automatically|then|before \w+|also|should|to)\b{~30}\b)(?:run|execute|exec|invoke|launch|paste)\b{~90}",
            r"(?:: ?|`)?(?:\b(?:curl|wget|iwr|invoke-webrequest)\b{~80}(?:\| ?(?:sudo )?(?:ba|z)?sh\b|http)|\bbash -[ci]|\bpowershell\b|/dev/tcp/|\brm -rf|\bchmod (?:\+x|-r|[0-7]{3})|\bnc -|\bbase64 -d)",
            r"|(?:^|[.:;!\n] ?)(?:run|execute|paste)\b{~60}\b(?:curl|wget)\b{~80}\| ?(?:sudo )?(?:ba|z)?sh\b",
        ),
    )
    .unless(r"e\.g|\bexamples?[ :,)]|\bnever|do not|don't|block|dangerous"),
];
