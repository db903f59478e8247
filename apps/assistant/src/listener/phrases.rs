//! Phrases that need no model: stop, forget, thank you. An utterance must be exactly such a phrase; a sentence that only
//! contains one is a question. What a yes or no is, `toolyard_spoken_answer` decides.

use super::normalized;

/// The meaning of a whole utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhraseMeaning {
    /// Never mind; stop.
    Cancel,
    /// Forget what we talked about.
    Forget,
    /// Thank you; no further question.
    Thanks,
}

const CANCEL: &[&str] = &[
    "never mind",
    "nevermind",
    "cancel",
    "cancel that",
    "stop",
    "stop it",
    "stop talking",
    "be quiet",
    "quiet",
    "shut up",
    "forget it",
    "dismiss",
    "vergiss es",
    "abbrechen",
    "abbruch",
    "halt",
    "stopp",
    "hör auf",
    "sei still",
    "ruhe",
    "egal",
    "schon gut",
    "laisse tomber",
    "annule",
    "annuler",
    "arrête",
    "arrête toi",
    "tais toi",
    "silence",
    "olvídalo",
    "cancela",
    "cancelar",
    "para",
    "déjalo",
    "silencio",
    "cállate",
    "basta",
    "annulla",
    "lascia stare",
    "fermati",
    "deixa pra lá",
    "cancele",
    "pare",
    "laat maar",
    "stop maar",
    "annuleren",
    "やめて",
    "キャンセル",
    "取消",
    "停",
];
const FORGET: &[&str] = &[
    "forget",
    "forget everything",
    "forget our conversation",
    "forget this conversation",
    "forget the conversation",
    "forget what i said",
    "forget what we talked about",
    "clear the history",
    "clear my history",
    "delete my history",
    "delete the history",
    "vergiss alles",
    "vergiss unser gespräch",
    "vergiss das gespräch",
    "lösche den verlauf",
    "lösche meinen verlauf",
    "oublie tout",
    "oublie notre conversation",
    "efface l'historique",
    "efface mon historique",
    "olvida todo",
    "olvídalo todo",
    "olvida nuestra conversación",
    "borra el historial",
    "borra mi historial",
    "dimentica tutto",
    "esqueça tudo",
    "vergeet alles",
];
const THANKS: &[&str] = &[
    "thanks",
    "thank you",
    "thank you very much",
    "ok thanks",
    "okay thanks",
    "okay great thanks",
    "okay thank you",
    "thanks a lot",
    "great",
    "great thanks",
    "cool",
    "got it",
    "all right",
    "alright",
    "i see",
    "good",
    "perfect",
    "hm",
    "hmm",
    "mhm",
    "uh huh",
    "danke",
    "danke schön",
    "dankeschön",
    "vielen dank",
    "super",
    "super danke",
    "alles klar",
    "gut",
    "prima",
    "aha",
    "merci",
    "merci beaucoup",
    "super merci",
    "parfait",
    "très bien",
    "gracias",
    "muchas gracias",
    "perfecto",
    "genial",
    "muy bien",
    "grazie",
    "obrigado",
    "obrigada",
    "dank je",
    "ありがとう",
    "谢谢",
];

/// The meaning of an utterance, if it is one of these phrases.
pub fn phrase_meaning(text: &str) -> Option<PhraseMeaning> {
    let said = normalized::comparison_key(text);
    if said.is_empty() {
        return None;
    }
    let among = |list: &[&str]| list.iter().any(|phrase| normalized::comparison_key(phrase) == said);
    let lists =
        [(CANCEL, PhraseMeaning::Cancel), (FORGET, PhraseMeaning::Forget), (THANKS, PhraseMeaning::Thanks)];
    lists.into_iter().find(|(list, _)| among(list)).map(|(_, meaning)| meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_utterances_in_several_languages() {
        for (text, means) in [
            ("Never mind.", Some(PhraseMeaning::Cancel)),
            ("Vergiss es!", Some(PhraseMeaning::Cancel)),
            ("Hör auf", Some(PhraseMeaning::Cancel)),
            ("Arrête", Some(PhraseMeaning::Cancel)),
            ("Oublie tout", Some(PhraseMeaning::Forget)),
            ("Forget our conversation.", Some(PhraseMeaning::Forget)),
            ("Merci beaucoup", Some(PhraseMeaning::Thanks)),
            ("yes", None),
            ("stop the timer", None),
            ("", None),
            ("forget the milk", None),
        ] {
            assert_eq!(phrase_meaning(text), means, "{text}");
        }
    }
}
