//! What the forges do differently from what one would think, one test each.

use domain::event::{Comment, Happening, Place};
use domain::{AccountId, RepoKey, SubjectKind};
use forge::Host;
use forge::webhook::Malformed;
use serde_json::{Value, json};

use crate::fixtures::{self, Sent, named};

fn github(name: &str) -> Sent {
    named(&fixtures::GITHUB_COM, name)
}

fn gitlab(name: &str) -> Sent {
    named(&fixtures::gitlab(), name)
}

fn gitea(name: &str) -> Sent {
    named(&fixtures::gitea("1.26.0"), name)
}

fn gitcode(name: &str) -> Sent {
    named(&fixtures::gitcode(), name)
}

/// Changes fields of a payload: each pair is a JSON pointer and what then stands there.
fn with(sent: &Sent, changes: &[(&str, Value)]) -> Sent {
    let mut body = sent.json();
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    sent.with_json(&body)
}

#[track_caller]
fn comment(sent: &Sent) -> Comment {
    match sent.event().happening {
        Happening::Commented(comment) | Happening::CommentEdited { comment, .. } => comment,
        other => panic!("{} is {other:?}", sent.name),
    }
}

#[track_caller]
fn happens(sent: &Sent, changes: &[(&str, Value)], expected: &str) {
    assert_eq!(with(sent, changes).event().happening.name(), expected);
}

// GitHub

#[test]
fn a_comment_on_a_change_of_github_comes_as_one_on_an_issue() {
    let sent = github("issue_comment.created 0");
    assert_eq!(comment(&sent).on, SubjectKind::Issue);
    let on_change = with(&sent, &[("/issue/pull_request", json!({"url": "…"}))]);
    assert_eq!(comment(&on_change).on, SubjectKind::Change);
}

#[test]
fn a_bot_of_github_is_known_by_its_type_its_name_or_the_app_that_it_speaks_through() {
    let sent = github("issue_comment.created 0");
    assert!(!comment(&sent).author.bot);
    for change in [
        ("/comment/user/type", json!("Bot")),
        ("/comment/user/login", json!("renovate[bot]")),
        ("/comment/performed_via_github_app", json!({"id": 1})),
    ] {
        assert!(comment(&with(&sent, &[change])).author.bot);
    }
}

#[test]
fn what_a_deleted_account_of_github_wrote_is_by_ghost() {
    let sent = with(&github("issue_comment.created 0"), &[("/comment/user", Value::Null)]);
    let author = comment(&sent).author;
    assert_eq!((author.login.as_str(), author.id), ("ghost", None));
}

#[test]
fn a_team_that_github_asks_for_a_review_is_never_taken_for_an_account() {
    let mut body = github("pull_request.review_requested 21").json();
    body.as_object_mut().unwrap().remove("requested_reviewer");
    let nobody = github("pull_request.review_requested 21").with_json(&body);
    assert_eq!(nobody.decode(), Err(Malformed::Missing("requested_reviewer".to_owned())));
    body["requested_team"] = json!({"slug": "octocat"});
    let Happening::ReviewRequested { of, .. } = nobody.with_json(&body).event().happening else {
        panic!()
    };
    assert_eq!(of[0].login, "Codertocat/octocat");
}

#[test]
fn an_edit_of_a_change_of_github_counts_only_if_it_moves_the_base() {
    let sent = with(&github("pull_request.opened 0"), &[("/action", json!("edited"))]);
    assert_eq!(
        with(&sent, &[("/changes", json!({"title": {"from": "x"}}))]).ignored(),
        "action `edited` of `pull_request` is not used"
    );
    happens(&sent, &[("/changes", json!({"base": {"ref": {"from": "dev"}}}))], "base-changed");
}

#[test]
fn a_merge_on_github_is_a_close() {
    let sent = with(&github("pull_request.closed 3"), &[("/pull_request/merged", json!(true))]);
    assert!(matches!(sent.event().happening, Happening::ChangeClosed { merged: true, .. }));
}

#[test]
fn a_change_of_github_whose_fork_was_deleted_still_has_its_head() {
    let sent = with(&github("pull_request.opened 0"), &[("/pull_request/head/repo", Value::Null)]);
    let Happening::ChangeOpened(change) = sent.event().happening else { panic!() };
    assert_eq!(change.head.as_deref(), Some("ec26c3e57ca3a959ca5aad62de7213c562f8c821"));
}

#[test]
fn a_review_of_github_is_a_comment_only_if_it_says_something() {
    let sent = github("pull_request_review.submitted 0");
    assert!(sent.ignored().starts_with("a review without text"));
    let spoken = with(&sent, &[("/review/body", json!("@bot fix"))]);
    let comment = comment(&spoken);
    assert_eq!(comment.place, Place::Review { review: comment.id });
    assert!(comment.id.is_some() && comment.updated_at.is_some());
    let edited = with(
        &spoken,
        &[("/action", json!("edited")), ("/changes", json!({"body": {"from": "old"}}))],
    );
    let Happening::CommentEdited { before, .. } = edited.event().happening else { panic!() };
    assert_eq!(before.as_deref(), Some("old"));
}

#[test]
fn a_reply_of_github_belongs_to_the_thread_of_its_root() {
    let sent = with(
        &github("pull_request_review_comment.created 0"),
        &[("/comment/in_reply_to_id", json!(7))],
    );
    let Place::Thread { thread, reply, .. } = comment(&sent).place else { panic!() };
    assert_eq!((thread.as_deref(), reply), (Some("7"), Some(true)));
}

#[test]
fn a_form_of_github_is_read_like_its_json() {
    let sent = github("issue_comment.created 0");
    let mut form = sent.clone();
    form.headers.insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    let encoded: String = form_urlencoded::byte_serialize(&sent.body).collect();
    form.body = format!("payload={encoded}").into_bytes();
    assert_eq!(form.decode(), sent.decode());
}

#[test]
fn a_repository_without_an_id_is_keyed_by_its_name_in_lower_case() {
    let headers = [("x-github-event", "issue_comment")];
    let sent = fixtures::seed("github_issue_comment", Host::GitHub, &headers);
    let repo = with(&sent, &[("/repository/name", json!("Demo"))]).event().repo;
    assert_eq!(
        (repo.key, repo.full_name.as_str()),
        (RepoKey::Name("acme/demo".to_owned()), "acme/Demo")
    );
    assert_eq!(repo.default_branch.as_deref(), Some("main"));
}

#[test]
fn t9_a_name_that_could_lead_an_address_elsewhere_is_refused() {
    let sent = github("issue_comment.created 0");
    for name in [
        "noslash", "a/", "/b", "a//b", "../b", "a/..", "a b/c", "a/b?c", "a/b#c", "a/%2e",
        "a\\b/c", "x@y/z",
    ] {
        let fault = with(&sent, &[("/repository/full_name", json!(name))]).decode();
        let Err(Malformed::Wrong { field, .. }) = fault else { panic!("{name}: {fault:?}") };
        assert_eq!(field, "repository.full_name");
    }
}

#[test]
fn what_is_missing_is_named_with_its_path() {
    let headers = [("x-github-event", "issue_comment")];
    let sent = fixtures::seed("github_issue_comment", Host::GitHub, &headers);
    for (changed, missing) in [
        ("/action", "action"),
        ("/issue", "issue"),
        ("/issue/number", "issue.number"),
        ("/comment", "comment"),
        ("/comment/body", "comment.body"),
        ("/repository", "repository"),
        ("/repository/owner", "repository.owner"),
        ("/repository/owner/login", "repository.owner.login"),
        ("/repository/name", "repository.name"),
        ("/sender", "sender"),
        ("/sender/login", "sender.login"),
    ] {
        let fault = with(&sent, &[(changed, Value::Null)]).decode();
        assert_eq!(fault, Err(Malformed::Missing(missing.to_owned())));
    }
}

#[test]
fn without_the_event_header_of_its_forge_a_delivery_says_nothing() {
    for mut sent in [github("ping 0"), gitlab("push"), gitea("1 push"), gitcode("push")] {
        sent.headers.clear();
        assert_eq!(sent.decode(), Err(Malformed::NoEvent));
    }
}

// GitLab

fn merge_request_updated(changes: Value) -> Sent {
    with(
        &gitlab("merge_request"),
        &[("/object_attributes/action", json!("update")), ("/changes", changes)],
    )
}

#[test]
fn an_update_of_gitlab_means_what_it_changed() {
    let bare = merge_request_updated(json!({}));
    assert!(bare.ignored().starts_with("an update of a merge request"));
    // Old versions repeat people and labels with every push.
    let reviewers =
        json!({"reviewers": {"previous": [], "current": [{"id": 9, "username": "bot"}]}});
    let pushed = with(
        &merge_request_updated(reviewers.clone()),
        &[("/object_attributes/oldrev", json!("abc"))],
    );
    happens(&pushed, &[], "change-pushed");
    happens(&merge_request_updated(reviewers), &[], "review-requested");
    happens(
        &merge_request_updated(json!({"draft": {"previous": true, "current": false}})),
        &[],
        "change-ready",
    );
    happens(
        &merge_request_updated(json!({"target_branch": {"previous": "a", "current": "b"}})),
        &[],
        "base-changed",
    );
    let back_to_draft =
        merge_request_updated(json!({"draft": {"previous": false, "current": true}}));
    assert!(back_to_draft.ignored().starts_with("an update of a merge request"));
}

#[test]
fn only_who_was_just_asked_by_gitlab_is_asked() {
    let ann = json!({"id": 1, "username": "ann"});
    let bot = json!({"id": 9, "username": "bot"});
    let added =
        merge_request_updated(json!({"reviewers": {"previous": [ann], "current": [ann, bot]}}));
    let Happening::ReviewRequested { of, .. } = added.event().happening else { panic!() };
    assert_eq!(of.iter().map(|person| person.id).collect::<Vec<_>>(), [Some(AccountId(9))]);

    let again = json!({"id": 9, "username": "bot", "re_requested": true});
    let repeated = merge_request_updated(
        json!({"reviewers": {"previous": [ann, bot], "current": [ann, again]}}),
    );
    let Happening::ReviewRequested { of, .. } = repeated.event().happening else { panic!() };
    assert_eq!(of.len(), 1);

    let removed =
        merge_request_updated(json!({"reviewers": {"previous": [ann, bot], "current": [ann]}}));
    assert!(removed.ignored().starts_with("an update of a merge request"));
}

#[test]
fn an_issue_of_gitlab_that_is_opened_for_somebody_tells_both_at_once() {
    let sent = gitlab("issue");
    let Happening::IssueOpened(issue) = sent.event().happening else { panic!() };
    assert!(!issue.assignees.is_empty());
    happens(&sent, &[("/assignees", json!([]))], "issue-opened");
    let updated = with(&sent, &[("/object_attributes/action", json!("update"))]);
    assert_eq!(updated.ignored(), "action `update` of `issue` is not used");
    let ann = json!({"id": 1, "username": "ann"});
    let assigned = [("/changes", json!({"assignees": {"previous": [], "current": [ann]}}))];
    happens(&updated, &assigned, "issue-assigned");
    let unassigned = [("/changes", json!({"assignees": {"previous": [ann], "current": []}}))];
    assert_eq!(with(&updated, &unassigned).ignored(), "nobody new was assigned");
    happens(&sent, &[("/object_kind", json!("work_item"))], "issue-opened");
}

#[test]
fn a_note_of_an_old_gitlab_has_no_action_and_is_new() {
    let mut body = gitlab("note_issue").json();
    body["object_attributes"].as_object_mut().unwrap().remove("action");
    happens(&gitlab("note_issue").with_json(&body), &[], "commented");
    happens(
        &gitlab("note_issue"),
        &[("/object_attributes/action", json!("update"))],
        "comment-edited",
    );
}

#[test]
fn notes_that_gitlab_wrote_or_that_are_internal_are_not_answered() {
    let sent = gitlab("note_issue");
    let system = with(&sent, &[("/object_attributes/system", json!(true))]);
    assert_eq!(system.ignored(), "a note that GitLab itself wrote");
    let internal = with(&sent, &[("/object_attributes/internal", json!(true))]);
    assert_eq!(internal.ignored(), "an internal note: an answer to it would be public");
    let confidential = with(&sent, &[("/event_type", json!("confidential_note"))]);
    assert_eq!(confidential.ignored(), "an internal note: an answer to it would be public");
    // On a confidential issue every note is confidential, and so is the answer.
    happens(&confidential, &[("/issue/confidential", json!(true))], "commented");
}

#[test]
fn an_inline_note_of_gitlab_knows_its_thread_but_not_whether_it_replies() {
    let sent = with(
        &gitlab("note_merge_request"),
        &[
            ("/object_attributes/type", json!("DiffNote")),
            ("/object_attributes/discussion_id", json!("6a9c")),
            ("/object_attributes/position", json!({"old_path": "a.rs", "new_path": "b.rs"})),
        ],
    );
    let path = Some("b.rs".to_owned());
    assert_eq!(
        comment(&sent).place,
        Place::Thread { thread: Some("6a9c".to_owned()), reply: None, path }
    );
    let discussion = with(&sent, &[("/object_attributes/type", json!("DiscussionNote"))]);
    assert_eq!(comment(&discussion).place, Place::Conversation);
}

#[test]
fn a_push_of_gitlab_to_no_commit_deletes_the_branch() {
    let zeros = json!("0".repeat(40));
    let Happening::Pushed(push) =
        with(&gitlab("push"), &[("/after", zeros.clone())]).event().happening
    else {
        panic!()
    };
    assert!(push.deleted && !push.created);
    let Happening::Pushed(push) = with(&gitlab("push"), &[("/before", zeros)]).event().happening
    else {
        panic!()
    };
    assert!(push.created && !push.deleted);
}

#[test]
fn a_body_that_an_administrator_of_gitlab_made_up_is_ignored_politely() {
    let sent = Sent::new(
        "template",
        Host::GitLab,
        &[("x-gitlab-event", "Note Hook")],
        &json!({"text": "hi"}),
    );
    assert_eq!(sent.ignored(), "no `object_kind`: a system hook or a custom template");
}

#[test]
fn the_id_of_a_delivery_of_gitlab_survives_a_retry_on_every_version() {
    let mut sent = gitlab("push");
    assert_eq!(sent.decode().unwrap().id, None);
    sent.headers.insert("x-gitlab-event-uuid", "chain".parse().unwrap());
    let hashed = sent.decode().unwrap().id.unwrap();
    assert_eq!(sent.decode().unwrap().id.as_ref(), Some(&hashed));
    let other = with(&sent, &[("/user_id", json!(5))]).decode().unwrap().id;
    assert_ne!(other, Some(hashed), "hooks of one request chain share its id");
    sent.headers.insert("idempotency-key", "key".parse().unwrap());
    assert_eq!(sent.decode().unwrap().id.as_deref(), Some("key"));
    sent.headers.insert("webhook-id", "id".parse().unwrap());
    assert_eq!(sent.decode().unwrap().id.as_deref(), Some("id"));
}

// Gitea and Forgejo

#[test]
fn the_coarse_event_of_an_old_gitea_is_read_for_what_it_means() {
    let mut sent = gitea("6 pull_request_review_rejected.reviewed");
    sent.headers.remove("x-gitea-event-type");
    assert_eq!(sent.decode().unwrap().event_type, "pull_request_review_rejected");
    assert_eq!(comment(&sent).place, Place::Review { review: None });
}

#[test]
fn forgejo_speaks_as_gitea_with_its_own_headers() {
    let mut sent = gitea("16 issue_comment.created");
    for (gitea, forgejo) in [
        ("x-gitea-event", "x-forgejo-event"),
        ("x-gitea-event-type", "x-forgejo-event-type"),
        ("x-gitea-delivery", "x-forgejo-delivery"),
    ] {
        let value = sent.headers.remove(gitea).unwrap();
        sent.headers.insert(forgejo, value);
    }
    let delivery = sent.decode().unwrap();
    assert!(delivery.id.is_some());
    assert_eq!(delivery.content, gitea("16 issue_comment.created").decode().unwrap().content);
}

#[test]
fn a_comment_on_a_change_of_gitea_is_marked_in_several_ways() {
    let sent = gitea("16 issue_comment.created");
    assert_eq!(comment(&sent).on, SubjectKind::Issue);
    assert_eq!(comment(&with(&sent, &[("/is_pull", json!(true))])).on, SubjectKind::Change);
    assert_eq!(
        comment(&with(&sent, &[("/issue/pull_request", json!({}))])).on,
        SubjectKind::Change
    );
}

#[test]
fn a_retargeted_change_of_gitea_tells_it_by_ref() {
    let edited = gitea("4 pull_request.edited");
    happens(&edited, &[("/changes", json!({"ref": {"from": "main"}}))], "base-changed");
    let retitled = with(&edited, &[("/changes", json!({"title": {"from": "Another"}}))]);
    assert_eq!(retitled.ignored(), "action `edited` of `pull_request` is not used");
}

#[test]
fn a_built_in_account_of_gitea_has_a_negative_id() {
    let sent = with(
        &gitea("1 push"),
        &[("/sender/id", json!(-2)), ("/sender/login", json!("gitea-actions"))],
    );
    assert_eq!(sent.event().actor.id, Some(AccountId(-2)));
}

// GitCode

#[test]
fn the_id_of_a_delivery_of_gitcode_is_in_its_header_or_in_its_body() {
    let mut sent = gitcode("note_issue");
    assert_eq!(sent.decode().unwrap().id.as_deref(), Some("u-note_issue"));
    sent.headers.insert("x-gitcode-delivery", "header".parse().unwrap());
    assert_eq!(sent.decode().unwrap().id.as_deref(), Some("header"));
}

#[test]
fn an_empty_oldrev_of_gitcode_is_no_push() {
    let sent = gitcode("merge_request_source_update");
    happens(&sent, &[("/object_attributes/update_reason", json!(""))], "change-pushed");
    let edited = with(
        &sent,
        &[
            ("/object_attributes/update_reason", json!("")),
            ("/object_attributes/oldrev", json!("")),
        ],
    );
    assert!(edited.ignored().starts_with("an update of a merge request"));
}

#[test]
fn an_id_of_gitcode_that_everybody_shares_is_nobodys() {
    assert_eq!(gitcode("push").event().actor.id, None);
}

#[test]
fn numbers_and_flags_of_gitcode_may_be_texts() {
    let sent = with(
        &gitcode("merge_request_open"),
        &[
            ("/object_attributes/iid", json!("2")),
            ("/object_attributes/work_in_progress", json!("1")),
            ("/project/id", json!("2701133")),
            ("/project/description", json!(1e300)),
        ],
    );
    let event = sent.event();
    assert_eq!(event.repo.key, RepoKey::Id(2_701_133));
    let Happening::ChangeOpened(change) = event.happening else { panic!() };
    assert_eq!((change.number, change.draft), (2, true));
}

#[test]
fn the_row_id_of_gitcode_never_stands_in_for_a_number() {
    let sent = with(&gitcode("note_issue"), &[("/issue/iid", Value::Null)]);
    assert_eq!(sent.decode(), Err(Malformed::Missing("issue.iid".to_owned())));
}

#[test]
fn assignees_of_gitcode_are_found_wherever_they_have_been_seen() {
    let sent = gitcode("issue_assigned_by_name");
    for (pointer, value) in [
        ("/assignees", json!(["patchwright"])),
        ("/object_attributes/assignee", json!({"login": "patchwright"})),
        ("/object_attributes/assignees", json!([{"name": "patchwright"}])),
    ] {
        let bare = with(&sent, &[("/assignees", Value::Null)]);
        let Happening::IssueAssigned { to, .. } =
            with(&bare, &[(pointer, value)]).event().happening
        else {
            panic!()
        };
        assert_eq!(to[0].login, "patchwright", "{pointer}");
    }
}
