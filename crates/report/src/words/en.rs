//! English.

use domain::JobId;
use domain::job::State;

use super::{Going, Span, Verb, Words};
use crate::body::Sentence;

pub(super) struct English;

impl Words for English {
    fn help_opening(&self, bot: &str) -> Sentence {
        Sentence::from("I am ")
            .code(format!("@{bot}"))
            .ours(". Write one of these in a comment here:")
    }

    fn help_line(&self, verb: Verb) -> &'static str {
        match verb {
            Verb::Help => "shows this list",
            Verb::Status => "says what I am doing here",
            Verb::Review => "reviews what is new in this change; `full review` starts over",
            Verb::Detect => "looks for problems on the branch",
            Verb::Fix => "fixes the issue or the findings, and verifies the result",
            Verb::Repair => "repairs the code that a changed `.proto` file breaks",
            Verb::Pause => "stops automatic work here until `resume`",
            Verb::Resume => "takes automatic work up again",
            Verb::Cancel => "stops what is waiting or running here",
            Verb::Resolve => "marks a finding as fixed",
            Verb::Dismiss => "closes a finding that will not be fixed",
        }
    }

    fn help_not_yet(&self) -> Sentence {
        "I know these commands, but this version cannot do them yet:".into()
    }

    fn help_manners(&self) -> Sentence {
        "One command per comment. What stands in code, in a quote or in a hidden comment is not read.".into()
    }

    fn status_opening(&self) -> Sentence {
        "This is what I am doing here:".into()
    }

    fn status_line(&self, going: &Going<'_>) -> Sentence {
        let mut line = Sentence::default().code(going.task).ours(": ").ours(state(going.state));
        if let Some(stage) = going.running_stage() {
            line = line.ours(" (stage ").code(stage).ours(")");
        }
        line = if going.state.is_final() {
            line.ours(", ").and(span(going.age.into())).ours(" ago")
        } else {
            line.ours(", for ").and(span(going.age.into()))
        };
        match going.repeated() {
            Some(attempt) => line.ours(", attempt ").number(attempt),
            None => line,
        }
    }

    fn status_more(&self, jobs: u64) -> Sentence {
        Sentence::from("… and ").number(jobs).ours(" more.")
    }

    fn status_nothing(&self) -> Sentence {
        "Nothing is going on here.".into()
    }

    fn cannot_yet(&self, command: &str, bot: &str) -> Sentence {
        Sentence::from("I cannot do ")
            .code(command)
            .ours(" yet in this version. ")
            .code(format!("@{bot} help"))
            .ours(" lists what I can do.")
    }

    fn apology(&self, job: &JobId) -> Sentence {
        Sentence::from("I am sorry: I could not finish this and have given up. The operator finds the reason under job ")
            .code(&job.0)
            .ours(".")
    }

    fn failed(&self, job: &JobId) -> Sentence {
        Sentence::from("This did not work (job ").code(&job.0).ours("):")
    }

    fn waiting(&self, what: &str) -> Sentence {
        Sentence::from("I am waiting for ")
            .code(what)
            .ours(", which I cannot reach at the moment. I go on by myself when it is back.")
    }

    fn budget_of_repository(&self, limit: u32) -> Sentence {
        Sentence::from("This repository has used up its ")
            .number(limit)
            .ours(" jobs for today. I take up work again after midnight (UTC).")
    }

    fn budget_of_author(&self, login: &str, limit: u32) -> Sentence {
        Sentence::default()
            .code(login)
            .ours(" has used up the ")
            .number(limit)
            .ours(" jobs a day that people without write permission have here. I listen again after midnight (UTC).")
    }

    fn needs_write(&self, login: &str, command: &str) -> Sentence {
        Sentence::from("I do ")
            .code(command)
            .ours(" only for people with write permission on this repository, and ")
            .code(login)
            .ours(" does not have it.")
    }

    fn cancelled(&self, jobs: u64) -> Sentence {
        Sentence::from("I stopped ").number(jobs).ours(if jobs == 1 { " job." } else { " jobs." })
    }

    fn nothing_to_cancel(&self) -> Sentence {
        "There is nothing here to cancel.".into()
    }

    fn left_out(&self, characters: u64) -> Sentence {
        Sentence::from("This text was too long: ")
            .number(characters)
            .ours(" characters are left out.")
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Queued => "waiting",
        State::Running => "running",
        State::Done => "done",
        State::Failed => "failed",
        State::Dead => "given up",
        State::Cancelled => "cancelled",
        State::Superseded => "replaced by newer work",
        State::Skipped => "nothing to do",
    }
}

fn span(span: Span) -> Sentence {
    let (count, one, more) = match span {
        Span::Seconds(count) => (count, " second", " seconds"),
        Span::Minutes(count) => (count, " minute", " minutes"),
        Span::Hours(count) => (count, " hour", " hours"),
        Span::Days(count) => (count, " day", " days"),
    };
    Sentence::default().number(count).ours(if count == 1 { one } else { more })
}
