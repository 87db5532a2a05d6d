//! From the events of the file to the rules of the connections.

use toml::Spanned;

use super::ScenarioError;
use super::check::{Check, dir};
use super::file::{Event, EventKind, NakKind, Of, Where, Which};
use crate::plan::{ConnectionPlan, Rule};
use crate::rng::Chance;

const NAK_CODES: &str =
    "a nak has a code: invalid-request, remote-access-error or remote-operational-error";
const MALFORMED: &str =
    "a malformed packet has a what: tver, opcode, length, pad, reserved or no-icrc";

impl Check<'_> {
    /// Adds the rule of an event to the connections that it happens to.
    pub(super) fn event(
        &self,
        event: &Spanned<Event>,
        connections: &mut [ConnectionPlan],
    ) -> Result<(), ScenarioError> {
        let rule = self.rule(event)?;
        let wanted = match &event.get_ref().connection {
            Some(which) => Some(self.which(which)?),
            None => None,
        };
        let from = dir(event.get_ref().from);
        let is_certain = event.get_ref().rate.as_ref().is_some_and(|rate| *rate.get_ref() >= 1.0);
        for (index, connection) in connections.iter_mut().enumerate() {
            if wanted.is_none_or(|wanted| wanted == index) {
                if rule.kind == EventKind::Rnr && is_certain && connection.limits.rnr_retries == 7 {
                    let message = "never ends: set rnr_retries of the connection below 7";
                    return self.wrong(&event.span(), message);
                }
                connection.rules.of_mut(from).push(rule.clone());
            }
        }
        Ok(())
    }

    /// The place of the connection that an event names.
    fn which(&self, which: &Spanned<Which>) -> Result<usize, ScenarioError> {
        let connections = self.connections();
        let found = match which.get_ref() {
            Which::Number(number) => number.checked_sub(1).filter(|at| *at < connections.len()),
            Which::Name(name) => connections.iter().position(|c| c.name.as_ref() == Some(name)),
        };
        found.map_or_else(|| self.wrong(&which.span(), "there is no such connection"), Ok)
    }

    fn rule(&self, spanned: &Spanned<Event>) -> Result<Rule, ScenarioError> {
        let event = spanned.get_ref();
        let span = spanned.span();
        let at = self.numbers(&event.at, "packets and messages")?;
        let every = match &event.every {
            Some(every) => Some(self.between(every, "every", (1, u64::MAX))?),
            None => None,
        };
        let chance = match &event.rate {
            Some(rate) => self.chance(rate)?,
            None => Chance::default(),
        };
        if at.is_empty() && every.is_none() && event.rate.is_none() {
            return self.wrong(&span, "an event says when: at, every or rate");
        }
        let timer = match &event.timer {
            Some(timer) => self.between(timer, "timer", (0, 31))?,
            None => 14,
        };
        let nak = match (event.kind, event.code) {
            (EventKind::Nak, None) => return self.wrong(&span, NAK_CODES),
            (_, Some(NakKind::InvalidRequest) | None) => 1,
            (_, Some(NakKind::RemoteAccessError)) => 2,
            (_, Some(NakKind::RemoteOperationalError)) => 3,
        };
        if event.kind == EventKind::Malformed && event.what.is_none() {
            return self.wrong(&span, MALFORMED);
        }
        if matches!(event.kind, EventKind::Rnr | EventKind::Nak | EventKind::Silence)
            && event.of != Of::Requests
        {
            return self.wrong(&span, "only requests are refused or left unanswered");
        }
        Ok(Rule {
            kind: event.kind,
            requests: matches!(event.of, Of::Requests | Of::Any),
            responses: matches!(event.of, Of::Responses | Of::Any),
            acks: matches!(event.of, Of::Acks | Of::Any),
            at,
            every,
            chance,
            times: self.between(&event.times, "times", (1, 1_000_000))?,
            before_capture: event.place == Where::BeforeCapture,
            by: self.between(&event.by, "by", (1, 1000))?,
            timer,
            nak,
            malformed: event.what,
        })
    }
}
