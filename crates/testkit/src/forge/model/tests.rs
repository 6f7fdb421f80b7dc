//! What the model does that no face of today shows.

use ::forge::Permission;

use super::*;
use crate::forge::object::{
    AccountKind, Anchor, DraftTarget, FakeChange, Inline, Spot, Verdict, Which,
};

const NOW: Time = Time(1_000);

/// A model of a host that numbers issues and changes separately, with an issue and a change, both 1.
struct Setting {
    model: Model,
    ada: Account,
    bot: Account,
    change: u64,
    head: String,
}

impl Setting {
    fn new(anchors: Anchors) -> Self {
        let mut model = Model::new(Habits {
            numbering: Numbering::Separate,
            comment_ids: CommentIds::One,
            anchors,
            lone_comments: LoneComments::Alone,
            longest_body: 10,
        });
        let ada = model.add_account("ada", AccountKind::Person).unwrap();
        let bot = model.add_account("bot", AccountKind::Bot).unwrap();
        let repo = model.add_repo("octo/widgets").unwrap().id;
        model.grant(repo, "bot", Permission::Write).unwrap();
        let act = Act { by: &ada, now: NOW };
        model.open(repo, "An issue", "", None, act).unwrap();
        let change = FakeChange::from_branch("mend");
        let head = change.head.clone();
        let change = model.open(repo, "A change", "", Some(change), act).unwrap().id;
        Self { model, ada, bot, change, head }
    }

    fn draft(&mut self, line: u64, body: &str) -> FakeDraft {
        let anchor = Anchor::new_line("src/lib.rs", line);
        let target = DraftTarget::Anchor { anchor, commit: self.head.clone() };
        let act = Act { by: &self.bot, now: NOW };
        self.model.add_draft(self.change, body, target, act).unwrap()
    }
}

#[test]
fn issues_and_changes_may_be_counted_separately() {
    let Setting { model, .. } = Setting::new(Anchors::Checked);
    let repo = model.repo_named("octo/widgets").unwrap().id;
    assert_eq!(model.find(repo, Which::Issue(1)).unwrap().title, "An issue");
    assert_eq!(model.find(repo, Which::Change(1)).unwrap().title, "A change");
    assert_eq!(model.find(repo, Which::Any(1)).unwrap_err(), Refusal::Ambiguous(1));
}

#[test]
fn where_comments_share_their_ids_no_two_have_the_same() {
    let Setting { mut model, ada, change, head, .. } = Setting::new(Anchors::Checked);
    let act = Act { by: &ada, now: NOW };
    let said = model.add_comment(change, Spot::Conversation, "hello", act).unwrap();
    let inline = Inline { anchor: Anchor::new_line("src/lib.rs", 3), body: "why?".to_owned() };
    let (_, comment) = model.open_thread(change, &head, &inline, None, act).unwrap();
    assert_ne!(said.id, comment.id);
    let under = model.add_comment(change, Spot::Under(said.id), "hi", act).unwrap();
    let wrong = model.add_comment(change, Spot::Under(under.id), "no", act);
    assert_eq!(wrong.unwrap_err(), Refusal::Missing(format!("discussion {}", under.id)));
    assert_eq!(model.check_body("01234567890").unwrap_err(), Refusal::TooLong(10));
}

#[test]
fn a_host_that_does_not_check_takes_any_line() {
    let inline = Inline { anchor: Anchor::new_line("nowhere", 99), body: "x".to_owned() };
    for (anchors, expected) in [(Anchors::Checked, false), (Anchors::Unchecked, true)] {
        let Setting { mut model, ada, change, head, .. } = Setting::new(anchors);
        let act = Act { by: &ada, now: NOW };
        assert_eq!(model.open_thread(change, &head, &inline, None, act).is_ok(), expected);
    }
}

#[test]
fn drafts_are_their_authors_alone_and_a_batch_of_them_may_break_midway() {
    let mut setting = Setting::new(Anchors::Checked);
    for (line, body) in [(1, "one"), (2, "two"), (3, "three")] {
        setting.draft(line, body);
    }
    let Setting { mut model, ada, bot, change, .. } = setting;
    assert_eq!(model.drafts(change, &ada), Vec::<&FakeDraft>::new());
    let foreign = model.drafts(change, &bot)[0].id;
    assert!(model.delete_draft(foreign, &ada).is_err());
    let act = Act { by: &bot, now: NOW };
    model.breaks_after = Some(2);
    assert_eq!(model.publish_drafts(change, act).unwrap_err(), Refusal::Broken);
    assert_eq!((model.said(change).len(), model.drafts(change, &bot).len()), (2, 1));
    model.breaks_after = None;
    assert_eq!(model.publish_drafts(change, act).unwrap().len(), 1);
    assert_eq!(model.threads(change).len(), 3);
}

#[test]
fn a_review_that_is_refused_leaves_nothing_behind() {
    let Setting { mut model, ada, change, head, .. } = Setting::new(Anchors::Checked);
    let inline =
        |line| Inline { anchor: Anchor::new_line("src/lib.rs", line), body: "x".to_owned() };
    let new = NewReview {
        commit: head,
        body: String::new(),
        verdict: Some(Verdict::Comment),
        comments: vec![inline(1), inline(99)],
    };
    let act = Act { by: &ada, now: NOW };
    assert_eq!(
        model.review_at_once(change, &new, act).unwrap_err(),
        Refusal::Misplaced(Misplaced::Line)
    );
    assert_eq!((model.said(change).len(), model.reviews(change).len()), (0, 0));
    assert_eq!(model.threads(change).len(), 0);
}
