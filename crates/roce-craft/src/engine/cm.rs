//! The exchange of connection management, as a list of what is sent when.

use std::collections::VecDeque;

use roce_wire::mad::cm::CmAttribute;

use crate::plan::{CmAnswer, CmPlan, ConnectionPlan, Dir, Service};

/// One message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub time: u64,
    pub from: Dir,
    pub message: CmAttribute,
    /// It is ICMP that quotes the message.
    pub is_icmp: bool,
}

/// What the exchange comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CmResult {
    /// Requests can be made from these times on: by the active end, by the passive end.
    Connected(u64, u64),
    Rejected,
    Unanswered,
}

/// The script of one connection.
#[derive(Debug)]
pub(crate) struct Script {
    pub steps: VecDeque<Step>,
    pub result: CmResult,
}

impl Script {
    /// Everything up to the moment when data can flow.
    pub(crate) fn set_up(plan: &ConnectionPlan, cm: &CmPlan) -> Self {
        let mut script = Writer { plan, cm, steps: Vec::new() };
        let result = if plan.service == Service::Ud { script.resolve() } else { script.connect() };
        let mut steps = script.steps;
        steps.sort_by_key(|step| step.time);
        Self { steps: steps.into(), result }
    }

    /// Adds the end of the connection: DREQ by one side at `now`, and the answer.
    pub(crate) fn tear_down(&mut self, plan: &ConnectionPlan, cm: &CmPlan, by: Dir, now: u64) {
        let mut script = Writer { plan, cm, steps: Vec::new() };
        script.add(now, by, CmAttribute::Dreq);
        if cm.drep {
            script.add(script.answer_time(now), by.other(), CmAttribute::Drep);
        } else {
            script.repeat(now, by, CmAttribute::Dreq);
        }
        self.steps.extend(script.steps);
    }
}

struct Writer<'p> {
    plan: &'p ConnectionPlan,
    cm: &'p CmPlan,
    steps: Vec<Step>,
}

impl Writer<'_> {
    fn add(&mut self, time: u64, from: Dir, message: CmAttribute) {
        self.steps.push(Step { time, from, message, is_icmp: false });
    }

    /// The same message again until the retries are used up; returns when it is given up.
    fn repeat(&mut self, first: u64, from: Dir, message: CmAttribute) -> u64 {
        let mut time = first;
        for _ in 0..self.cm.retries {
            time = time.saturating_add(self.cm.timeout);
            self.add(time, from, message);
        }
        time.saturating_add(self.cm.timeout)
    }

    /// When the answer to what is sent at `time` is sent.
    const fn answer_time(&self, time: u64) -> u64 {
        time.saturating_add(self.plan.latency).saturating_add(self.cm.think)
    }

    /// REQ, and what comes of it.
    fn connect(&mut self) -> CmResult {
        let start = self.plan.start;
        self.add(start, Dir::Forth, CmAttribute::Req);
        match self.cm.answer {
            CmAnswer::Silence => {
                self.unanswered(CmAttribute::Req);
                CmResult::Unanswered
            }
            CmAnswer::Reject => {
                self.add(self.answer_time(start), Dir::Back, CmAttribute::Rej);
                CmResult::Rejected
            }
            CmAnswer::Accept => self.accepted(),
        }
    }

    fn unanswered(&mut self, message: CmAttribute) {
        let first = self.steps.len().saturating_sub(1);
        self.repeat(self.plan.start, Dir::Forth, message);
        if self.cm.icmp {
            let arrivals: Vec<u64> = self.steps.iter().skip(first).map(|step| step.time).collect();
            for time in arrivals {
                let time = time.saturating_add(self.plan.latency).saturating_add(1_000);
                self.steps.push(Step { time, from: Dir::Back, message, is_icmp: true });
            }
        }
    }

    fn accepted(&mut self) -> CmResult {
        let start = self.plan.start;
        if self.cm.mra {
            // The kernel says at once that the application is slow.
            let time = start.saturating_add(self.plan.latency).saturating_add(1_000);
            self.add(time, Dir::Back, CmAttribute::Mra);
        }
        let rep = self.answer_time(start);
        self.add(rep, Dir::Back, CmAttribute::Rep);
        let heard = rep.saturating_add(self.plan.latency);
        let rtu = heard.saturating_add(1_000).saturating_add(self.cm.rtu_delay);
        // The passive end repeats its REP until the RTU has come.
        let mut again = rep.saturating_add(self.cm.timeout);
        while again < rtu.saturating_add(self.plan.latency) {
            self.add(again, Dir::Back, CmAttribute::Rep);
            again = again.saturating_add(self.cm.timeout);
        }
        self.add(rtu, Dir::Forth, CmAttribute::Rtu);
        let open = rtu.saturating_add(self.plan.latency).saturating_add(1_000);
        if self.cm.alternate_path {
            self.add(open, Dir::Back, CmAttribute::Lap);
            self.add(self.answer_time(open), Dir::Forth, CmAttribute::Apr);
        }
        CmResult::Connected(rtu.saturating_add(1_000), open)
    }

    /// Which queue pair serves datagrams: SIDR_REQ and SIDR_REP.
    fn resolve(&mut self) -> CmResult {
        let start = self.plan.start;
        self.add(start, Dir::Forth, CmAttribute::SidrReq);
        if self.cm.answer == CmAnswer::Silence {
            self.unanswered(CmAttribute::SidrReq);
            return CmResult::Unanswered;
        }
        let answer = self.answer_time(start);
        self.add(answer, Dir::Back, CmAttribute::SidrRep);
        if self.cm.answer == CmAnswer::Reject {
            return CmResult::Rejected;
        }
        let open = answer.saturating_add(self.plan.latency).saturating_add(1_000);
        CmResult::Connected(open, open)
    }
}
