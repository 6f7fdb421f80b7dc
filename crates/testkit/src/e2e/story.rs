//! The stories: each one an act of people, and what they see afterwards.

mod change;
mod conversation;
mod inline;
mod push;
mod traffic;

use std::pin::Pin;

use anyhow::Result;

use super::scene::Scene;

type Told<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// One story.
#[derive(Clone, Copy, Debug)]
pub(super) struct Story {
    pub(super) name: &'static str,
    pub(super) tell: for<'a> fn(&'a Scene) -> Told<'a>,
}

/// All stories, in the order in which they are told.
pub(super) const STORIES: &[Story] = &[
    Story {
        name: "help on an issue is acknowledged and answered once, and the answer leads to nothing",
        tell: |scene| Box::pin(conversation::help(scene)),
    },
    Story {
        name: "status on a change is answered in its conversation",
        tell: |scene| Box::pin(conversation::status(scene)),
    },
    Story {
        name: "a comment that is edited to mention the bot is answered",
        tell: |scene| Box::pin(conversation::edited(scene)),
    },
    Story {
        name: "a delivery that comes again is answered once",
        tell: |scene| Box::pin(conversation::delivered_again(scene)),
    },
    Story {
        name: "a delivery that is signed with another secret is refused",
        tell: |scene| Box::pin(conversation::wrong_secret(scene)),
    },
    Story {
        name: "comments stand on the lines that were meant, on both sides",
        tell: |scene| Box::pin(inline::on_each_side(scene)),
    },
    Story {
        name: "a comment on a line outside the diff stands there",
        tell: |scene| Box::pin(inline::outside_the_diff(scene)),
    },
    Story {
        name: "comments that travel together arrive as one review",
        tell: |scene| Box::pin(inline::as_one_review(scene)),
    },
    Story {
        name: "a reply stands in its thread",
        tell: |scene| Box::pin(inline::conversation_in_a_thread(scene)),
    },
    Story {
        name: "a thread is settled and opened again, where the server can",
        tell: |scene| Box::pin(inline::settled_and_opened_again(scene)),
    },
    Story {
        name: "what a dead process left unsubmitted is removed, and what people typed is kept",
        tell: |scene| Box::pin(inline::leftovers(scene)),
    },
    Story {
        name: "a draft is opened from a pushed branch and made ready",
        tell: |scene| Box::pin(change::drafted_and_made_ready(scene)),
    },
    Story {
        name: "the state of a commit is shown",
        tell: |scene| Box::pin(change::state_of_a_commit(scene)),
    },
    Story {
        name: "writers are told from strangers",
        tell: |scene| Box::pin(change::permissions(scene)),
    },
    Story {
        name: "a push that a stranger asked for is refused, and one that a writer asked for is done",
        tell: |scene| Box::pin(push::judged_by_who_asked(scene)),
    },
    Story {
        name: "nothing that was asked is unknown to the server's own description",
        tell: |scene| Box::pin(traffic::described(scene)),
    },
    Story {
        name: "nothing went wrong behind the scene",
        tell: |scene| Box::pin(traffic::untroubled(scene)),
    },
];
