//! Thai.

use domain::JobId;
use domain::job::State;

use super::{Going, Span, Verb, Words};
use crate::body::Sentence;

pub(super) struct Thai;

impl Words for Thai {
    fn help_opening(&self, bot: &str) -> Sentence {
        Sentence::from("ฉันคือ ")
            .code(format!("@{bot}"))
            .ours(" เขียนคำสั่งใดคำสั่งหนึ่งต่อไปนี้ในความคิดเห็นที่นี่:")
    }

    fn help_line(&self, verb: Verb) -> &'static str {
        match verb {
            Verb::Help => "แสดงรายการนี้",
            Verb::Status => "บอกว่าฉันกำลังทำอะไรอยู่ที่นี่",
            Verb::Review => "รีวิวส่วนใหม่ของการเปลี่ยนแปลงนี้ ส่วน `full review` เริ่มใหม่ทั้งหมด",
            Verb::Detect => "ค้นหาปัญหาในบรานช์",
            Verb::Fix => "แก้ issue หรือปัญหาที่พบ และตรวจสอบผลลัพธ์",
            Verb::Repair => "ซ่อมโค้ดที่เสียเพราะไฟล์ `.proto` เปลี่ยน",
            Verb::Pause => "หยุดงานอัตโนมัติที่นี่จนกว่าจะสั่ง `resume`",
            Verb::Resume => "เริ่มงานอัตโนมัติอีกครั้ง",
            Verb::Cancel => "หยุดงานที่รออยู่หรือกำลังทำอยู่ที่นี่",
            Verb::Resolve => "ทำเครื่องหมายว่าปัญหาได้รับการแก้แล้ว",
            Verb::Dismiss => "ปิดปัญหาที่จะไม่แก้",
        }
    }

    fn help_not_yet(&self) -> Sentence {
        "ฉันรู้จักคำสั่งเหล่านี้ แต่รุ่นนี้ยังทำไม่ได้:".into()
    }

    fn help_manners(&self) -> Sentence {
        "หนึ่งคำสั่งต่อหนึ่งความคิดเห็น ข้อความในโค้ด ในคำอ้างอิง หรือในความเห็นที่ซ่อนไว้จะไม่ถูกอ่าน".into()
    }

    fn status_opening(&self) -> Sentence {
        "งานของฉันที่นี่:".into()
    }

    fn status_line(&self, going: &Going<'_>) -> Sentence {
        let mut line = Sentence::default().code(going.task).ours(": ").ours(state(going.state));
        if let Some(stage) = going.running_stage() {
            line = line.ours(" (ขั้นตอน ").code(stage).ours(")");
        }
        line = if going.state.is_final() {
            line.ours(" เมื่อ ").and(span(going.age.into())).ours("ที่แล้ว")
        } else {
            line.ours(" มาแล้ว ").and(span(going.age.into()))
        };
        match going.repeated() {
            Some(attempt) => line.ours(" ครั้งที่ ").number(attempt),
            None => line,
        }
    }

    fn status_more(&self, jobs: u64) -> Sentence {
        Sentence::from("… และอีก ").number(jobs).ours(" งาน")
    }

    fn status_nothing(&self) -> Sentence {
        "ไม่มีงานใดดำเนินอยู่ที่นี่".into()
    }

    fn cannot_yet(&self, command: &str, bot: &str) -> Sentence {
        Sentence::from("รุ่นนี้ยังทำ ")
            .code(command)
            .ours(" ไม่ได้ ดูสิ่งที่ฉันทำได้ด้วย ")
            .code(format!("@{bot} help"))
    }

    fn apology(&self, job: &JobId) -> Sentence {
        Sentence::from("ขออภัย ฉันทำงานนี้ไม่สำเร็จและต้องเลิกทำ ผู้ดูแลระบบดูสาเหตุได้ที่งาน ").code(&job.0)
    }

    fn failed(&self, job: &JobId) -> Sentence {
        Sentence::from("ไม่สำเร็จ (งาน ").code(&job.0).ours("):")
    }

    fn waiting(&self, what: &str) -> Sentence {
        Sentence::from("ฉันกำลังรอ ").code(what).ours(" ซึ่งขณะนี้ติดต่อไม่ได้ เมื่อกลับมาแล้วฉันจะทำต่อเอง")
    }

    fn budget_of_repository(&self, limit: u32) -> Sentence {
        Sentence::from("ที่เก็บโค้ดนี้ใช้งานของวันนี้ครบ ")
            .number(limit)
            .ours(" งานแล้ว ฉันจะเริ่มใหม่หลังเที่ยงคืน (UTC)")
    }

    fn budget_of_author(&self, login: &str, limit: u32) -> Sentence {
        Sentence::default()
            .code(login)
            .ours(" ใช้งานครบ ")
            .number(limit)
            .ours(" งานต่อวันสำหรับผู้ที่ไม่มีสิทธิ์เขียนแล้ว ฉันจะรับคำสั่งอีกครั้งหลังเที่ยงคืน (UTC)")
    }

    fn needs_write(&self, login: &str, command: &str) -> Sentence {
        Sentence::from("ฉันทำ ")
            .code(command)
            .ours(" ให้เฉพาะผู้ที่มีสิทธิ์เขียนในที่เก็บโค้ดนี้ และ ")
            .code(login)
            .ours(" ไม่มีสิทธิ์นั้น")
    }

    fn cancelled(&self, jobs: u64) -> Sentence {
        Sentence::from("ฉันหยุดแล้ว ").number(jobs).ours(" งาน")
    }

    fn nothing_to_cancel(&self) -> Sentence {
        "ที่นี่ไม่มีอะไรให้ยกเลิก".into()
    }

    fn left_out(&self, characters: u64) -> Sentence {
        Sentence::from("ข้อความนี้ยาวเกินไป: ตัดออก ").number(characters).ours(" อักขระ")
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Queued => "รออยู่",
        State::Running => "กำลังทำ",
        State::Done => "เสร็จแล้ว",
        State::Failed => "ไม่สำเร็จ",
        State::Dead => "เลิกทำแล้ว",
        State::Cancelled => "ยกเลิกแล้ว",
        State::Superseded => "ถูกแทนที่ด้วยงานใหม่กว่า",
        State::Skipped => "ไม่มีอะไรต้องทำ",
    }
}

fn span(span: Span) -> Sentence {
    let (count, unit) = match span {
        Span::Seconds(count) => (count, " วินาที"),
        Span::Minutes(count) => (count, " นาที"),
        Span::Hours(count) => (count, " ชั่วโมง"),
        Span::Days(count) => (count, " วัน"),
    };
    Sentence::default().number(count).ours(unit)
}
