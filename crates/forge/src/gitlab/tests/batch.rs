//! Batches as draft notes: what is left over, what is a person's, what is refused.

use std::collections::BTreeMap;
use std::sync::Mutex;

use domain::anchor::{Line, LineKind, Side, Spot};
use domain::publication::Inline;

use super::*;

/// The drafts and the notes of change 4.
#[derive(Debug, Default)]
struct Desk {
    drafts: BTreeMap<u64, Value>,
    notes: Vec<Value>,
    last: u64,
    /// Drafts on this line are refused.
    refuses: Option<u64>,
    /// The answer to the creation of this draft is lost.
    loses: Option<u64>,
}

impl Desk {
    fn publish(&mut self, id: u64) {
        if let Some(draft) = self.drafts.remove(&id) {
            let text = draft["note"].as_str().unwrap_or_default();
            self.notes.push(json!({"id": format!("d{id}"), "notes": [on_code(id, text)]}));
        }
    }

    fn answer(&mut self, asked: &str, seen: &Seen) -> Reply {
        let path = "/merge_requests/4/draft_notes";
        let id = asked.split('/').find_map(|part| part.parse::<u64>().ok().filter(|id| *id > 4));
        match asked {
            "GET /merge_requests/4/versions" => Reply::json(
                200,
                json!([{"id": 1, "head_commit_sha": "h", "base_commit_sha": "b", "start_commit_sha": "s"}]),
            ),
            "GET /merge_requests/4/discussions" => Reply::json(200, json!(self.notes)),
            _ if asked == format!("GET {path}") => {
                Reply::json(200, json!(self.drafts.values().collect::<Vec<_>>()))
            }
            _ if asked == format!("POST {path}") => {
                let sent: Value = serde_json::from_str(&seen.body).unwrap();
                if sent["position"]["new_line"].as_u64() == self.refuses {
                    let why = json!({"message": {"line_code": ["can't be blank"]}});
                    return Reply::json(400, why);
                }
                let id = self.plant(41, sent["note"].as_str().unwrap());
                match self.loses == Some(id) {
                    true => Reply::Cut,
                    false => Reply::json(201, self.drafts[&id].clone()),
                }
            }
            _ if asked == format!("POST {path}/bulk_publish") => {
                self.drafts
                    .keys()
                    .copied()
                    .collect::<Vec<_>>()
                    .into_iter()
                    .for_each(|id| self.publish(id));
                Reply::json(204, "")
            }
            _ if asked.starts_with("PUT") && asked.ends_with("/publish") => {
                self.publish(id.unwrap());
                Reply::json(204, "")
            }
            _ if asked.starts_with("DELETE") => match self.drafts.remove(&id.unwrap()) {
                Some(_) => Reply::json(204, ""),
                None => Reply::json(404, "{}"),
            },
            other => panic!("{other}"),
        }
    }

    fn plant(&mut self, author: i64, text: &str) -> u64 {
        self.last = self.last.max(99) + 1;
        let draft = json!({"id": self.last, "author_id": author, "merge_request_id": 900,
                           "note": text, "position": {}});
        self.drafts.insert(self.last, draft);
        self.last
    }
}

async fn desk() -> (Arc<Mutex<Desk>>, Rig) {
    let desk: Arc<Mutex<Desk>> = Arc::default();
    let answering = Arc::clone(&desk);
    let rig = rig(move |asked, seen| answering.lock().unwrap().answer(asked, seen)).await;
    (desk, rig)
}

fn comments(rig: &Rig, lines: &[u64]) -> Vec<Publication> {
    let publication = |line: &u64| {
        let at = Spot {
            path: "a.rs".to_owned(),
            old_path: None,
            side: Side::New,
            start: None,
            line: Line { kind: LineKind::Added, old: *line, new: *line },
            commit: "h".to_owned(),
        };
        let body = body(&format!("remark on {line}"));
        Publication {
            subject: rig.change.clone(),
            slot: Slot::reply(&format!("f{line}")),
            effect: Effect::Inline(Inline { body, at, suggestion: None, batch: None }),
        }
    };
    lines.iter().map(publication).collect()
}

fn asked_for(rig: &Rig, what: &str) -> usize {
    rig.asked().iter().filter(|asked| asked.contains(what)).count()
}

#[tokio::test]
async fn e3_each_comment_of_a_batch_has_its_own_receipt() {
    let (desk, rig) = desk().await;
    let receipts = rig.gitlab.send_together(&comments(&rig, &[5, 6, 7])).await.unwrap();
    let threads: Vec<_> = receipts
        .iter()
        .map(|receipt| match receipt {
            Receipt::Comment { thread, .. } => thread.as_deref().unwrap().to_owned(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(threads, ["d100", "d101", "d102"]);
    assert_eq!(asked_for(&rig, "bulk_publish"), 1);
    assert!(desk.lock().unwrap().drafts.is_empty());
}

#[tokio::test]
async fn t9_the_drafts_of_a_person_are_neither_published_nor_removed() {
    let (desk, rig) = desk().await;
    let theirs = desk.lock().unwrap().plant(41, "half a thought of the account's owner");
    let copied = {
        let stranger = Ours::new("elsewhere", None).acting_as([AccountId(41)]);
        let marker = report::marker::Marker {
            kind: "answer".to_owned(),
            slot: Slot::reply("f9"),
            revision: 1,
            instance: None,
            head: None,
            expires: None,
        };
        stranger.sign(&rig.change, &marker, "a marker that we did not write")
    };
    let doubted = desk.lock().unwrap().plant(41, &copied);
    let receipts = rig.gitlab.send_together(&comments(&rig, &[5, 6])).await.unwrap();
    assert_eq!(receipts.len(), 2);
    let desk = desk.lock().unwrap();
    assert_eq!(desk.drafts.keys().copied().collect::<Vec<_>>(), [theirs, doubted]);
    assert_eq!(desk.notes.len(), 2);
    assert_eq!((asked_for(&rig, "bulk_publish"), asked_for(&rig, "/publish")), (0, 2));
}

#[tokio::test]
async fn e3_what_an_earlier_try_left_over_is_removed_first() {
    let (desk, rig) = desk().await;
    desk.lock().unwrap().loses = Some(101);
    let batch = comments(&rig, &[5, 6]);
    let error = rig.gitlab.send_together(&batch).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "nobody saw anything: {error:?}");
    assert_eq!(desk.lock().unwrap().drafts.len(), 2);
    assert!(desk.lock().unwrap().notes.is_empty());
    rig.gitlab.send_together(&batch).await.unwrap();
    let desk = desk.lock().unwrap();
    assert_eq!((desk.drafts.len(), desk.notes.len()), (0, 2), "none is doubled");
}

#[tokio::test]
async fn e3_a_batch_with_a_refused_line_is_refused_and_leaves_nothing() {
    let (desk, rig) = desk().await;
    desk.lock().unwrap().refuses = Some(7);
    let refused = rig.gitlab.send_together(&comments(&rig, &[5, 6, 7, 8])).await;
    assert!(matches!(&refused, Err(Error::Refused { status: 400, .. })), "{refused:?}");
    assert!(desk.lock().unwrap().drafts.is_empty());
    assert!(desk.lock().unwrap().notes.is_empty());
    assert_eq!(rig.gitlab.send_together(&comments(&rig, &[5, 6])).await.unwrap().len(), 2);
}
