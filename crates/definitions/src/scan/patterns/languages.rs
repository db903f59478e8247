//! The two plainest rules, override and concealment, in other languages that models read well.

use crate::scan::{
    ScanRule::{Concealment, InstructionOverride},
    Severity::High,
    rules::TextRule,
};

const fn override_in(pattern: &'static str) -> TextRule {
    TextRule {
        rule: InstructionOverride,
        severity: High,
        reason: "it tells the model to drop other instructions",
        pattern,
        unless: None,
        mentionable: true,
    }
}

const fn concealment_in(pattern: &'static str) -> TextRule {
    TextRule {
        rule: Concealment,
        severity: High,
        reason: "it tells the model to keep something from the user",
        pattern,
        unless: None,
        mentionable: true,
    }
}

/// The rules for other languages.
pub(super) const LANGUAGE_RULES: &[TextRule] = &[
    // Spanish, Portuguese, Italian, French
    override_in(
        r"\b(?:ignora|ignore|olvida|descarta|omite)\S* (?:\S+ ){0,4}?(?:instrucciones|indicaciones|directrices)\b",
    ),
    override_in(
        r"\b(?:ignore|ignora|esque\S+a|desconsidere)\S* (?:\S+ ){0,4}?(?:instru\S+es|orienta\S+es|diretrizes)\b",
    ),
    override_in(r"\b(?:ignora|dimentica|trascura)\S* (?:\S+ ){0,4}?(?:istruzioni|direttive)\b"),
    override_in(
        r"\b(?:ignore[zr]?|oublie[zr]?|ne (?:tiens|tenez) pas compte)(?: \S+){0,5}? (?:instructions|consignes|directives) (?:pr\S+dentes|ant\S+rieures|ci-dessus|du syst\S+me)",
    ),
    // German, Dutch, Polish, Turkish, Russian
    override_in(
        r"\b(?:ignorier\S*|vergiss|vergessen sie|missachte\S*)(?: \S+){0,5}? (?:anweisungen|instruktionen|vorgaben|richtlinien|befehle)\b",
    ),
    override_in(r"\b(?:negeer|vergeet)(?: \S+){0,5}? (?:instructies|aanwijzingen|richtlijnen)\b"),
    override_in(r"\b(?:zignoruj|ignoruj|zapomnij)(?: \S+){0,5}? (?:instrukcj|polece|wytyczn)\S*"),
    override_in(r"(?:talimat|yönerge)\S*{~25}(?:yok say|görmezden gel|unut)"),
    override_in(
        r"(?:игнорируй|проигнорируй|забудь|не обращай внимания на)\S*(?: \S+){0,5}? (?:инструкци|указани|правил)\S*",
    ),
    // Chinese, Japanese, Korean, Arabic, Hindi
    override_in(
        r"(?:忽略|无视|無視|忘记|忘記|不要理会|不用理会)[^\n]{0,24}?(?:之前|以上|先前|所有|上述|前面|系统|一切|任何|此前|你的)[^\n]{0,24}?(?:指令|指示|提示|规则|規則|说明|命令)",
    ),
    override_in(
        r"(?:以前|これまで|上記|前|すべて|システム)[^\n]{0,24}?(?:指示|命令|プロンプト|ルール)[^\n]{0,18}?(?:無視|忘れ)",
    ),
    override_in(
        r"(?:이전|위의|모든|기존|시스템)[^\n]{0,24}?(?:지시|명령|프롬프트|규칙|지침)[^\n]{0,24}?(?:무시|잊)",
    ),
    override_in(r"(?:تجاهل|انس)[^\n]{0,60}?(?:التعليمات|الأوامر|الإرشادات)"),
    override_in(r"(?:निर्देश)[^\n]{0,60}?(?:अनदेखा|नज़रअंदाज|भूल)"),
    // Concealment
    concealment_in(
        r"\bno (?:se lo |le |lo )?(?:digas|informes|menciones|reveles|diga|informe|mencione|revele|cuentes)\b{~50}usuario",
    ),
    concealment_in(r"\bn\S+o (?:diga|informe|mencione|conte|revele|avise)\b{~50}usu\S+rio"),
    concealment_in(
        r"\bne (?:le )?(?:dis|dites|mentionne\S*|r\S+v\S+le\S*|informe\S*|pr\S+viens|pr\S+venez)\b{~50}utilisateur",
    ),
    concealment_in(
        r"\b(?:sage?|sagen sie|teile?|erwähne|informiere?|verrate|informieren sie)\b{~50}(?:benutzer|nutzer|anwender)\S*{~25}\b(?:nicht|nichts|niemals)\b",
    ),
    concealment_in(r"не (?:говори|сообщай|рассказывай|упоминай|уведомляй|раскрывай)\S*{~70}пользовател"),
    concealment_in(
        r"(?:不要|别|不得|切勿|千万不要|禁止)(?:告诉|告知|通知|提醒|透露给|让)[^\n]{0,9}?用户(?:知道|这|此|有关|关于|。|，|$)",
    ),
    concealment_in(r"ユーザー?に(?:は)?[^\n]{0,30}?(?:知らせない|伝えない|言わない|教えない|知られない)"),
    concealment_in(r"사용자에게[^\n]{0,40}?(?:말하지|알리지|언급하지)"),
];
