//! The load: deliveries over a number of kept connections, as fast as they are answered or at a
//! fixed rate.
//!
//! Raw HTTP/1.1 on one thread, because the load shares the machine with what it measures. At a fixed
//! rate a delivery's time counts from the moment at which it was due, not from when a connection
//! was free for it: a gateway that stalls cannot hide the deliveries that it kept waiting.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::payload::Conversation;

/// How long an answer may take before the run is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// When deliveries are sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// Each connection sends its next one when it has its answer.
    Closed,
    /// So many a second over all connections, whatever is answered when.
    Fixed(f64),
}

/// The deliveries of one store, in order: no number is sent twice.
#[derive(Clone, Debug)]
pub(super) struct Load<'a> {
    pub(super) conversations: &'a [Conversation],
    pub(super) connections: usize,
    pub(super) next: u64,
}

/// What became of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    pub(super) accepted: u64,
    /// The head of each answer that was not 202.
    pub(super) others: Vec<String>,
    pub(super) took: Duration,
    pub(super) latencies: Vec<Duration>,
}

impl Answers {
    /// Returns how many were accepted in a second.
    pub(super) fn rate(&self) -> f64 {
        self.accepted as f64 / self.took.as_secs_f64()
    }
}

impl Load<'_> {
    /// Sends deliveries for a while and waits for the last answer.
    pub(super) fn run(&mut self, to: SocketAddr, pace: Pace, lasts: Duration) -> Result<Answers> {
        self.send(to, |began| Schedule { began, pace, end: End::Time(lasts), next: 0 })
    }

    /// Sends so many deliveries, one after the other.
    pub(super) fn run_some(&mut self, to: SocketAddr, count: u64) -> Result<Answers> {
        let mut one_by_one = Self { connections: 1, ..self.clone() };
        let answers = one_by_one.send(to, |began| Schedule {
            began,
            pace: Pace::Closed,
            end: End::Count(count),
            next: 0,
        })?;
        self.next = one_by_one.next;
        Ok(answers)
    }

    fn send(&mut self, to: SocketAddr, plan: impl FnOnce(Instant) -> Schedule) -> Result<Answers> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let conversations: Rc<[Conversation]> = self.conversations.into();
        let first = self.next;
        let (answers, sent) = LocalSet::new().block_on(&runtime, async {
            let mut streams = Vec::new();
            for _ in 0..self.connections {
                let stream = TcpStream::connect(to).await.context("cannot reach the gateway")?;
                stream.set_nodelay(true)?;
                streams.push(stream);
            }
            let began = Instant::now();
            let schedule = Rc::new(RefCell::new(plan(began)));
            let mut talks = Vec::new();
            for stream in streams {
                let (schedule, conversations) = (Rc::clone(&schedule), Rc::clone(&conversations));
                talks.push(tokio::task::spawn_local(async move {
                    let mut talk = Talk { stream, host: to.to_string(), answer: Vec::new() };
                    talk.run(&schedule, &conversations, first).await
                }));
            }
            let mut answers = Answers::default();
            for talk in talks {
                let one = talk.await??;
                answers.accepted += one.accepted;
                answers.others.extend(one.others);
                answers.latencies.extend(one.latencies);
            }
            answers.took = began.elapsed();
            let sent = schedule.borrow().next;
            anyhow::Ok((answers, sent))
        })?;
        self.next += sent;
        Ok(answers)
    }
}

/// Says which delivery is due next, and when.
#[derive(Debug)]
struct Schedule {
    began: Instant,
    pace: Pace,
    end: End,
    next: u64,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Time(Duration),
    Count(u64),
}

impl Schedule {
    fn take(&mut self) -> Option<(u64, Instant)> {
        let n = self.next;
        let due = match self.pace {
            Pace::Closed => Instant::now(),
            Pace::Fixed(rate) => self.began + Duration::from_secs_f64(n as f64 / rate),
        };
        let over = match self.end {
            End::Time(lasts) => due >= self.began + lasts,
            End::Count(count) => n >= count,
        };
        if over {
            return None;
        }
        self.next += 1;
        Some((n, due))
    }
}

/// One connection.
struct Talk {
    stream: TcpStream,
    host: String,
    answer: Vec<u8>,
}

impl Talk {
    async fn run(
        &mut self,
        schedule: &RefCell<Schedule>,
        conversations: &[Conversation],
        first: u64,
    ) -> Result<Answers> {
        let mut answers = Answers::default();
        let mut request = Vec::with_capacity(16 * 1024);
        loop {
            let Some((n, due)) = schedule.borrow_mut().take() else { return Ok(answers) };
            let n = first + n;
            // A timer fires a little late, so one that is over already is not set.
            if due > Instant::now() {
                sleep_until(due).await;
            }
            conversation(conversations, n).write_request(n, &self.host, &mut request);
            self.stream.write_all(&request).await.context("the gateway hung up")?;
            let accepted = timeout(PATIENCE, self.read_answer())
                .await
                .context("the gateway does not answer")??;
            answers.latencies.push(due.elapsed());
            if accepted {
                answers.accepted += 1;
            } else {
                let text = String::from_utf8_lossy(&self.answer);
                answers.others.push(text.lines().next().unwrap_or_default().to_owned());
            }
        }
    }

    /// Reads one answer and says whether it is 202.
    async fn read_answer(&mut self) -> Result<bool> {
        self.answer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.answer).await?;
            ensure!(read > 0, "the gateway hung up in the middle of an answer");
            if let Some(length) = answer_length(&self.answer)?
                && self.answer.len() >= length
            {
                return Ok(self.answer.starts_with(b"HTTP/1.1 202 "));
            }
        }
    }
}

/// Returns the conversation in which delivery `n` is written.
pub(super) fn conversation(conversations: &[Conversation], n: u64) -> &Conversation {
    &conversations[n as usize % conversations.len()]
}

/// Returns how long an answer is, once its head is there.
fn answer_length(answer: &[u8]) -> Result<Option<usize>> {
    let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    for line in answer[..head].split(|byte| *byte == b'\n') {
        let Some(at) = line.iter().position(|byte| *byte == b':') else { continue };
        if line[..at].eq_ignore_ascii_case(b"content-length") {
            let value = std::str::from_utf8(&line[at + 1..])?.trim();
            return Ok(Some(head + 4 + value.parse::<usize>()?));
        }
    }
    bail!("an answer does not say how long it is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_an_answer_is_known_once_its_head_is_there() {
        assert_eq!(answer_length(b"HTTP/1.1 202 Accepted\r\ncontent-le").unwrap(), None);
        let answer = b"HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nhel";
        assert_eq!(answer_length(answer).unwrap(), Some(answer.len() + 2));
        assert!(answer_length(b"HTTP/1.1 202 Accepted\r\n\r\n").is_err());
    }

    #[test]
    fn a_fixed_rate_is_due_by_the_clock_and_ends_by_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _entered = runtime.enter();
        let began = Instant::now();
        let lasts = Duration::from_secs(1);
        let mut schedule =
            Schedule { began, pace: Pace::Fixed(4.0), end: End::Time(lasts), next: 0 };
        let due: Vec<_> = std::iter::from_fn(|| schedule.take())
            .map(|(n, due)| (n, due.duration_since(began).as_millis()))
            .collect();
        assert_eq!(due, [(0, 0), (1, 250), (2, 500), (3, 750)]);
    }
}
