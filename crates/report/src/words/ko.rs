//! Korean.

use domain::JobId;
use domain::job::State;

use super::{Going, Span, Verb, Words};
use crate::body::Sentence;

pub(super) struct Korean;

impl Words for Korean {
    fn help_opening(&self, bot: &str) -> Sentence {
        Sentence::from("저는 ")
            .code(format!("@{bot}"))
            .ours("입니다. 이곳의 댓글에 다음 중 하나를 적어 주세요.")
    }

    fn help_line(&self, verb: Verb) -> &'static str {
        match verb {
            Verb::Help => "이 목록을 보여 줍니다",
            Verb::Status => "여기서 무엇을 하고 있는지 알려 줍니다",
            Verb::Review => {
                "이 변경의 새로운 부분을 리뷰합니다. `full review`는 처음부터 다시 합니다"
            }
            Verb::Detect => "브랜치의 문제를 찾습니다",
            Verb::Fix => "이슈나 지적 사항을 고치고 결과를 검증합니다",
            Verb::Repair => "`.proto` 파일 변경으로 깨지는 코드를 고칩니다",
            Verb::Pause => "`resume`까지 자동 작업을 멈춥니다",
            Verb::Resume => "자동 작업을 다시 시작합니다",
            Verb::Cancel => "대기 중이거나 실행 중인 작업을 멈춥니다",
            Verb::Resolve => "지적 사항을 해결됨으로 표시합니다",
            Verb::Dismiss => "고치지 않을 지적 사항을 닫습니다",
        }
    }

    fn help_not_yet(&self) -> Sentence {
        "다음 명령은 알고 있지만 이 버전에서는 아직 할 수 없습니다.".into()
    }

    fn help_manners(&self) -> Sentence {
        "댓글 하나에 명령 하나입니다. 코드, 인용, 숨은 주석 안의 내용은 읽지 않습니다.".into()
    }

    fn status_opening(&self) -> Sentence {
        "여기서 하고 있는 일입니다.".into()
    }

    fn status_line(&self, going: &Going<'_>) -> Sentence {
        let mut line = Sentence::default().code(going.task).ours(": ").ours(state(going.state));
        if let Some(stage) = going.running_stage() {
            line = line.ours(" (단계 ").code(stage).ours(")");
        }
        line = if going.state.is_final() {
            line.ours(", ").and(span(going.age.into())).ours(" 전")
        } else {
            line.ours(", ").and(span(going.age.into())).ours("째")
        };
        match going.repeated() {
            Some(attempt) => line.ours(", ").number(attempt).ours("번째 시도"),
            None => line,
        }
    }

    fn status_more(&self, jobs: u64) -> Sentence {
        Sentence::from("… 그 밖에 ").number(jobs).ours("개.")
    }

    fn status_nothing(&self) -> Sentence {
        "여기서는 진행 중인 일이 없습니다.".into()
    }

    fn cannot_yet(&self, command: &str, bot: &str) -> Sentence {
        Sentence::from("이 버전에서는 아직 ")
            .code(command)
            .ours(" 명령을 할 수 없습니다. 할 수 있는 일은 ")
            .code(format!("@{bot} help"))
            .ours("로 볼 수 있습니다.")
    }

    fn apology(&self, job: &JobId) -> Sentence {
        Sentence::from("죄송합니다. 이 일을 끝내지 못하고 포기했습니다. 운영자는 작업 ")
            .code(&job.0)
            .ours("에서 이유를 확인할 수 있습니다.")
    }

    fn failed(&self, job: &JobId) -> Sentence {
        Sentence::from("성공하지 못했습니다(작업 ").code(&job.0).ours(").")
    }

    fn waiting(&self, what: &str) -> Sentence {
        Sentence::from("지금 연결할 수 없는 ")
            .code(what)
            .ours("을(를) 기다리고 있습니다. 복구되면 스스로 계속합니다.")
    }

    fn budget_of_repository(&self, limit: u32) -> Sentence {
        Sentence::from("이 저장소는 오늘의 작업 ")
            .number(limit)
            .ours("개를 모두 썼습니다. 자정(UTC) 이후에 다시 시작합니다.")
    }

    fn budget_of_author(&self, login: &str, limit: u32) -> Sentence {
        Sentence::default()
            .code(login)
            .ours(" 님은 쓰기 권한이 없는 사람에게 허용된 하루 작업 ")
            .number(limit)
            .ours("개를 모두 썼습니다. 자정(UTC) 이후에 다시 받습니다.")
    }

    fn needs_write(&self, login: &str, command: &str) -> Sentence {
        Sentence::default()
            .code(command)
            .ours(" 명령은 이 저장소에 쓰기 권한이 있는 사람만 요청할 수 있습니다. ")
            .code(login)
            .ours(" 님에게는 그 권한이 없습니다.")
    }

    fn cancelled(&self, jobs: u64) -> Sentence {
        Sentence::from("작업 ").number(jobs).ours("개를 멈췄습니다.")
    }

    fn nothing_to_cancel(&self) -> Sentence {
        "여기에는 취소할 것이 없습니다.".into()
    }

    fn left_out(&self, characters: u64) -> Sentence {
        Sentence::from("글이 너무 길어 ").number(characters).ours("자를 생략했습니다.")
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Queued => "대기 중",
        State::Running => "실행 중",
        State::Done => "완료",
        State::Failed => "실패",
        State::Dead => "포기함",
        State::Cancelled => "취소됨",
        State::Superseded => "새 작업으로 대체됨",
        State::Skipped => "할 일 없음",
    }
}

fn span(span: Span) -> Sentence {
    let (count, unit) = match span {
        Span::Seconds(count) => (count, "초"),
        Span::Minutes(count) => (count, "분"),
        Span::Hours(count) => (count, "시간"),
        Span::Days(count) => (count, "일"),
    };
    Sentence::default().number(count).ours(unit)
}
