//! Reads the body of a delivery from somebody who has not shown a signature yet.
//!
//! Bounded in length, in time, and in memory for all bodies together. What arrives is not copied
//! unless it comes in pieces.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use bytes::{Bytes, BytesMut};
use domain::Clock;
use futures_util::StreamExt;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::Limits;
use crate::error::Error;

/// Memory is counted in pieces of this many bytes.
const PIECE: usize = 1024;

/// The limits that all bodies share.
#[derive(Debug)]
pub(crate) struct Bodies {
    limit: usize,
    time: Duration,
    room: Arc<Semaphore>,
}

/// A body that arrived whole. Its room is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl Bodies {
    pub(crate) fn new(limits: &Limits) -> Self {
        // Less room than one body needs could never take it.
        let memory = limits.body_memory.max(2 * limits.body);
        Self {
            limit: limits.body,
            time: limits.body_time,
            room: Arc::new(Semaphore::new(memory.div_ceil(PIECE).min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Reads a body to its end, or says why not.
    pub(crate) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        clock: &dyn Clock,
    ) -> Result<Arrived, Error> {
        let frames = body.into_data_stream();
        let announced =
            headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|length| length > self.limit as u64) {
            // Who asks first has not sent anything yet.
            if !headers.contains_key(EXPECT) {
                self.discard(frames, clock).await;
            }
            return Err(Error::TooLarge { limit: self.limit });
        }
        let mut reading = Reading { bodies: self, frames, room: None, waits: Waits::Sender };
        let arrived = tokio::select! {
            biased;
            arrived = reading.finish() => Some(arrived),
            () = clock.sleep_until(clock.now() + self.time) => None,
        };
        let Reading { frames, room, waits, .. } = reading;
        match (arrived, waits) {
            (Some(Ok(bytes)), _) => Ok(Arrived { bytes, _room: room }),
            (Some(Err(error)), _) => {
                drop(room);
                if matches!(error, Error::TooLarge { .. }) {
                    self.discard(frames, clock).await;
                }
                Err(error)
            }
            (None, Waits::Sender) => Err(Error::TooSlow),
            (None, Waits::Room) => Err(Error::Busy("too many large bodies at once")),
        }
    }

    /// Lets the rest of a body pass unread, up to the limit once more: a sender that is cut off in
    /// the middle of its writing often does not see the answer.
    async fn discard(&self, mut frames: BodyDataStream, clock: &dyn Clock) {
        let mut left = self.limit;
        let rest = async {
            while let Some(Ok(frame)) = frames.next().await
                && frame.len() <= left
            {
                left -= frame.len();
            }
        };
        tokio::select! {
            biased;
            () = rest => {}
            () = clock.sleep_until(clock.now() + self.time) => {}
        }
    }
}

struct Reading<'a> {
    bodies: &'a Bodies,
    frames: BodyDataStream,
    room: Option<OwnedSemaphorePermit>,
    waits: Waits,
}

/// Whom a body that does not arrive is waiting for.
#[derive(Clone, Copy)]
enum Waits {
    Sender,
    Room,
}

impl Reading<'_> {
    async fn finish(&mut self) -> Result<Bytes, Error> {
        let Some(first) = self.next(0).await? else { return Ok(Bytes::new()) };
        let Some(second) = self.next(first.len()).await? else { return Ok(first) };
        let mut whole = BytesMut::with_capacity(2 * (first.len() + second.len()));
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        drop((first, second));
        while let Some(frame) = self.next(whole.len()).await? {
            whole.extend_from_slice(&frame);
        }
        Ok(whole.freeze())
    }

    /// Returns the next piece of a body of which `before` bytes are here already.
    async fn next(&mut self, before: usize) -> Result<Option<Bytes>, Error> {
        let Some(frame) = self.frames.next().await else { return Ok(None) };
        let frame = frame.map_err(|_| Error::Cut)?;
        let length = before + frame.len();
        if length > self.bodies.limit {
            return Err(Error::TooLarge { limit: self.bodies.limit });
        }
        if length > Limits::SMALL_BODY {
            self.make_room(length).await?;
        }
        Ok(Some(frame))
    }

    /// Takes room for what really arrived, twice over: a buffer that grows is copied once.
    /// Announcing a large body takes nothing, so nobody is kept out by mere announcements.
    async fn make_room(&mut self, length: usize) -> Result<(), Error> {
        let held = self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let wanted = (2 * length).div_ceil(PIECE);
        let Some(more) = wanted.checked_sub(held).filter(|more| *more > 0) else { return Ok(()) };
        // In steps that double, so that a long body does not ask at every piece.
        let most = (2 * self.bodies.limit).div_ceil(PIECE);
        let more = more.max(held).min(most - held);
        self.waits = Waits::Room;
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.bodies.room).acquire_many_owned(more).await;
        self.waits = Waits::Sender;
        let taken = taken.map_err(|closed| Error::Internal(Box::new(closed)))?;
        match &mut self.room {
            Some(room) => room.merge(taken),
            None => self.room = Some(taken),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http::HeaderValue;

    use super::*;
    use crate::rig::StillClock;

    const LIMITS: Limits = Limits {
        body: 300_000,
        body_time: Duration::from_secs(30),
        body_memory: 600_000,
        head_time: Duration::from_secs(1),
        connections: 1,
        streams: 1,
        drain: Duration::from_secs(1),
    };

    fn pieces(count: usize, of: usize) -> Body {
        Body::from_stream(stream::iter(
            (0..count).map(move |_| Ok::<_, Infallible>(Bytes::from(vec![b'x'; of]))),
        ))
    }

    async fn read(bodies: &Bodies, body: Body) -> Result<Arrived, Error> {
        bodies.read(&HeaderMap::new(), body, &StillClock::default()).await
    }

    #[tokio::test]
    async fn a_body_arrives_whole_in_one_piece_or_many() {
        let bodies = Bodies::new(&LIMITS);
        assert_eq!(read(&bodies, Body::empty()).await.unwrap().bytes.len(), 0);
        assert_eq!(read(&bodies, Body::from("one")).await.unwrap().bytes, "one");
        assert_eq!(read(&bodies, pieces(100, 3000)).await.unwrap().bytes.len(), 300_000);
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_refused_announced_or_not() {
        let bodies = Bodies::new(&LIMITS);
        let refused = read(&bodies, pieces(101, 3000)).await;
        assert!(matches!(refused, Err(Error::TooLarge { limit: 300_000 })), "{refused:?}");

        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("300001"));
        let refused = bodies.read(&headers, Body::from("short"), &StillClock::default()).await;
        assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_no_body() {
        let broken =
            stream::iter([Ok(Bytes::from("{\"action\"")), Err(std::io::Error::other("reset"))]);
        let cut = read(&Bodies::new(&LIMITS), Body::from_stream(broken)).await;
        assert!(matches!(cut, Err(Error::Cut)), "{cut:?}");
    }

    #[tokio::test]
    async fn a_sender_that_stalls_is_given_up_when_its_time_is_over() {
        let bodies = Bodies::new(&LIMITS);
        let stalled = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let clock = StillClock::whose_sleeps_end();
        let slow = bodies.read(&HeaderMap::new(), stalled, &clock).await;
        assert!(matches!(slow, Err(Error::TooSlow)), "{slow:?}");
    }

    #[tokio::test]
    async fn large_bodies_share_their_room_and_give_it_back() {
        let bodies = Bodies::new(&LIMITS);
        let first = read(&bodies, pieces(100, 3000)).await.unwrap();
        let clock = StillClock::whose_sleeps_end();
        let second = bodies.read(&HeaderMap::new(), pieces(100, 3000), &clock).await;
        assert!(matches!(second, Err(Error::Busy(_))), "{second:?}");
        // A small one still passes.
        assert!(bodies.read(&HeaderMap::new(), pieces(10, 3000), &clock).await.is_ok());
        drop(first);
        assert!(bodies.read(&HeaderMap::new(), pieces(100, 3000), &clock).await.is_ok());
    }
}
