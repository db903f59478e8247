//! Languages with spaces between their words, written as people write them; `normalize` makes them comparable.

use super::PhraseLists;

pub(super) const ENGLISH: PhraseLists = PhraseLists {
    yes: "yeah|yea|yep|yup|please do|do it now|just do it|okay then|ok then|sure|sure thing|for sure|\
          go ahead|go for it|do it|do that|of course|absolutely|definitely|certainly|totally|confirm|\
          confirmed|i confirm|approve|approved|i approve|correct|that's right|that is right|\
          that's correct|that is correct|exactly|alright|all right|sounds good|agreed|i agree|affirmative|\
          aye|indeed|by all means|make it so|oh yes",
    no: "nope|nah|nay|not|dont|do not|never|never mind|nevermind|forget it|forget about it|abort|negative|\
         no way|hell no|absolutely not|definitely not|certainly not|of course not|not now|not yet|\
         not at all|not really|i said no|rather not|I'd rather not|i would rather not|leave it|\
         cancel that|cancel it|stop it|stop that|skip it|skip that|please dont|please do not|\
         please cancel|please stop|decline|i decline|deny|reject|refuse|i refuse|dont do it|dont do that|\
         incorrect|that's wrong",
    polite: "please|thanks|thank you|thank you very much|sir|maam|mate|that's fine|that is fine|I'm sure|\
             I am sure",
    hesitation: "uhh|umm|uhm|erm|well|so|uh huh|mhm",
    aside: "oh|ah|ha|great",
    doubt: "no problem|no worries|no idea|no doubt|no wait|no hold on|no clue|not sure|not bad|dont know|\
            dont mind|dont care|dont worry|i said yes|yeah right|no matter|no comment|no question|wait|\
            hold on",
};

pub(super) const GERMAN: PhraseLists = PhraseLists {
    yes: "ja|jawohl|jawoll|jo|joa|jup|jap|jep|klar|na klar|sicher|aber sicher|natürlich|\
          selbstverständlich|freilich|in ordnung|einverstanden|mach das|mach es|mach mal|bitte machen|\
          doch|aber ja|aber gerne|aber klar|tu es|tu das|genau|richtig|stimmt|das stimmt|stimmt so|\
          das ist richtig|passt|gerne|gern|sehr gerne|bestätigt|ich bestätige|bestätigen|bestätige|\
          auf jeden fall|unbedingt|los|leg los|geht klar|korrekt",
    no: "nein|nee|nö|ne|no|nicht|nie|niemals|bloß nicht|doch nicht|lieber nicht|auf keinen fall|\
         auf gar keinen fall|keinesfalls|mach das nicht|mach es nicht|tu das nicht|tu es nicht|\
         nicht jetzt|jetzt nicht|noch nicht|gar nicht|abbrechen|abbruch|stopp|halt|lass es|lass das|\
         lass mal|vergiss es|natürlich nicht|klar nicht|sicher nicht|sicherlich nicht|storno|stornieren|\
         bitte nicht|falsch|das ist falsch|ach nein|ja nicht",
    polite: "bitte|danke|danke schön|vielen dank|so|von mir aus|ich bin sicher|ich bin mir sicher",
    hesitation: "äh|ähm|öhm|also|nun",
    aside: "ach|oh|alles klar|passt schon|schon",
    doubt: "ja ja|jaja|na ja|naja|ja aber|jein|nicht sicher|nicht schlecht|nein warte|nein moment|\
            nicht wahr|aber nicht|stimmt nicht|weiß nicht|weiß ich nicht|verstehe|höre|kein problem|\
            keine ahnung|ja oder|ja und|ja schon|schon gut|ach ja|ah ja|aha|stimmt das|sag ja|moment|warte",
};

pub(super) const FRENCH: PhraseLists = PhraseLists {
    yes: "oui|ouais|ouaip|d'accord|bien sur|bien sur que oui|vas y|allez y|fais le|faites le|certainement|\
          absolument|tout a fait|exactement|exact|c'est ça|c'est exact|c'est correct|je confirme|confirme|\
          confirmez|confirmer|volontiers|avec plaisir|entendu|bien entendu|evidemment|ca marche|\
          je veux bien|affirmatif|mais oui|ben oui|bah oui|je suis d'accord",
    no: "non|nan|ne|n|surtout pas|pas du tout|pas maintenant|pas encore|jamais|annule|annuler|annulez|\
         arrete|arretez|laisse tomber|laissez tomber|ne fais pas ca|ne le fais pas|ne faites pas ca|\
         bien sur que non|absolument pas|certainement pas|hors de question|pas question|je refuse|\
         je ne veux pas|pas ca|mais non",
    polite: "s'il te plaît|s'il vous plaît|merci|merci beaucoup|c'est bon|parfait|madame|monsieur|\
             je suis sur|je suis sure",
    hesitation: "euh|heu|hum|ben|bah|alors|bon",
    aside: "ah|oh|mais",
    doubt: "oui mais|oui ou|ni oui|pas de probleme|pas sur|pas mal|non attends|non lu|ca depend|oui enfin|\
            je ne sais|attends",
};

pub(super) const SPANISH: PhraseLists = PhraseLists {
    yes: "si|sip|claro|claro que si|por supuesto|por supuesto que si|vale|de acuerdo|estoy de acuerdo|\
          adelante|hazlo|hagalo|confirmo|confirmar|confirma|confirme|confirmado|correcto|exacto|\
          exactamente|asi es|eso es|esta bien|desde luego|dale|afirmativo|pues si|bueno si|sin duda|\
          como no",
    no: "nop|no lo hagas|no lo haga|mejor no|para nada|ni hablar|de ninguna manera|nunca|jamas|cancela|\
         cancele|cancelar|cancélalo|cancélala|para|pare|detente|alto|olvidalo|dejalo|ahora no|todavia no|\
         claro que no|por supuesto que no|desde luego que no|nada de eso|que no|no quiero",
    polite: "por favor|gracias|muchas gracias|venga|perfecto|senor|senora|estoy seguro|estoy segura",
    hesitation: "pues|bueno|mmm",
    aside: "ay|uy|ah|oh",
    doubt: "si no|o no|no se|no lo se|no hay problema|no importa|no pasa nada|no espera|no estoy seguro|\
            no estoy segura|no te entiendo|no te oigo|no entiendo|no oigo|ni idea|si pero|asi asi",
};

pub(super) const ITALIAN: PhraseLists = PhraseLists {
    yes: "si|certo|certo che si|certamente|va bene|d'accordo|sono d'accordo|fallo|procedi|vai|vai pure|\
          fai pure|procedi pure|confermo|conferma|confermato|confermare|esatto|esattamente|giusto|\
          corretto|e corretto|e giusto|assolutamente si|assolutamente|ovviamente|naturalmente|volentieri|\
          sicuro|sicuramente|come no|ma si|ma certo|eh si|eh certo",
    no: "non farlo|non lo fare|per niente|assolutamente no|no assolutamente|certo che no|mai|annulla|\
         annullare|ferma|fermati|basta|lascia stare|lascia perdere|non ora|non adesso|non ancora|\
         meglio di no|neanche per sogno|non voglio|proprio no|ovviamente no|sicuramente no|non|ma no",
    polite: "per favore|per piacere|grazie|grazie mille|perfetto|signore|signora|sono sicuro|sono sicura",
    hesitation: "beh|allora",
    aside: "ah|oh|ma",
    doubt: "si ma|si dice|si o no|anzi|ne si|non lo so|non so|non importa|non fa niente|no aspetta|\
            non sono sicuro|non sono sicura|non ho capito|non ti sento|no comment|non ho detto",
};

pub(super) const PORTUGUESE: PhraseLists = PhraseLists {
    yes: "sim|claro|claro que sim|com certeza|certo|esta certo|ta certo|tudo bem|esta bem|ta bom|ta|pode|\
          pode sim|pode fazer|pode ser sim|pode ir|faca|faca isso|faz isso|vai em frente|confirmo|\
          confirma|confirme|confirmar|confirmado|correto|exato|exatamente|isso mesmo|isso sim|\
          concordo|de acordo|e sim|positivo|sem duvida|beleza|com prazer",
    no: "nao|nem pensar|de jeito nenhum|de modo nenhum|nunca|jamais|cancela|cancele|cancelar|pare|para|\
         deixa pra la|deixa|esquece|nao faca isso|nao faz isso|agora nao|ainda nao|melhor nao|\
         claro que nao|com certeza nao|nao quero",
    polite: "por favor|obrigado|obrigada|muito obrigado|muito obrigada|perfeito|tenho certeza|senhor|senhora",
    hesitation: "hum|ha|e|bom|entao",
    aside: "ah|oh|ih",
    doubt: "sim mas|nem sim|nao sei|nao tem problema|nao faz mal|nao espera|nao tenho certeza|nao entendi|\
            nao te ouco|nao ouvi|pode ser|quer dizer|pois e",
};

pub(super) const DUTCH: PhraseLists = PhraseLists {
    yes: "ja|jazeker|jawel|jep|ja hoor|zeker|zeker weten|natuurlijk|tuurlijk|uiteraard|oke|okee|prima|\
          is goed|dat is goed|akkoord|mee eens|doe maar|doe het|doe dat|doe dat maar|doe het maar|\
          ga je gang|ga door|klopt|dat klopt|juist|correct|precies|ik bevestig|bevestig|bevestigd|\
          bevestigen|absoluut|graag|ga maar|nou ja graag",
    no: "nee|neen|neuh|niet|niet doen|doe het niet|doe dat niet|doe maar niet|liever niet|nooit|echt niet|\
         absoluut niet|zeker niet|natuurlijk niet|helemaal niet|nu niet|nog niet|stop maar|annuleren|\
         annuleer|laat maar|vergeet het|hou op|geen sprake van|ik wil niet|klopt niet",
    polite: "alsjeblieft|alstublieft|dank je|dank je wel|dank u|bedankt|ik weet het zeker|meneer|mevrouw|\
             hoor|goed zo",
    hesitation: "nou",
    aside: "ach|oh|joh",
    doubt: "ja ja|jaja|nou ja|ja maar|ja of|ja en|niet zeker|nee wacht|of nee|of ja|eigenlijk|versta|\
            hoor je|weet ik|weet het niet|geen probleem|geen idee|klopt dat",
};
