//! The words of the grammar, as data: in each list, `|` parts the entries.
//!
//! [`super::verb`] and [`super::instruction`] read them. Words are lower case; a space parts the
//! words of one entry. What follows a verb and shows that it is no order goes to one of the lists
//! `NOT_AN_ORDER`.

use super::verb::Verb;

/// Verbs of scripts with word borders.
pub(super) const SPACED: &[(Verb, &str)] = &[
    (Verb::Help, "help | मदद | सहायता"),
    (Verb::Status, "status | स्थिति"),
    (Verb::Pause, "pause | रोको | रोकें"),
    (Verb::Resume, "resume | unpause | जारी रखो | जारी रखें"),
    (Verb::Cancel, "cancel | abort | stop | रद्द करो | रद्द करें"),
    (Verb::Resolve, "resolve"),
    (Verb::Dismiss, "dismiss"),
    (
        Verb::Review,
        "\
            review | check | समीक्षा | समीक्षा करो | समीक्षा करें | जांच करो | जांच करें | जाँच करो | \
            जाँच करें",
    ),
    (Verb::FullReview, "full review | full-review | complete review | पूरी समीक्षा"),
    (Verb::Detect, "detect"),
    (
        Verb::Fix,
        "\
        fix | apply | ठीक करो | ठीक करें | ठीक कीजिए | सुधारो | सुधारें | लागू करो | लागू करें",
    ),
    (
        Verb::Edit,
        "\
        implement | add | create | update | change | modify | बनाओ | बनाएँ | बदलो | बदलें",
    ),
    (Verb::Repair, "repair"),
    (Verb::Ignore, "ignore"),
];

/// Verbs of scripts without word borders: Chinese, Japanese, Korean, Thai. Japanese and Korean
/// verbs that change something stand in the forms that ask, because the bare noun does not.
pub(super) const UNSPACED: &[(Verb, &str)] = &[
    (Verb::Help, "帮助 | 幫助 | ヘルプ | 使い方 | 도움말 | 도와줘 | ช่วยเหลือ | วิธีใช้"),
    (Verb::Status, "状态 | 狀態 | 进度 | 進度 | 状態 | 状況 | ステータス | 상태 | สถานะ"),
    (Verb::Pause, "暂停 | 暫停 | 一時停止 | 일시정지 | 일시 정지 | หยุดชั่วคราว"),
    (Verb::Resume, "恢复 | 恢復 | 继续 | 繼續 | 再開 | 재개 | ทำต่อ | ดำเนินการต่อ"),
    (Verb::Cancel, "取消 | 停止 | 中止 | キャンセル | 취소 | ยกเลิก"),
    (Verb::Resolve, "解决 | 解決 | 해결"),
    (Verb::Dismiss, "驳回 | 駁回 | 却下 | 기각"),
    (
        Verb::Review,
        "\
            审查 | 審查 | 检查 | 檢查 | 评审 | 評審 | レビュー | レビューして | 確認して | 리뷰 | \
            검토 | รีวิว | ตรวจสอบ | ตรวจ",
    ),
    (
        Verb::FullReview,
        "\
            全面审查 | 完整审查 | 全部审查 | 重新审查 | 全面檢查 | 全面检查 | 完整審查 | \
            フルレビュー | 全体レビュー | 전체 리뷰 | รีวิวทั้งหมด",
    ),
    (Verb::Detect, "检测 | 檢測 | 検出 | 탐지 | 감지 | ตรวจจับ"),
    (
        Verb::Fix,
        "\
            修复 | 修復 | 修正 | 应用 | 應用 | 修正して | 直して | 適用して | 수정해 | 고쳐 | \
            적용해 | แก้ไข | แก้",
    ),
    (
        Verb::FixAll,
        "\
            全部修复 | 全部修復 | 全部修正 | 全て修正して | すべて修正して | 모두 수정해 | \
            전부 수정해 | แก้ไขทั้งหมด",
    ),
    (
        Verb::Edit,
        "\
            实现 | 實現 | 添加 | 创建 | 創建 | 更新 | 修改 | 改一下 | 帮我改 | 幫我改 | 実装して | \
            追加して | 作成して | 更新して | 変更して | 구현해 | 추가해 | 만들어 | 변경해 | 바꿔 | \
            เพิ่ม | สร้าง | ปรับปรุง | เปลี่ยน",
    ),
    (Verb::Ignore, "忽略 | 無視 | 무시"),
];

/// Words after a verb that make it a noun or turn it round: "fix is wrong", "change of plans".
pub(super) const NOT_AN_ORDER: &str = "\
    is | was | are | were | isn't | wasn't | aren't | weren't | does | did | doesn't | \
    didn't | has | had | hasn't | hadn't | looks | look | seems | works | worked | broke | \
    breaks | failed | fails | needs | should | shouldn't | would | could | can | can't | \
    will | won't | might | may | must | of | nothing | none | not | never | request | \
    requests";

/// The same for scripts without word borders: particles, tenses, thanks.
pub(super) const NOT_AN_ORDER_UNSPACED: &str = "\
    了 | 过 | 過 | 后 | 後 | 的 | 吗 | 嗎 | 是 | 完 | 方案 | 建议 | 建議 | 谢 | 謝 | 感谢 | \
    感謝 | ありがと | い | も | は | か | な | し | が | の | 야 | 서 | 졌 | 진 | 지 | 도 | \
    했 | 감사 | 고마 | แล้ว | ไม่ | ได้";

/// Words that only begin like one of [`NOT_AN_ORDER_UNSPACED`], and forms that ask: "修改后端" orders to
/// edit the back end, "再開してください" to resume.
pub(super) const STILL_AN_ORDER_UNSPACED: &str = "\
    してくだ | して下さ | お願い | をお願い | 后端 | 後端 | 后台 | 後台 | 过期 | 過期 | \
    过滤 | 過濾 | 过程 | 過程 | 完整 | 完善";

/// Endings of a sentence that make it a question without a question mark.
pub(super) const ASKS: &str = "吗 | 嗎 | 么 | 麼 | 呢 | か | 까 | 나요";

/// Words of courtesy that may stand before a verb.
pub(super) const COURTESIES: &str =
    "please | pls | plz | kindly | hi | hey | hello | ok | okay | कृपया";

pub(super) const COURTESIES_UNSPACED: &str = "\
    请 | 請 | 麻烦 | 麻煩 | 帮我 | 幫我 | 帮忙 | 幫忙 | 你好 | 您好 | こんにちは | 좀 | \
    ช่วย | โปรด | กรุณา";

/// Courtesies that have the form of a question: "can you fix this?" is an order all the same.
pub(super) const COURTEOUS_QUESTIONS: &str = "can you | could you";

/// Words that add nothing to a verb that stands alone: "pause the reviews please".
pub(super) const FILLERS: &str = "\
    please | pls | plz | now | it | this | that | the | of | for | all | everything | \
    here | again | me | us | thanks | thank | you | job | jobs | run | runs | work | task | \
    tasks | review | reviews | change | pr | mr | branch | issue | bugs | problems | \
    issues | findings | करो | करें | कीजिए | कृपया";

pub(super) const FILLERS_UNSPACED: &str = "\
    一下 | 吧 | 请 | 請 | 谢谢 | 謝謝 | 任务 | 任務 | 审查 | を | お願いします | お願い | \
    してください | して | ください | 下さい | します | です | 해주세요 | 해줘 | 주세요 | \
    줘 | 해 | 요 | ครับ | ค่ะ | หน่อย | งาน | ด้วย";

/// What a review takes when it is told to take everything.
pub(super) const FULLY: &str =
    "full | fully | all | everything | completely | 全部 | 所有 | 全て | 전체";

/// What means every finding after a verb that mends, and what may follow it.
pub(super) const ALL: &str = "\
        all | everything | 全部 | 所有 | 全部问题 | 所有问题 | 全て | すべて | 모두 | 전부 | \
        ทั้งหมด";
pub(super) const WITH_ALL: &str =
    "of | them | the | these | findings | issues | problems | comments | bugs";

/// What may stand between the ids of findings.
pub(super) const BETWEEN_IDS: &str = "\
    and | finding | findings | please | pls | now | thanks | thank | you | first | too | \
    和 | 与 | と";

/// The entries of a list.
pub(super) fn entries(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split('|').map(str::trim)
}

/// Whether a word is an entry of a list.
pub(super) fn has(list: &'static str, word: &str) -> bool {
    entries(list).any(|entry| entry.eq_ignore_ascii_case(word))
}
