//! The assistant's own sentences in every language that it supports. Text of the model is not here.

use toolyard_agent::model::ModelErrorKind;

/// A language of the assistant's own sentences. A model can answer in many more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SpokenLanguage {
    /// English, the default for languages that are not supported.
    #[default]
    English,
    /// German
    German,
    /// French
    French,
    /// Spanish
    Spanish,
}

impl SpokenLanguage {
    /// All languages, in the order of the table columns.
    pub const ALL: [Self; 4] = [Self::English, Self::German, Self::French, Self::Spanish];

    /// The language of a tag such as `de` or `de-AT`.
    pub fn from_tag(tag: &str) -> Self {
        match primary_subtag(tag).as_str() {
            "de" => Self::German,
            "fr" => Self::French,
            "es" => Self::Spanish,
            _ => Self::English,
        }
    }

    fn table_column(self) -> usize {
        match self {
            Self::English => 0,
            Self::German => 1,
            Self::French => 2,
            Self::Spanish => 3,
        }
    }
}

/// The primary subtag of a language tag, in lower case: `de` of `de-AT`.
pub fn primary_subtag(tag: &str) -> String {
    tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase()
}

/// A sentence of the assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalizedMessage<'a> {
    /// It takes longer.
    OneMoment,
    /// It takes longer because a tool of an app is called.
    Asking(&'a str),
    /// The assistant waits for a question.
    Listening,
    /// The approval question for a tool call, answered by voice.
    MayI(AskedCall<'a>),
    /// The approval question for a tool call of high risk: yes is a press of the button.
    MayIByButton(AskedCall<'a>),
    /// The approval question, again, because the answer was unclear.
    NotUnderstood(&'a str),
    /// The approval question of high risk, again, because speech is not enough.
    SpeechNotEnough(&'a str),
    /// There was no clear answer to the approval question; it stays open elsewhere.
    AnswerLater(AskedCall<'a>),
    /// The approval question cannot be answered with these glasses.
    AnswerElsewhere(AskedCall<'a>),
    /// The user has to sign in at the service behind an app; the assistant waits for it.
    SignInFirst(&'a str),
    /// The user has not signed in yet.
    SignInLater(&'a str),
    /// The conversation was deleted.
    Forgotten,
    /// Suggested follow-ups.
    YouCanSay(&'a str),
    /// An app does not respond.
    AppDown(&'a str),
    /// A tool failed.
    ToolFailed {
        /// The app's name.
        app: &'a str,
        /// The reason.
        why: &'a str,
    },
    /// A tool cannot run on these glasses.
    Needs {
        /// The tool's title.
        tool: &'a str,
        /// The platform's reason, which names the missing parts.
        parts: &'a str,
    },
    /// The model failed.
    Model(ModelErrorKind),
    /// The answer timed out.
    TooLong,
    /// The model returned no text.
    Nothing,
    /// The platform is not available.
    PlatformDown,
    /// The assistant is not installed for the user, or is not allowed to call tools.
    NotAllowed,
    /// The user has no tools, or the assistant is not allowed to use them.
    NoTools,
    /// Done; an app has presented the result itself.
    Done,
}

/// A tool call that needs the user's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedCall<'a> {
    /// The tool's title.
    pub tool: &'a str,
    /// The app's name.
    pub app: &'a str,
    /// The arguments, for people.
    pub with: &'a str,
}

/// One sentence in each language.
type TranslationRow = [&'static str; 4];

const ONE_MOMENT: TranslationRow = ["One moment ...", "Einen Moment ...", "Un instant ...", "Un momento ..."];
const ASKING: TranslationRow = [
    "One moment, asking {} ...",
    "Einen Moment, ich frage {} ...",
    "Un instant, je demande à {} ...",
    "Un momento, pregunto a {} ...",
];
const LISTENING: TranslationRow = ["Listening ...", "Ich höre ...", "J'écoute ...", "Te escucho ..."];
const MAY_I: TranslationRow = [
    "{app}: {tool}{with}? Say yes or no.",
    "{app}: {tool}{with}? Sag ja oder nein.",
    "{app} : {tool}{with} ? Dis oui ou non.",
    "{app}: ¿{tool}{with}? Di sí o no.",
];
const MAY_I_BY_BUTTON: TranslationRow = [
    "{app}: {tool}{with}? Press the button to allow it, or say no.",
    "{app}: {tool}{with}? Drück die Taste, um es zu erlauben, oder sag nein.",
    "{app} : {tool}{with} ? Appuie sur le bouton pour l'autoriser, ou dis non.",
    "{app}: ¿{tool}{with}? Pulsa el botón para permitirlo, o di no.",
];
const NOT_UNDERSTOOD: TranslationRow = [
    "I did not understand. {}",
    "Das habe ich nicht verstanden. {}",
    "Je n'ai pas compris. {}",
    "No te he entendido. {}",
];
const SPEECH_NOT_ENOUGH: TranslationRow = [
    "A spoken yes is not enough here. {}",
    "Ein gesprochenes Ja genügt hier nicht. {}",
    "Un oui de vive voix ne suffit pas ici. {}",
    "Un sí hablado no basta aquí. {}",
];
const ANSWER_LATER: TranslationRow = [
    "{app}: {tool} has not run. You can still answer under Approvals in the console, on your phone or computer.",
    "{app}: {tool} wurde nicht ausgeführt. Du kannst noch in der Konsole unter „Approvals“ antworten, am Handy oder Computer.",
    "{app} : {tool} n'a pas été exécuté. Tu peux encore répondre dans la console sous « Approvals », sur ton téléphone ou ton ordinateur.",
    "{app}: {tool} no se ha ejecutado. Aún puedes responder en la consola, en «Approvals», con tu teléfono u ordenador.",
];
const ANSWER_ELSEWHERE: TranslationRow = [
    "{app}: {tool}{with}? A spoken yes is not enough here. Answer under Approvals in the console, on your phone or computer.",
    "{app}: {tool}{with}? Ein gesprochenes Ja genügt hier nicht. Antworte in der Konsole unter „Approvals“, am Handy oder Computer.",
    "{app} : {tool}{with} ? Un oui de vive voix ne suffit pas ici. Réponds dans la console sous « Approvals », sur ton téléphone ou ton ordinateur.",
    "{app}: ¿{tool}{with}? Un sí hablado no basta aquí. Responde en la consola, en «Approvals», con tu teléfono u ordenador.",
];
const SIGN_IN_FIRST: TranslationRow = [
    "{} needs you to sign in. Open the console on your phone or computer; I am waiting.",
    "Bei {} musst du dich erst anmelden. Öffne die Konsole am Handy oder Computer; ich warte.",
    "Tu dois d'abord te connecter à {}. Ouvre la console sur ton téléphone ou ton ordinateur ; j'attends.",
    "Primero tienes que iniciar sesión en {}. Abre la consola en tu teléfono u ordenador; te espero.",
];
const SIGN_IN_LATER: TranslationRow = [
    "{} still needs you to sign in. Ask me again after that.",
    "Bei {} bist du noch nicht angemeldet. Frag mich danach noch einmal.",
    "Tu n'es pas encore connecté à {}. Redemande-moi après.",
    "Aún no has iniciado sesión en {}. Pregúntame de nuevo después.",
];
const FORGOTTEN: TranslationRow = [
    "I have forgotten our conversation.",
    "Ich habe unser Gespräch vergessen.",
    "J'ai oublié notre conversation.",
    "He olvidado nuestra conversación.",
];
const YOU_CAN_SAY: TranslationRow =
    ["You can say: {}", "Du kannst sagen: {}", "Tu peux dire : {}", "Puedes decir: {}"];
const APP_DOWN: TranslationRow = [
    "{} does not answer right now. Try again later.",
    "{} antwortet gerade nicht. Versuch es später noch einmal.",
    "{} ne répond pas pour le moment. Réessaie plus tard.",
    "{} no responde ahora. Inténtalo más tarde.",
];
const TOOL_FAILED: TranslationRow = [
    "That did not work. {app} says: {why}",
    "Das hat nicht geklappt. {app} sagt: {why}",
    "Cela n'a pas marché. {app} dit : {why}",
    "No ha funcionado. {app} dice: {why}",
];
const NEEDS: TranslationRow = [
    "{tool} needs {parts}; your glasses have none.",
    "{tool} braucht {parts}; das fehlt deiner Brille.",
    "{tool} a besoin de ceci : {parts} ; tes lunettes n'en ont pas.",
    "{tool} necesita {parts}; tus gafas no lo tienen.",
];
const MODEL_AWAY: TranslationRow = [
    "I cannot think right now: my model does not answer. Try again in a moment.",
    "Ich kann gerade nicht denken: Mein Modell antwortet nicht. Versuch es gleich noch einmal.",
    "Je ne peux pas réfléchir : mon modèle ne répond pas. Réessaie dans un instant.",
    "Ahora no puedo pensar: mi modelo no responde. Inténtalo en un momento.",
];
const MODEL_BUSY: TranslationRow = [
    "My model is too busy right now. Try again in a minute.",
    "Mein Modell ist gerade überlastet. Versuch es in einer Minute noch einmal.",
    "Mon modèle est surchargé. Réessaie dans une minute.",
    "Mi modelo está saturado. Inténtalo en un minuto.",
];
const MODEL_UNSET: TranslationRow = [
    "I have no model to think with. Whoever runs me has to set one up.",
    "Ich habe kein Modell zum Denken. Wer mich betreibt, muss eins einrichten.",
    "Je n'ai pas de modèle pour réfléchir. Mon opérateur doit en configurer un.",
    "No tengo un modelo para pensar. Quien me opera debe configurar uno.",
];
const MODEL_REFUSES: TranslationRow = [
    "I cannot answer this one. Try to say it in another way.",
    "Das kann ich so nicht beantworten. Sag es bitte anders.",
    "Je ne peux pas répondre à cela. Essaie de le dire autrement.",
    "No puedo responder a eso. Intenta decirlo de otra manera.",
];
const TOO_LONG: TranslationRow = [
    "This takes too long, so I stopped. Try again, or ask for less.",
    "Das dauert zu lange, ich habe aufgehört. Versuch es noch einmal oder frag nach weniger.",
    "Cela prend trop de temps, j'ai arrêté. Réessaie ou demande moins.",
    "Tarda demasiado y lo he dejado. Inténtalo otra vez o pide menos.",
];
const NOTHING: TranslationRow = [
    "I have no answer to that.",
    "Darauf habe ich keine Antwort.",
    "Je n'ai pas de réponse à cela.",
    "No tengo respuesta para eso.",
];
const PLATFORM_DOWN: TranslationRow = [
    "I cannot reach your apps right now. Try again in a moment.",
    "Ich erreiche deine Apps gerade nicht. Versuch es gleich noch einmal.",
    "Je n'arrive pas à joindre tes applications. Réessaie dans un instant.",
    "Ahora no puedo llegar a tus aplicaciones. Inténtalo en un momento.",
];
const NOT_ALLOWED: TranslationRow = [
    "I may not use your apps. Install me, and allow me to call the tools of other apps.",
    "Ich darf deine Apps nicht benutzen. Installiere mich und erlaube mir, Werkzeuge anderer Apps aufzurufen.",
    "Je n'ai pas accès à tes applications. Installe-moi et autorise-moi à appeler les outils des autres applications.",
    "No puedo usar tus aplicaciones. Instálame y permíteme llamar a las herramientas de otras aplicaciones.",
];
const NO_TOOLS: TranslationRow = [
    "I see no tools of your apps. Install some, or allow me to call the tools of other apps.",
    "Ich sehe keine Werkzeuge deiner Apps. Installiere welche oder erlaube mir, Werkzeuge anderer Apps aufzurufen.",
    "Je ne vois aucun outil de tes applications. Installes-en ou autorise-moi à appeler les outils des autres.",
    "No veo herramientas de tus aplicaciones. Instala alguna o permíteme llamar a las de otras aplicaciones.",
];
const DONE: TranslationRow = ["Done.", "Erledigt.", "C'est fait.", "Hecho."];

/// Parts of glasses; the first column is the platform's wording.
const PARTS: [TranslationRow; 8] = [
    ["a camera", "eine Kamera", "une caméra", "una cámara"],
    ["a display", "ein Display", "un écran", "una pantalla"],
    ["a microphone", "ein Mikrofon", "un micro", "un micrófono"],
    ["a speaker", "einen Lautsprecher", "un haut-parleur", "un altavoz"],
    ["a motion sensor", "einen Bewegungssensor", "un capteur de mouvement", "un sensor de movimiento"],
    ["a button", "eine Taste", "un bouton", "un botón"],
    ["a light", "ein Licht", "une lampe", "una luz"],
    ["Wi-Fi", "WLAN", "le Wi-Fi", "wifi"],
];
const AND: TranslationRow = [" and ", " und ", " et ", " y "];

impl LocalizedMessage<'_> {
    /// The sentence in a language.
    pub fn to_text(&self, language: SpokenLanguage) -> String {
        let column = language.table_column();
        let one = |row: &TranslationRow, inside: &str| row[column].replace("{}", inside);
        match self {
            Self::OneMoment => ONE_MOMENT[column].to_owned(),
            Self::Asking(app) => one(&ASKING, app),
            Self::Listening => LISTENING[column].to_owned(),
            Self::MayI(call) => call.fill(&MAY_I, column),
            Self::MayIByButton(call) => call.fill(&MAY_I_BY_BUTTON, column),
            Self::NotUnderstood(question) => one(&NOT_UNDERSTOOD, question),
            Self::SpeechNotEnough(question) => one(&SPEECH_NOT_ENOUGH, question),
            Self::AnswerLater(call) => call.fill(&ANSWER_LATER, column),
            Self::AnswerElsewhere(call) => call.fill(&ANSWER_ELSEWHERE, column),
            Self::SignInFirst(app) => one(&SIGN_IN_FIRST, app),
            Self::SignInLater(app) => one(&SIGN_IN_LATER, app),
            Self::Forgotten => FORGOTTEN[column].to_owned(),
            Self::YouCanSay(what) => one(&YOU_CAN_SAY, what),
            Self::AppDown(app) => one(&APP_DOWN, app),
            Self::ToolFailed { app, why } => {
                fill_placeholders(&TOOL_FAILED, column, &[("{app}", app), ("{why}", why)])
            }
            Self::Needs { tool, parts } => fill_placeholders(
                &NEEDS,
                column,
                &[("{tool}", tool), ("{parts}", &needed_parts(parts, column))],
            ),
            Self::Model(trouble) => model_trouble_row(*trouble)[column].to_owned(),
            Self::TooLong => TOO_LONG[column].to_owned(),
            Self::Nothing => NOTHING[column].to_owned(),
            Self::PlatformDown => PLATFORM_DOWN[column].to_owned(),
            Self::NotAllowed => NOT_ALLOWED[column].to_owned(),
            Self::NoTools => NO_TOOLS[column].to_owned(),
            Self::Done => DONE[column].to_owned(),
        }
    }
}

impl AskedCall<'_> {
    fn fill(&self, row: &TranslationRow, column: usize) -> String {
        let places = [("{app}", self.app), ("{tool}", self.tool), ("{with}", self.with)];
        fill_placeholders(row, column, &places)
    }
}

/// Fills the placeholders of a sentence in one pass, so that placeholders inside inserted values are not filled.
fn fill_placeholders(row: &TranslationRow, column: usize, places: &[(&str, &str)]) -> String {
    let mut rest = row[column];
    let mut text = String::new();
    while let Some((at, name, value)) =
        places.iter().filter_map(|(name, value)| rest.find(name).map(|at| (at, *name, *value))).min()
    {
        text.push_str(&rest[..at]);
        text.push_str(value);
        rest = &rest[at + name.len()..];
    }
    text + rest
}

/// The sentence for a model error. The vendor's own text is only logged.
fn model_trouble_row(trouble: ModelErrorKind) -> &'static TranslationRow {
    match trouble {
        ModelErrorKind::Unreachable | ModelErrorKind::Unavailable | ModelErrorKind::Broken => &MODEL_AWAY,
        ModelErrorKind::RateLimited => &MODEL_BUSY,
        ModelErrorKind::Unknown | ModelErrorKind::Unauthorized | ModelErrorKind::NoCredit => &MODEL_UNSET,
        ModelErrorKind::Refused => &MODEL_REFUSES,
    }
}

/// The parts that are named in a reason such as `needs a camera; Even Realities G1 has none`, in the user's language.
fn needed_parts(reason: &str, column: usize) -> String {
    let needs = reason.split(';').next().unwrap_or_default().trim().trim_start_matches("needs ");
    let mut parts: Vec<&str> =
        PARTS.iter().filter(|row| needs.contains(row[0])).map(|row| row[column]).collect();
    match parts.pop() {
        None => needs.to_owned(),
        Some(last) if parts.is_empty() => last.to_owned(),
        Some(last) => format!("{}{}{last}", parts.join(", "), AND[column]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_by_their_first_part() {
        for (tag, language) in [
            ("de", SpokenLanguage::German),
            ("de-AT", SpokenLanguage::German),
            ("FR_ca", SpokenLanguage::French),
            ("es-MX", SpokenLanguage::Spanish),
            ("en-GB", SpokenLanguage::English),
            ("ja", SpokenLanguage::English),
            ("", SpokenLanguage::English),
        ] {
            assert_eq!(SpokenLanguage::from_tag(tag), language, "{tag}");
        }
    }

    #[test]
    fn a_hidden_tool_is_explained_in_every_language() {
        let reason = "needs a camera and a speaker; Even Realities G1 has neither";
        let said = SpokenLanguage::ALL
            .map(|language| LocalizedMessage::Needs { tool: "Take photo", parts: reason }.to_text(language));
        assert_eq!(said[0], "Take photo needs a camera and a speaker; your glasses have none.");
        assert_eq!(
            said[1],
            "Take photo braucht eine Kamera und einen Lautsprecher; das fehlt deiner Brille."
        );
        assert!(
            said[2].contains("une caméra et un haut-parleur") && said[3].contains("una cámara y un altavoz")
        );
        let other = LocalizedMessage::Needs { tool: "X", parts: "needs `GPS`; the device has none" };
        assert_eq!(other.to_text(SpokenLanguage::English), "X needs `GPS`; your glasses have none.");
    }

    #[test]
    fn placeholders_in_values_are_not_filled() {
        let asked = LocalizedMessage::MayI(AskedCall { tool: "{with}", app: "{tool}", with: " (all)" });
        assert_eq!(asked.to_text(SpokenLanguage::English), "{tool}: {with} (all)? Say yes or no.");
        assert_eq!(
            LocalizedMessage::Asking("Todo").to_text(SpokenLanguage::German),
            "Einen Moment, ich frage Todo ..."
        );
    }

    #[test]
    fn no_sentence_has_an_unfilled_placeholder() {
        let asked = AskedCall { tool: "T", app: "A", with: "" };
        let all = [
            LocalizedMessage::OneMoment,
            LocalizedMessage::Asking("A"),
            LocalizedMessage::Listening,
            LocalizedMessage::MayI(asked),
            LocalizedMessage::MayIByButton(asked),
            LocalizedMessage::NotUnderstood("Q"),
            LocalizedMessage::SpeechNotEnough("Q"),
            LocalizedMessage::AnswerLater(asked),
            LocalizedMessage::AnswerElsewhere(asked),
            LocalizedMessage::SignInFirst("A"),
            LocalizedMessage::SignInLater("A"),
            LocalizedMessage::Forgotten,
            LocalizedMessage::YouCanSay("x"),
            LocalizedMessage::AppDown("A"),
            LocalizedMessage::ToolFailed { app: "A", why: "w" },
            LocalizedMessage::Needs { tool: "T", parts: "needs a camera; it has none" },
            LocalizedMessage::Model(ModelErrorKind::Unreachable),
            LocalizedMessage::Model(ModelErrorKind::RateLimited),
            LocalizedMessage::Model(ModelErrorKind::NoCredit),
            LocalizedMessage::Model(ModelErrorKind::Refused),
            LocalizedMessage::TooLong,
            LocalizedMessage::Nothing,
            LocalizedMessage::PlatformDown,
            LocalizedMessage::NotAllowed,
            LocalizedMessage::NoTools,
            LocalizedMessage::Done,
        ];
        for say in all {
            let said = SpokenLanguage::ALL.map(|language| say.to_text(language));
            assert!(said.iter().all(|text| !text.is_empty() && !text.contains(['{', '}'])), "{said:?}");
            let german_differs = said[0] != said[1];
            assert!(german_differs, "{said:?}");
        }
    }
}
