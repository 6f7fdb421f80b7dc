//! Hindi.

use domain::JobId;
use domain::job::State;

use super::{Going, Span, Verb, Words};
use crate::body::Sentence;

pub(super) struct Hindi;

impl Words for Hindi {
    fn help_opening(&self, bot: &str) -> Sentence {
        Sentence::from("मैं ")
            .code(format!("@{bot}"))
            .ours(" हूँ। यहाँ किसी टिप्पणी में इनमें से कोई एक आदेश लिखें:")
    }

    fn help_line(&self, verb: Verb) -> &'static str {
        match verb {
            Verb::Help => "यह सूची दिखाता है",
            Verb::Status => "बताता है कि मैं यहाँ क्या कर रहा हूँ",
            Verb::Review => {
                "इस बदलाव के नए हिस्सों की समीक्षा करता है; `full review` शुरू से समीक्षा करता है"
            }
            Verb::Detect => "शाखा में समस्याएँ खोजता है",
            Verb::Fix => "issue या मिली हुई समस्याओं को ठीक करता है और नतीजे की जाँच करता है",
            Verb::Repair => "`.proto` फ़ाइल के बदलाव से टूटे कोड को ठीक करता है",
            Verb::Pause => "`resume` तक यहाँ का स्वचालित काम रोकता है",
            Verb::Resume => "स्वचालित काम फिर शुरू करता है",
            Verb::Cancel => "यहाँ प्रतीक्षा में या चल रहे काम को रोकता है",
            Verb::Resolve => "किसी समस्या को ठीक हुई चिह्नित करता है",
            Verb::Dismiss => "ऐसी समस्या बंद करता है जो ठीक नहीं की जाएगी",
        }
    }

    fn help_not_yet(&self) -> Sentence {
        "मैं ये आदेश जानता हूँ, पर यह संस्करण अभी इन्हें नहीं कर सकता:".into()
    }

    fn help_manners(&self) -> Sentence {
        "एक टिप्पणी में एक ही आदेश। कोड, उद्धरण या छिपी टिप्पणी के भीतर का पाठ नहीं पढ़ा जाता।".into()
    }

    fn status_opening(&self) -> Sentence {
        "मैं यहाँ यह कर रहा हूँ:".into()
    }

    fn status_line(&self, going: &Going<'_>) -> Sentence {
        let mut line = Sentence::default().code(going.task).ours(": ").ours(state(going.state));
        if let Some(stage) = going.running_stage() {
            line = line.ours(" (चरण ").code(stage).ours(")");
        }
        line = if going.state.is_final() {
            line.ours(", ").and(span(going.age.into())).ours(" पहले")
        } else {
            line.ours(", ").and(span(going.age.into())).ours(" से")
        };
        match going.repeated() {
            Some(attempt) => line.ours(", प्रयास ").number(attempt),
            None => line,
        }
    }

    fn status_more(&self, jobs: u64) -> Sentence {
        Sentence::from("… और ").number(jobs).ours(" अन्य।")
    }

    fn status_nothing(&self) -> Sentence {
        "यहाँ अभी कुछ नहीं चल रहा है।".into()
    }

    fn cannot_yet(&self, command: &str, bot: &str) -> Sentence {
        Sentence::from("मैं इस संस्करण में अभी ")
            .code(command)
            .ours(" नहीं कर सकता। ")
            .code(format!("@{bot} help"))
            .ours(" बताता है कि मैं क्या कर सकता हूँ।")
    }

    fn apology(&self, job: &JobId) -> Sentence {
        Sentence::from("क्षमा करें: मैं यह पूरा नहीं कर सका और इसे छोड़ दिया है। संचालक को कारण कार्य ")
            .code(&job.0)
            .ours(" में मिलेगा।")
    }

    fn failed(&self, job: &JobId) -> Sentence {
        Sentence::from("यह सफल नहीं हुआ (कार्य ").code(&job.0).ours("):")
    }

    fn waiting(&self, what: &str) -> Sentence {
        Sentence::from("मैं ").code(what).ours(
            " की प्रतीक्षा कर रहा हूँ, जिससे अभी संपर्क नहीं हो पा रहा। उसके लौटने पर मैं अपने आप आगे बढ़ूँगा।",
        )
    }

    fn budget_of_repository(&self, limit: u32) -> Sentence {
        Sentence::from("इस रिपॉज़िटरी ने आज के अपने ")
            .number(limit)
            .ours(" कार्य पूरे कर लिए हैं। मैं आधी रात (UTC) के बाद फिर काम शुरू करूँगा।")
    }

    fn budget_of_author(&self, login: &str, limit: u32) -> Sentence {
        Sentence::default()
            .code(login)
            .ours(" ने बिना लेखन-अनुमति वाले लोगों के लिए प्रतिदिन तय ")
            .number(limit)
            .ours(" कार्य पूरे कर लिए हैं। मैं आधी रात (UTC) के बाद फिर सुनूँगा।")
    }

    fn needs_write(&self, login: &str, command: &str) -> Sentence {
        Sentence::from("मैं ")
            .code(command)
            .ours(" केवल उन्हीं के लिए करता हूँ जिनके पास इस रिपॉज़िटरी में लिखने की अनुमति है; ")
            .code(login)
            .ours(" के पास यह नहीं है।")
    }

    fn cancelled(&self, jobs: u64) -> Sentence {
        Sentence::from("मैंने ").number(jobs).ours(if jobs == 1 {
            " कार्य रोका।"
        } else {
            " कार्य रोके।"
        })
    }

    fn nothing_to_cancel(&self) -> Sentence {
        "यहाँ रद्द करने के लिए कुछ नहीं है।".into()
    }

    fn left_out(&self, characters: u64) -> Sentence {
        Sentence::from("यह पाठ बहुत लंबा था: ").number(characters).ours(" वर्ण छोड़ दिए गए हैं।")
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Queued => "प्रतीक्षा में",
        State::Running => "चल रहा है",
        State::Done => "पूरा हुआ",
        State::Failed => "असफल",
        State::Dead => "छोड़ दिया गया",
        State::Cancelled => "रद्द किया गया",
        State::Superseded => "नए काम ने इसकी जगह ली",
        State::Skipped => "करने को कुछ नहीं था",
    }
}

fn span(span: Span) -> Sentence {
    let (count, unit) = match span {
        Span::Seconds(count) => (count, " सेकंड"),
        Span::Minutes(count) => (count, " मिनट"),
        Span::Hours(count) => (count, " घंटे"),
        Span::Days(count) => (count, " दिन"),
    };
    Sentence::default().number(count).ours(unit)
}
