//! Catching a process in a phase, for certain, and striking it there.
//!
//! Nothing in the program under test helps. A phase is known from outside: by a lock that the driver
//! holds, by the bytes that it has sent and received, by requests that the fake forge holds, and
//! by the store's rows, read again while the process stands still.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::crowd::Parcel;
use super::fleet::Member;
use super::letter::Letter;
use super::phase::{Blow, Phase};
use super::trial::Trial;
use crate::forge::{Fault, Often, On};

/// How long a trap waits for somebody to step into it.
const PATIENCE: Duration = Duration::from_secs(12);

/// How long a process stands still at most while its phase is read.
const GLANCE: Duration = Duration::from_secs(5);

impl Trial<'_> {
    /// Strikes once in the phase that is aimed at, and counts where the blow fell. Nothing is
    /// struck and nothing counted if nobody steps into the trap.
    pub(super) fn strike(&mut self, aim: Phase, blow: Blow) -> Result<()> {
        let hit = match aim {
            Phase::BeforeCommit => self.before_commit(blow)?,
            Phase::Accepted | Phase::Unanswered | Phase::Elsewhere => self.accepted(blow)?,
            Phase::InStage => self.in_stage(blow)?,
            Phase::Unsent => self.unsent(blow)?,
            Phase::InCall => self.in_call(blow)?,
        };
        match hit {
            Some(phase) => self.tally.count(phase, blow),
            None => println!("  {}: nobody stepped into the trap `{}`", self.name(), aim.key()),
        }
        Ok(())
    }

    /// Strikes the gateway while the whole of a delivery has reached it and nobody can commit, or
    /// while the last byte of one is still missing.
    fn before_commit(&mut self, blow: Blow) -> Result<Option<Phase>> {
        let Some((mut letter, parcel)) = self.begin_letter()? else { return Ok(None) };
        let hold = if self.dice.percent(70) {
            let hold = self.view.hold_commits()?;
            letter.finish()?;
            self.await_block()?;
            Some(hold)
        } else {
            None
        };
        let unsettled = self.view.census()?.open() > 0;
        let answered = letter.answer()?.is_some();
        self.hit(&[Member::Gateway], blow)?;
        drop(hold);
        self.fleet.revive()?;
        let committed = self.view.state_of(parcel.delivery.id())?.is_some();
        // A forge that gets no answer tries again, or never.
        if self.dice.percent(80) {
            self.crowd.post(parcel);
        }
        Ok(unsettled.then_some(match (committed, answered, blow) {
            (false, false, _) => Phase::BeforeCommit,
            (true, false, Blow::Kill) => Phase::Unanswered,
            _ => Phase::Elsewhere,
        }))
    }

    /// Strikes the gateway, or everybody, when a delivery is answered and its job waits behind
    /// others of its lane.
    fn accepted(&mut self, blow: Blow) -> Result<Option<Phase>> {
        let Some((mut letter, parcel)) = self.begin_letter()? else { return Ok(None) };
        letter.finish()?;
        let id = parcel.delivery.id().to_owned();
        let seen = self.until(PATIENCE, |trial| Ok(trial.view.state_of(&id)?.map(drop)))?;
        if seen.is_none() {
            self.crowd.post(parcel);
            return Ok(None);
        }
        let late = self.dice.percent(70);
        let answered = self.until(Duration::from_millis(if late { 500 } else { 0 }), |_| {
            Ok(letter.answer()?.map(drop))
        })?;
        let members = match blow {
            Blow::Kill if self.dice.percent(40) => Member::ALL.to_vec(),
            _ => vec![Member::Gateway],
        };
        for member in self.fleet.awake(&members) {
            self.fleet.halt(member, Instant::now() + GLANCE)?;
        }
        let state = self.view.state_of(&id)?;
        let answer = letter.answer()?;
        self.hit(&members, blow)?;
        self.fleet.revive()?;
        let phase = match state.as_deref() {
            Some("queued") if answered.is_some() || answer.is_some() => Some(Phase::Accepted),
            Some("queued" | "running") if answer.is_none() => Some(Phase::Unanswered),
            _ if self.view.census()?.open() > 0 => Some(Phase::Elsewhere),
            _ => None,
        };
        match answer {
            Some((status, body)) => self.crowd.note(parcel, status, &body),
            None => self.crowd.post(parcel),
        }
        Ok(phase)
    }

    /// Strikes a worker that runs a job.
    fn in_stage(&mut self, blow: Blow) -> Result<Option<Phase>> {
        let caught = self.until(PATIENCE, |trial| {
            for held in trial.view.running()? {
                let Some(member) = trial.fleet.member_of(held.pid) else { continue };
                if trial.fleet.is_stopped(member) {
                    continue;
                }
                trial.fleet.halt(member, Instant::now() + GLANCE)?;
                if trial.view.running()?.contains(&held) && trial.may_stay(blow)? {
                    return Ok(Some(member));
                }
                trial.fleet.resume(member)?;
            }
            Ok(None)
        })?;
        let Some(member) = caught else { return Ok(None) };
        self.hit_worker(member, blow)?;
        Ok(Some(Phase::InStage))
    }

    /// Strikes the worker that settled a job whose answer has not left.
    fn unsent(&mut self, blow: Blow) -> Result<Option<Phase>> {
        let caught = self.until(PATIENCE, |trial| {
            let Some(held) = trial.view.unsent()?.into_iter().next() else { return Ok(None) };
            let awake = trial.fleet.awake(&Member::WORKERS);
            for member in &awake {
                trial.fleet.halt(*member, Instant::now() + GLANCE)?;
            }
            let stands = trial.view.unsent()?.contains(&held) && trial.may_stay(blow)?;
            let settler = trial.fleet.member_of(held.pid).filter(|member| awake.contains(member));
            // Where the one who settled is gone already, whoever would send is as good.
            let victim = settler.or_else(|| awake.first().copied()).filter(|_| stands);
            for member in awake {
                if Some(member) != victim {
                    trial.fleet.resume(member)?;
                }
            }
            Ok(victim)
        })?;
        let Some(member) = caught else { return Ok(None) };
        self.hit_worker(member, blow)?;
        Ok(Some(Phase::Unsent))
    }

    /// Strikes the worker whose comment the forge has and does not answer: not yet written, or
    /// written already. The request goes on after that, as requests do whose sender is dead.
    fn in_call(&mut self, blow: Blow) -> Result<Option<Phase>> {
        // What an earlier trap held must not be taken for what this one holds.
        self.release_at = None;
        self.forge.faults().release();
        let fault = *self.dice.pick(&[Fault::HoldBefore, Fault::HoldAfter]);
        // Not only the next one: the weather may strike that before it is held.
        self.forge.faults().add(fault, On::NewComments, Often::Always);
        let caught = self.until(PATIENCE, |trial| {
            let Some(request) = trial.forge.faults().held_requests().into_iter().next() else {
                return Ok(None);
            };
            let Some(issue) = trial.crowd.issues().iter().find(|issue| issue.is_named_by(&request))
            else {
                return Ok(None);
            };
            let sending = trial.view.sending()?;
            let sender = sending.iter().find(|held| issue.is_named_by(&held.what));
            let member = sender.and_then(|held| trial.fleet.member_of(held.pid));
            Ok(member.filter(|member| !trial.fleet.is_stopped(*member)))
        })?;
        self.forge.faults().add(fault, On::NewComments, Often::Next(0));
        let Some(member) = caught else {
            self.forge.faults().release();
            return Ok(None);
        };
        // The request is held meanwhile, so there is time to find a moment to stand still in.
        let stands = self.until(GLANCE, |trial| {
            trial.fleet.halt(member, Instant::now() + GLANCE)?;
            if trial.may_stay(blow)? {
                return Ok(Some(()));
            }
            trial.fleet.resume(member)?;
            Ok(None)
        })?;
        if stands.is_none() {
            self.forge.faults().release();
            return Ok(None);
        }
        self.hit_worker(member, blow)?;
        self.release_at = Some(Instant::now() + self.dice.millis(0, 1500));
        Ok(Some(Phase::InCall))
    }

    /// Sends all but the last byte of a new delivery, on an issue where others wait already.
    fn begin_letter(&mut self) -> Result<Option<(Letter, Parcel)>> {
        let issue = self.crowd.any_issue();
        for _ in 0..3 {
            self.crowd.ask_on(&issue);
        }
        let before = self.crowd.accepted();
        self.until(PATIENCE, |trial| Ok((trial.crowd.accepted() > before).then_some(())))?;
        let parcel = self.crowd.prepare(&issue);
        let gateway = self.fleet.address();
        let letter = self.until(PATIENCE, |_| Ok(Letter::begin(gateway, &parcel.delivery).ok()))?;
        match letter {
            Some(letter) => Ok(Some((letter, parcel))),
            None => {
                self.crowd.post(parcel);
                Ok(None)
            }
        }
    }

    /// Gives a delivery the time to run into a hold on commits. PostgreSQL tells when it has; on
    /// SQLite it cannot get past the hold, however far it has come.
    fn await_block(&mut self) -> Result<()> {
        let pause = self.dice.millis(2, 60);
        let deadline = Instant::now() + Duration::from_millis(800);
        std::thread::sleep(pause);
        while self.view.somebody_waits()? == Some(false) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Whether a process may stand still for as long as the blow says. On SQLite a process that
    /// stops in the middle of a commit stops everybody: for a moment that is worth a try, for half
    /// a minute it only shows that nothing happens.
    fn may_stay(&self, blow: Blow) -> Result<bool> {
        match blow {
            Blow::Stop(length) if length > Duration::from_secs(5) => self.view.is_writable(),
            Blow::Stop(_) | Blow::Kill => Ok(true),
        }
    }

    /// Strikes a worker, and now and then the other one with it.
    fn hit_worker(&mut self, member: Member, blow: Blow) -> Result<()> {
        let both = blow == Blow::Kill && self.dice.percent(20);
        let victims = if both { Member::WORKERS.to_vec() } else { vec![member] };
        self.hit(&victims, blow)?;
        self.fleet.revive()
    }

    fn hit(&mut self, members: &[Member], blow: Blow) -> Result<()> {
        match blow {
            // Who is stopped for long stays so: its end would cut the stop short.
            Blow::Kill => self.fleet.kill(&self.fleet.not_resting(members, GLANCE)),
            Blow::Stop(length) => {
                for member in members {
                    self.fleet.halt(*member, Instant::now() + length)?;
                }
                Ok(())
            }
        }
    }
}
