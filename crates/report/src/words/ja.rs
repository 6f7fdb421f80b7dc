//! Japanese.

use domain::JobId;
use domain::job::State;

use super::{Going, Span, Verb, Words};
use crate::body::Sentence;

pub(super) struct Japanese;

impl Words for Japanese {
    fn help_opening(&self, bot: &str) -> Sentence {
        Sentence::default()
            .code(format!("@{bot}"))
            .ours(" です。ここのコメントに次のいずれかを書いてください。")
    }

    fn help_line(&self, verb: Verb) -> &'static str {
        match verb {
            Verb::Help => "この一覧を表示します",
            Verb::Status => "ここで何をしているかを答えます",
            Verb::Review => {
                "この変更の新しい部分をレビューします。`full review` は最初からやり直します"
            }
            Verb::Detect => "ブランチの問題を探します",
            Verb::Fix => "issue または指摘を修正し、結果を検証します",
            Verb::Repair => "`.proto` ファイルの変更で壊れるコードを修復します",
            Verb::Pause => "`resume` まで自動作業を止めます",
            Verb::Resume => "自動作業を再開します",
            Verb::Cancel => "待機中または実行中の作業を止めます",
            Verb::Resolve => "指摘を修正済みにします",
            Verb::Dismiss => "修正しない指摘を閉じます",
        }
    }

    fn help_not_yet(&self) -> Sentence {
        "次のコマンドは知っていますが、このバージョンではまだ実行できません。".into()
    }

    fn help_manners(&self) -> Sentence {
        "コマンドは 1 コメントに 1 つです。コード、引用、隠しコメントの中は読みません。".into()
    }

    fn status_opening(&self) -> Sentence {
        "ここでの作業は次のとおりです。".into()
    }

    fn status_line(&self, going: &Going<'_>) -> Sentence {
        let mut line = Sentence::default().code(going.task).ours(": ").ours(state(going.state));
        if let Some(stage) = going.running_stage() {
            line = line.ours("（段階 ").code(stage).ours("）");
        }
        line = if going.state.is_final() {
            line.ours("、").and(span(going.age.into())).ours("前")
        } else {
            line.ours("、").and(span(going.age.into())).ours("経過")
        };
        match going.repeated() {
            Some(attempt) => line.ours("、").number(attempt).ours(" 回目"),
            None => line,
        }
    }

    fn status_more(&self, jobs: u64) -> Sentence {
        Sentence::from("…ほか ").number(jobs).ours(" 件。")
    }

    fn status_nothing(&self) -> Sentence {
        "ここでは何も行われていません。".into()
    }

    fn cannot_yet(&self, command: &str, bot: &str) -> Sentence {
        Sentence::from("このバージョンではまだ ")
            .code(command)
            .ours(" を実行できません。できることは ")
            .code(format!("@{bot} help"))
            .ours(" で一覧できます。")
    }

    fn apology(&self, job: &JobId) -> Sentence {
        Sentence::from("申し訳ありません。完了できず、断念しました。運用担当者はジョブ ")
            .code(&job.0)
            .ours(" で理由を確認できます。")
    }

    fn failed(&self, job: &JobId) -> Sentence {
        Sentence::from("うまくいきませんでした（ジョブ ").code(&job.0).ours("）。")
    }

    fn waiting(&self, what: &str) -> Sentence {
        Sentence::from("現在接続できない ")
            .code(what)
            .ours(" を待っています。復旧すれば自動的に続けます。")
    }

    fn budget_of_repository(&self, limit: u32) -> Sentence {
        Sentence::from("このリポジトリは本日分の ")
            .number(limit)
            .ours(" 件のジョブを使い切りました。午前 0 時（UTC）以降に再開します。")
    }

    fn budget_of_author(&self, login: &str, limit: u32) -> Sentence {
        Sentence::default()
            .code(login)
            .ours(" さんは、書き込み権限のない人に認められた 1 日 ")
            .number(limit)
            .ours(" 件のジョブを使い切りました。午前 0 時（UTC）以降に再び受け付けます。")
    }

    fn needs_write(&self, login: &str, command: &str) -> Sentence {
        Sentence::default()
            .code(command)
            .ours(" はこのリポジトリに書き込み権限のある人だけが依頼できます。")
            .code(login)
            .ours(" さんにはその権限がありません。")
    }

    fn cancelled(&self, jobs: u64) -> Sentence {
        Sentence::default().number(jobs).ours(" 件のジョブを止めました。")
    }

    fn nothing_to_cancel(&self) -> Sentence {
        "ここには取り消すものがありません。".into()
    }

    fn left_out(&self, characters: u64) -> Sentence {
        Sentence::from("この文章は長すぎるため、").number(characters).ours(" 文字を省きました。")
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Queued => "待機中",
        State::Running => "実行中",
        State::Done => "完了",
        State::Failed => "失敗",
        State::Dead => "断念",
        State::Cancelled => "取り消し",
        State::Superseded => "新しい作業に置き換え",
        State::Skipped => "対象なし",
    }
}

fn span(span: Span) -> Sentence {
    let (count, unit) = match span {
        Span::Seconds(count) => (count, " 秒"),
        Span::Minutes(count) => (count, " 分"),
        Span::Hours(count) => (count, " 時間"),
        Span::Days(count) => (count, " 日"),
    };
    Sentence::default().number(count).ours(unit)
}
