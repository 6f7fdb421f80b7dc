//! Chinese (simplified).

use domain::JobId;
use domain::job::State;

use super::{Going, Span, Verb, Words};
use crate::body::Sentence;

pub(super) struct Chinese;

impl Words for Chinese {
    fn help_opening(&self, bot: &str) -> Sentence {
        Sentence::from("我是 ").code(format!("@{bot}")).ours("。请在这里的评论中写下其中一条命令：")
    }

    fn help_line(&self, verb: Verb) -> &'static str {
        match verb {
            Verb::Help => "显示此列表",
            Verb::Status => "说明我正在这里做什么",
            Verb::Review => "审查此变更中的新内容；`full review` 从头审查",
            Verb::Detect => "检查分支上的问题",
            Verb::Fix => "修复此 issue 或已发现的问题，并验证结果",
            Verb::Repair => "修复因 `.proto` 文件变更而损坏的代码",
            Verb::Pause => "暂停这里的自动工作，直到 `resume`",
            Verb::Resume => "恢复自动工作",
            Verb::Cancel => "停止这里正在等待或运行的工作",
            Verb::Resolve => "将一个问题标记为已修复",
            Verb::Dismiss => "关闭一个不会修复的问题",
        }
    }

    fn help_not_yet(&self) -> Sentence {
        "我认识下列命令，但当前版本还不能执行：".into()
    }

    fn help_manners(&self) -> Sentence {
        "每条评论一个命令。代码、引用和隐藏注释中的内容不会被读取。".into()
    }

    fn status_opening(&self) -> Sentence {
        "我在这里的工作：".into()
    }

    fn status_line(&self, going: &Going<'_>) -> Sentence {
        let mut line = Sentence::default().code(going.task).ours("：").ours(state(going.state));
        if let Some(stage) = going.running_stage() {
            line = line.ours("（阶段 ").code(stage).ours("）");
        }
        line = if going.state.is_final() {
            line.ours("，").and(span(going.age.into())).ours("前")
        } else {
            line.ours("，已 ").and(span(going.age.into()))
        };
        match going.repeated() {
            Some(attempt) => line.ours("，第 ").number(attempt).ours(" 次尝试"),
            None => line,
        }
    }

    fn status_more(&self, jobs: u64) -> Sentence {
        Sentence::from("……还有 ").number(jobs).ours(" 个。")
    }

    fn status_nothing(&self) -> Sentence {
        "这里目前没有任何工作。".into()
    }

    fn cannot_yet(&self, command: &str, bot: &str) -> Sentence {
        Sentence::from("当前版本还不能执行 ")
            .code(command)
            .ours("。")
            .code(format!("@{bot} help"))
            .ours(" 会列出我能做的事。")
    }

    fn apology(&self, job: &JobId) -> Sentence {
        Sentence::from("很抱歉：我没能完成这项工作，已经放弃。运维人员可以在任务 ")
            .code(&job.0)
            .ours(" 下找到原因。")
    }

    fn failed(&self, job: &JobId) -> Sentence {
        Sentence::from("没有成功（任务 ").code(&job.0).ours("）：")
    }

    fn waiting(&self, what: &str) -> Sentence {
        Sentence::from("我正在等待 ").code(what).ours("，目前无法连接。恢复后我会自动继续。")
    }

    fn budget_of_repository(&self, limit: u32) -> Sentence {
        Sentence::from("此仓库今天的 ")
            .number(limit)
            .ours(" 个任务已用完。午夜（UTC）之后我会继续工作。")
    }

    fn budget_of_author(&self, login: &str, limit: u32) -> Sentence {
        Sentence::default()
            .code(login)
            .ours(" 已用完没有写权限的用户每天的 ")
            .number(limit)
            .ours(" 个任务。午夜（UTC）之后我会再次响应。")
    }

    fn needs_write(&self, login: &str, command: &str) -> Sentence {
        Sentence::from("只有对此仓库有写权限的人才能让我执行 ")
            .code(command)
            .ours("，而 ")
            .code(login)
            .ours(" 没有该权限。")
    }

    fn cancelled(&self, jobs: u64) -> Sentence {
        Sentence::from("我停止了 ").number(jobs).ours(" 个任务。")
    }

    fn nothing_to_cancel(&self) -> Sentence {
        "这里没有可取消的任务。".into()
    }

    fn left_out(&self, characters: u64) -> Sentence {
        Sentence::from("此文本过长：省略了 ").number(characters).ours(" 个字符。")
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Queued => "等待中",
        State::Running => "运行中",
        State::Done => "已完成",
        State::Failed => "失败",
        State::Dead => "已放弃",
        State::Cancelled => "已取消",
        State::Superseded => "已被新的工作取代",
        State::Skipped => "无需处理",
    }
}

fn span(span: Span) -> Sentence {
    let (count, unit) = match span {
        Span::Seconds(count) => (count, " 秒"),
        Span::Minutes(count) => (count, " 分钟"),
        Span::Hours(count) => (count, " 小时"),
        Span::Days(count) => (count, " 天"),
    };
    Sentence::default().number(count).ours(unit)
}
