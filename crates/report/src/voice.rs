//! Whole answers, made of the sentences of [`crate::words`], for one host and one reader.
//!
//! Workflows and `engine` ask here for the text of a comment and get finished Markdown, short
//! enough for the host. The marker is not in it: it is attached when the comment is sent.

use domain::JobId;

use crate::body::{Body, Sentence};
use crate::fit::{clip, fit};
use crate::flavour::Flavour;
use crate::words::{Going, Language, Verb, Words};

/// A reason is quoted up to here.
const LONGEST_REASON: usize = 2_000;

/// A status lists at most so many jobs and says how many more there are.
const LONGEST_LIST: usize = 20;

/// How we speak: in which language, on which kind of host, by which name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    pub language: Language,
    pub flavour: Flavour,
    /// The name by which we are mentioned, without its `@`.
    pub bot: String,
}

impl Voice {
    /// Returns the same voice in the language of what somebody wrote.
    #[must_use]
    pub fn answering(&self, text: &str) -> Self {
        Self { language: Language::of(text, self.language), ..self.clone() }
    }

    /// Lists the commands, and says plainly which of them this version does not do.
    pub fn help(&self, available: &[Verb]) -> String {
        let words = self.words();
        let line = |verb: Verb| {
            let command = format!("@{} {}", self.bot, verb.usage());
            Sentence::default().code(command).ours(": ").ours(words.help_line(verb))
        };
        let (can, cannot): (Vec<Verb>, Vec<Verb>) =
            Verb::ALL.into_iter().partition(|verb| available.contains(verb));
        let mut body =
            can.into_iter().fold(self.body().ours(words.help_opening(&self.bot)), |body, verb| {
                body.item(line(verb))
            });
        if !cannot.is_empty() {
            body = cannot
                .into_iter()
                .fold(body.ours(words.help_not_yet()), |body, verb| body.item(line(verb)));
        }
        self.finish(body.ours(words.help_manners()))
    }

    /// Says what is queued, running and finished on a subject.
    pub fn status(&self, goings: &[Going<'_>]) -> String {
        let words = self.words();
        if goings.is_empty() {
            return self.say(words.status_nothing());
        }
        let (listed, more) = goings.split_at(goings.len().min(LONGEST_LIST));
        let body = self.body().ours(words.status_opening());
        let mut body = listed.iter().fold(body, |body, going| body.item(words.status_line(going)));
        if !more.is_empty() {
            body = body.ours(words.status_more(more.len() as u64));
        }
        self.finish(body)
    }

    /// Says that the command is known and cannot be done by this version.
    pub fn cannot_yet(&self, command: &str) -> String {
        self.say(self.words().cannot_yet(command, &self.bot))
    }

    /// Apologises for a job that was given up.
    pub fn apology(&self, job: &JobId) -> String {
        self.say(self.words().apology(job))
    }

    /// Says that a job failed, and why.
    pub fn failed(&self, reason: &str, job: &JobId) -> String {
        self.finish(
            self.body().ours(self.words().failed(job)).quoted(&clip(reason, LONGEST_REASON)),
        )
    }

    /// Says, once, that something is away and waited for (J6).
    pub fn waiting(&self, what: &str) -> String {
        self.say(self.words().waiting(what))
    }

    /// Says, once, that the repository's day is used up (J5).
    pub fn budget_of_repository(&self, limit: u32) -> String {
        self.say(self.words().budget_of_repository(limit))
    }

    /// Says, once, that the day of somebody without write permission is used up (J5).
    pub fn budget_of_author(&self, login: &str, limit: u32) -> String {
        self.say(self.words().budget_of_author(login, limit))
    }

    /// Refuses a command that needs write permission.
    pub fn needs_write(&self, login: &str, command: &str) -> String {
        self.say(self.words().needs_write(login, command))
    }

    /// Says how many jobs were stopped.
    pub fn cancelled(&self, jobs: u64) -> String {
        self.say(match jobs {
            0 => self.words().nothing_to_cancel(),
            _ => self.words().cancelled(jobs),
        })
    }

    fn words(&self) -> &'static dyn Words {
        self.language.words()
    }

    fn body(&self) -> Body {
        Body::new(self.flavour)
    }

    fn say(&self, sentence: Sentence) -> String {
        self.finish(self.body().ours(sentence))
    }

    fn finish(&self, body: Body) -> String {
        let markdown = body.into_markdown();
        fit(&markdown, self.flavour, self.language).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::job::State;
    use expect_test::expect;

    use super::*;
    use crate::quote;

    fn voice(language: Language) -> Voice {
        Voice { language, flavour: Flavour::GitHub, bot: "patchwright".to_owned() }
    }

    fn english() -> Voice {
        voice(Language::En)
    }

    fn job() -> JobId {
        JobId("0197-abc".to_owned())
    }

    fn goings() -> [Going<'static>; 3] {
        let going = |task, state, stage, seconds, attempt| Going {
            task,
            state,
            stage,
            age: Duration::from_secs(seconds),
            attempt,
        };
        [
            going("review", State::Running, "answer", 61, 2),
            going("fix", State::Queued, "begin", 7_200, 0),
            going("help", State::Done, "", 90_000, 1),
        ]
    }

    #[test]
    fn h6_help_says_what_works_and_what_does_not_yet() {
        expect![[r#"
            I am `@patchwright`. Write one of these in a comment here:

            - `@patchwright help`: shows this list
            - `@patchwright status`: says what I am doing here
            - `@patchwright cancel`: stops what is waiting or running here

            I know these commands, but this version cannot do them yet:

            - `@patchwright review`: reviews what is new in this change; `full review` starts over
            - `@patchwright detect`: looks for problems on the branch
            - `@patchwright fix [ID … | all]`: fixes the issue or the findings, and verifies the result
            - `@patchwright repair`: repairs the code that a changed `.proto` file breaks
            - `@patchwright pause`: stops automatic work here until `resume`
            - `@patchwright resume`: takes automatic work up again
            - `@patchwright resolve ID`: marks a finding as fixed
            - `@patchwright dismiss ID [why]`: closes a finding that will not be fixed

            One command per comment. What stands in code, in a quote or in a hidden comment is not read."#]].assert_eq(&english().help(&[Verb::Help, Verb::Status, Verb::Cancel]));
        let everything = english().help(&Verb::ALL);
        assert!(!everything.contains("yet"), "{everything}");
    }

    #[test]
    fn h6_status_lists_the_jobs_of_a_subject() {
        expect![[r#"
            This is what I am doing here:

            - `review`: running (stage `answer`), for 1 minute, attempt 2
            - `fix`: waiting, for 2 hours
            - `help`: done, 1 day ago"#]]
        .assert_eq(&english().status(&goings()));
        expect!["Nothing is going on here."].assert_eq(&english().status(&[]));
    }

    #[test]
    fn h1_a_long_status_says_how_much_more_there_is() {
        let many = [goings()[0]; LONGEST_LIST + 5];
        assert!(english().status(&many).ends_with("\n\n… and 5 more."));
    }

    #[test]
    fn h6_every_other_sentence_in_english() {
        let voice = english();
        let said = [
            voice.cannot_yet("fix"),
            voice.apology(&job()),
            voice.failed("the forge said no:\n/close @all", &job()),
            voice.waiting("api.forge.example"),
            voice.budget_of_repository(200),
            voice.budget_of_author("alice", 10),
            voice.needs_write("alice", "fix"),
            voice.cancelled(1),
            voice.cancelled(2),
            voice.cancelled(0),
        ];
        expect![[r#"
            I cannot do `fix` yet in this version. `@patchwright help` lists what I can do.
            ---
            I am sorry: I could not finish this and have given up. The operator finds the reason under job `0197-abc`.
            ---
            This did not work (job `0197-abc`):

            > the forge said no:
            > \/close `@all`
            ---
            I am waiting for `api.forge.example`, which I cannot reach at the moment. I go on by myself when it is back.
            ---
            This repository has used up its 200 jobs for today. I take up work again after midnight (UTC).
            ---
            `alice` has used up the 10 jobs a day that people without write permission have here. I listen again after midnight (UTC).
            ---
            I do `fix` only for people with write permission on this repository, and `alice` does not have it.
            ---
            I stopped 1 job.
            ---
            I stopped 2 jobs.
            ---
            There is nothing here to cancel."#]].assert_eq(&said.join("\n---\n"));
    }

    #[test]
    fn h6_chinese_as_a_person_reads_it() {
        let voice = voice(Language::Zh);
        let said = [voice.help(&[Verb::Help]), voice.status(&goings()), voice.failed("x", &job())];
        expect![[r#"
            我是 `@patchwright`。请在这里的评论中写下其中一条命令：

            - `@patchwright help`: 显示此列表

            我认识下列命令，但当前版本还不能执行：

            - `@patchwright status`: 说明我正在这里做什么
            - `@patchwright review`: 审查此变更中的新内容；`full review` 从头审查
            - `@patchwright detect`: 检查分支上的问题
            - `@patchwright fix [ID … | all]`: 修复此 issue 或已发现的问题，并验证结果
            - `@patchwright repair`: 修复因 `.proto` 文件变更而损坏的代码
            - `@patchwright pause`: 暂停这里的自动工作，直到 `resume`
            - `@patchwright resume`: 恢复自动工作
            - `@patchwright cancel`: 停止这里正在等待或运行的工作
            - `@patchwright resolve ID`: 将一个问题标记为已修复
            - `@patchwright dismiss ID [why]`: 关闭一个不会修复的问题

            每条评论一个命令。代码、引用和隐藏注释中的内容不会被读取。
            ---
            我在这里的工作：

            - `review`：运行中（阶段 `answer`），已 1 分钟，第 2 次尝试
            - `fix`：等待中，已 2 小时
            - `help`：已完成，1 天前
            ---
            没有成功（任务 `0197-abc`）：

            > x"#]]
        .assert_eq(&said.join("\n---\n"));
    }

    #[test]
    fn h6_every_language_says_everything_with_what_it_is_about() {
        for language in Language::ALL {
            let voice = voice(language);
            let check = |said: String, about: &[&str]| {
                assert!(!said.trim().is_empty(), "{language}");
                for about in about {
                    assert!(said.contains(about), "{language}: {said}");
                }
                quote::tests::assert_harmless(&said);
            };
            let usages = Verb::ALL.map(|verb| format!("`@patchwright {}`: ", verb.usage()));
            check(voice.help(&[Verb::Help]), &usages.each_ref().map(String::as_str));
            check(
                voice.status(&goings()),
                &["- `review`", "`answer`", "1", "2", "- `fix`", "- `help`"],
            );
            check(voice.status(&[]), &[]);
            check(voice.cannot_yet("@x fix"), &["`@x fix`", "`@patchwright help`"]);
            check(voice.apology(&job()), &["`0197-abc`"]);
            check(voice.failed("@all\n/close", &job()), &["`0197-abc`", "> `@all`\n> \\/close"]);
            check(voice.waiting("api.forge.example"), &["`api.forge.example`"]);
            check(voice.budget_of_repository(200), &["200", "UTC"]);
            check(voice.budget_of_author("alice", 10), &["`alice`", "10", "UTC"]);
            check(voice.needs_write("@alice", "fix"), &["`@alice`", "`fix`"]);
            check(voice.cancelled(3), &["3"]);
            check(voice.cancelled(0), &[]);
            check(voice.status(&[goings()[0]; LONGEST_LIST + 7]), &["7"]);
        }
    }

    #[test]
    fn h6_no_two_languages_say_the_same() {
        let mut said: Vec<_> =
            Language::ALL.map(|language| voice(language).help(&Verb::ALL)).into();
        said.sort();
        said.dedup();
        assert_eq!(said.len(), Language::ALL.len());
    }

    #[test]
    fn a_comment_is_answered_in_its_own_language() {
        assert_eq!(english().answering("@patchwright 帮助").language, Language::Zh);
        assert_eq!(voice(Language::Ko).answering("@patchwright help").language, Language::Ko);
    }
}
