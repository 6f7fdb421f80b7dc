//! The end of a trial: is everything there, once, in order, and nobody else's touched?

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;

use super::crowd::{BOT, Request};
use super::trial::Trial;
use super::view::Job;
use crate::forge::FakeComment;

/// How long everything may take to settle after the last blow.
const SETTLE: Duration = Duration::from_secs(150);

/// What is wrong, in numbers and in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    pub(super) lost: usize,
    pub(super) doubled: usize,
    pub(super) disordered: usize,
    /// Everything that is wrong, the counted among it.
    pub(super) words: Vec<String>,
}

impl Findings {
    pub(super) fn is_clean(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn add(&mut self, other: Self) {
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.disordered += other.disordered;
        self.words.extend(other.words);
    }

    fn lose(&mut self, words: String) {
        self.lost += 1;
        self.words.push(words);
    }

    fn double(&mut self, words: String) {
        self.doubled += 1;
        self.words.push(words);
    }
}

/// Lets everything settle and looks at what is left.
pub(super) fn settle_and_check(trial: &mut Trial<'_>) -> Result<Findings> {
    let rest = trial.settle(SETTLE)?;
    let mut findings = Findings::default();
    if !rest.is_settled() {
        findings.words.push(format!("not everything is settled after {SETTLE:?}: {rest:?}"));
    }
    findings.add(check(trial)?);
    Ok(findings)
}

fn check(trial: &mut Trial<'_>) -> Result<Findings> {
    let jobs = trial.view.jobs()?;
    let requests = trial.crowd.requests();
    let mut findings = Findings::default();
    let mut answers = BTreeMap::new();
    for issue in trial.crowd.issues() {
        let said = trial.forge.conversation(issue.repo, issue.number);
        findings.words.extend(touched(&said, &trial.crowd.words_on(issue)));
        for comment in said.iter().filter(|comment| comment.author.login == BOT) {
            answers.entry(slot(&comment.body)).or_insert_with(Vec::new).push(comment.id);
        }
    }
    findings.add(settled_once(&requests, &jobs, &answers));
    findings.add(in_order(&requests, &jobs, &answers));
    findings.words.extend(trial.crowd.refusals());
    findings.words.extend(trial.view.loose_ends()?);
    for violation in trial.forge.violations() {
        findings
            .words
            .push(format!("the forge complains of {}: {}", violation.request, violation.why));
    }
    Ok(findings)
}

/// Every 202 named a job that is there; after a power loss that is all that can be asked for.
pub(super) fn still_there(requests: &[Request], jobs: &[Job]) -> Findings {
    let known: BTreeSet<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
    let mut findings = Findings::default();
    for request in requests {
        for job in request.jobs.iter().filter(|job| !known.contains(job.as_str())) {
            findings.lose(format!(
                "comment {} was accepted as job {job}, which is gone",
                request.comment
            ));
        }
    }
    findings
}

/// Every accepted request has one job, which is done, and one answer; every other one has a job and
/// an answer or neither.
fn settled_once(
    requests: &[Request],
    jobs: &[Job],
    answers: &BTreeMap<String, Vec<u64>>,
) -> Findings {
    let mut findings = still_there(requests, jobs);
    let mut known_jobs = BTreeSet::new();
    for request in requests {
        let comment = request.comment;
        let of_request: Vec<&Job> =
            jobs.iter().filter(|job| request.deliveries.contains(&job.delivery)).collect();
        known_jobs.extend(of_request.iter().map(|job| job.id.as_str()));
        if of_request.len() > 1 || request.jobs.len() > 1 {
            findings.double(format!("comment {comment} became several jobs: {of_request:?}"));
        }
        let answered = answers.get(&answer_slot(comment)).map_or(0, Vec::len);
        for job in of_request.iter().filter(|job| job.state != "done") {
            findings.lose(format!("job {} of comment {comment} is {}", job.id, job.state));
        }
        match (of_request.len(), answered) {
            (0, 0) | (1.., 1) => {}
            (0, _) => findings.double(format!("comment {comment} was answered without a job")),
            (_, 0) => findings.lose(format!("comment {comment} has no answer ({of_request:?})")),
            (_, answered) => {
                findings
                    .double(format!("comment {comment} has {answered} answers ({of_request:?})"));
            }
        }
    }
    for job in jobs.iter().filter(|job| !known_jobs.contains(job.id.as_str())) {
        findings.double(format!("nobody asked for job {} ({})", job.id, job.delivery));
    }
    let expected: BTreeSet<String> =
        requests.iter().map(|request| answer_slot(request.comment)).collect();
    for (slot, comments) in answers.iter().filter(|(slot, _)| !expected.contains(*slot)) {
        findings.double(format!("nobody asked for the comments {comments:?} in slot `{slot}`"));
    }
    findings
}

/// On every issue the answers stand in the order in which their questions were accepted.
fn in_order(requests: &[Request], jobs: &[Job], answers: &BTreeMap<String, Vec<u64>>) -> Findings {
    let by_delivery: BTreeMap<&str, u64> = requests
        .iter()
        .flat_map(|request| request.deliveries.iter().map(|id| (id.as_str(), request.comment)))
        .collect();
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    let mut findings = Findings::default();
    for job in jobs {
        let comment = by_delivery.get(job.delivery.as_str());
        let answer = comment.and_then(|comment| answers.get(&answer_slot(*comment))?.first());
        let Some(answer) = answer else { continue };
        let before = last.insert(&job.lane, *answer);
        if let Some(before) = before.filter(|before| before > answer) {
            findings.disordered += 1;
            findings.words.push(format!(
                "job {} was accepted later than another of its lane, and its answer {answer} stands before {before}",
                job.id
            ));
        }
    }
    findings
}

/// Names the comments of people that somebody wrote over or removed.
fn touched(said: &[FakeComment], words: &BTreeMap<u64, String>) -> Vec<String> {
    let stands = |id: &u64, body: &String| {
        said.iter().any(|comment| comment.id == *id && comment.body == *body)
    };
    let touched = words.iter().filter(|(id, body)| !stands(id, body));
    touched.map(|(id, _)| format!("comment {id} of somebody else is not as it was")).collect()
}

fn answer_slot(comment: u64) -> String {
    format!("reply:c{comment}")
}

/// Returns the slot of a comment of the bot, read by a reader of its own; empty if it has none.
fn slot(body: &str) -> String {
    let fields = body.lines().next().and_then(|line| line.strip_prefix("<!-- patchwright:1 "));
    let slot =
        fields.and_then(|fields| fields.split(' ').find_map(|field| field.strip_prefix("slot=")));
    slot.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(comment: u64, delivery: &str, jobs: &[&str]) -> Request {
        Request {
            comment,
            deliveries: vec![delivery.to_owned()],
            jobs: jobs.iter().map(|job| (*job).to_owned()).collect(),
        }
    }

    fn job(id: &str, state: &str, delivery: &str) -> Job {
        let (lane, text) = ("lane".to_owned(), str::to_owned);
        Job { id: text(id), lane, state: text(state), delivery: text(delivery) }
    }

    fn answers(list: &[(u64, &[u64])]) -> BTreeMap<String, Vec<u64>> {
        list.iter().map(|(comment, answers)| (answer_slot(*comment), answers.to_vec())).collect()
    }

    #[track_caller]
    fn check(
        requests: &[Request],
        jobs: &[Job],
        answers: &BTreeMap<String, Vec<u64>>,
        (lost, doubled, disordered): (usize, usize, usize),
    ) {
        let mut found = settled_once(requests, jobs, answers);
        found.add(in_order(requests, jobs, answers));
        let counts = (found.lost, found.doubled, found.disordered);
        assert_eq!(counts, (lost, doubled, disordered), "{:?}", found.words);
    }

    #[test]
    fn one_job_and_one_answer_in_order_is_clean() {
        let requests = [request(1, "a", &["j1"]), request(2, "b", &["j2"]), request(3, "c", &[])];
        let jobs = [job("j2", "done", "b"), job("j1", "done", "a")];
        check(&requests, &jobs, &answers(&[(1, &[12]), (2, &[11])]), (0, 0, 0));
    }

    #[test]
    fn what_was_accepted_and_is_not_there_is_lost() {
        let requests = [request(1, "a", &["j1"]), request(2, "b", &["j2"])];
        let jobs = [job("j2", "dead", "b")];
        check(&requests, &jobs, &answers(&[(2, &[11])]), (2, 0, 0));
        check(&requests[1..], &[job("j2", "done", "b")], &answers(&[]), (1, 0, 0));
    }

    #[test]
    fn a_second_job_or_answer_is_doubled() {
        let requests = [request(1, "a", &["j1"])];
        let once = [job("j1", "done", "a")];
        check(&requests, &once, &answers(&[(1, &[11, 12])]), (0, 1, 0));
        check(&requests, &once, &answers(&[(1, &[11]), (7, &[12])]), (0, 1, 0));
        let twice = [job("j1", "done", "a"), job("j2", "done", "x")];
        check(&requests, &twice, &answers(&[(1, &[11])]), (0, 1, 0));
        check(&[request(1, "a", &[])], &[], &answers(&[(1, &[11])]), (0, 1, 0));
    }

    #[test]
    fn answers_that_stand_in_another_order_are_disordered() {
        let requests = [request(1, "a", &["j1"]), request(2, "b", &["j2"])];
        let jobs = [job("j1", "done", "a"), job("j2", "done", "b")];
        check(&requests, &jobs, &answers(&[(1, &[12]), (2, &[11])]), (0, 0, 1));
    }

    #[test]
    fn the_slot_is_read_from_the_first_line_alone() {
        let marked = "<!-- patchwright:1 kind=help slot=reply:c7 rev=1 mac=00 -->\nHello";
        assert_eq!(slot(marked), "reply:c7");
        assert_eq!(slot(&format!("Hello\n{marked}")), "");
    }
}
