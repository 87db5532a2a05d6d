//! What only connections with trouble need: counts, gaps, and the frames that prove them.

use std::collections::VecDeque;

use roce_wire::Psn;

use super::held::Held;
use super::hindsight::{AskedLoss, Lost};
use super::holes::{Hole, Holes};
use super::pairs::Lag;
use super::proof::{Event, Proofs};
use super::report::OtherKeys;
use super::seen::Seen;
use super::timing::Durations;
use super::unmatched::Unmatched;

/// A NAK for a PSN sequence error that was not followed by a retransmission yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenNak {
    pub psn: Psn,
    /// Its frame, when it was taken for a loss behind the capture point.
    pub loss: Option<u64>,
    /// What the responder waited for by what was captured before.
    pub waited_for: Psn,
    /// Nanoseconds from the last request to it: no answer is faster, about.
    pub gap: u64,
    /// Behind what had been sent before it.
    pub next: Psn,
    /// When it came, in nanoseconds.
    pub time: Option<u64>,
    /// Whether what it asks for was acknowledged since.
    pub is_void: bool,
}

/// The first request of a retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub psn: Psn,
    /// What the responder waited for before, by what was captured.
    pub arrived: Psn,
    /// Whether its answer is more than an acknowledgement.
    pub wants_data: bool,
    pub is_answered: bool,
    /// How many packets the retransmission has so far.
    pub packets: u32,
    /// Whether any of them calls for an answer.
    pub calls: bool,
    /// What had been sent before and was missing, and is to come behind them.
    pub tail: Option<Tail>,
    /// Its frame, when it shows a response that was lost behind the capture point.
    pub gap_loss: Option<u64>,
}

/// The end of what a requester had sent, missing at the capture up to one that calls for an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    pub start: Psn,
    /// How often it was sent in vain.
    pub times: u32,
}

/// A request that filled a gap and seems to be late.
#[derive(Clone, Debug)]
pub(super) struct Late {
    pub seen: Box<Seen>,
    /// How many PSNs it takes.
    pub span: u32,
    /// Whether it was counted as late.
    pub is_counted: bool,
    /// How far packets had been overtaken before.
    pub depth: u32,
}

impl Late {
    /// Whether `seen` goes on where this ended, or behind that, and this was the packet before, in
    /// frame `last`.
    pub(super) fn is_right_before(&self, last: u64, seen: &Seen) -> bool {
        self.seen.frame == last && !seen.psn.is_before(self.seen.psn.add(self.span))
    }
}

/// Responses that a requester threw away, because one before them was missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    /// The next that it takes.
    pub taken: Psn,
    /// Behind those that had come before.
    pub end: Psn,
}

/// How many requests are remembered of each kind, for what comes later to tell more of them.
pub(super) const MAX_REMEMBERED: usize = 32;
/// How many NAKs of one direction are kept.
pub(super) const MAX_NAKS: usize = 4;

/// What only connections with trouble need.
#[derive(Clone, Default, Debug)]
pub(super) struct Trouble {
    pub request_holes: Holes,
    pub response_holes: Holes,
    /// Responses that were asked for again and are not seen yet.
    pub missed_responses: Holes,
    pub proofs: Proofs,
    /// NAKs that were not followed by a retransmission yet.
    pub open_naks: Vec<OpenNak>,
    /// What was sent again because a NAK asked for it, when that was taken for a loss behind the
    /// capture point.
    pub asked_losses: VecDeque<AskedLoss>,
    /// The receiver's RNR NAK that was not followed by a retransmission yet.
    pub rnr: Option<(Psn, Option<u64>)>,
    /// What was seen while the other direction was not known.
    pub unmatched: Option<Box<Unmatched>>,
    /// PSN and number of transmissions while the responder did not go on.
    pub tries: Option<(Psn, u32)>,
    /// Whether the responder has said anything since the first of these.
    pub is_alive: bool,
    /// The response that was asked for again last because of a gap.
    pub gap: Option<Gap>,
    /// What the last retransmission began with, and whether that was answered since.
    pub head: Option<Head>,
    /// The PSN that was RNR NAKed last, and how often in a row.
    pub rnr_tries: Option<(Psn, u32)>,
    /// Requests that may be the first of a new life.
    pub held: Option<Box<Held>>,
    /// Behind the end of the message whose open READ has an unknown number of PSNs.
    pub unknown_span: Option<(Psn, u32)>,
    pub retransmitted: u64,
    pub duplicate_requests: u64,
    /// Of these, those since the responder last said anything.
    pub unproven_duplicates: u64,
    /// After a timeout, what may have been executed before: up to this PSN.
    pub doubt: Option<Psn>,
    /// What was sent again of that.
    pub doubtful: VecDeque<Psn>,
    /// The last request that waited then for an answer, when one was counted as lost behind the
    /// capture point.
    pub doubt_loss: Option<Psn>,
    /// Of `lost_after`, what was counted at timeouts since the responder last said anything.
    pub unproven_losses: u64,
    /// The newest of these, as far as they are not answered.
    pub newest_duplicates: VecDeque<Psn>,
    pub duplicate_frame_requests: u64,
    pub duplicate_frames: u64,
    /// Whether the first frame came again.
    pub first_is_copied: bool,
    /// Whether it was asked if the capture began with copies.
    pub is_beginning_known: bool,
    /// How far apart the copies are.
    pub lag: Option<Lag>,
    pub out_of_order: u64,
    /// Packets that stand behind later ones in the capture, and were sent before these by their times.
    pub misplaced: u64,
    pub max_reorder_depth: u32,
    /// The newest of these.
    pub late: Option<Late>,
    /// The newest requests that were taken for lost before the capture point.
    pub newest_losses: VecDeque<Lost>,
    /// How often hindsight would have told late from lost, before and behind the capture point,
    /// when nothing else spoke of packets that overtake each other.
    pub hints: [u64; 2],
    /// The first PSN, where requests were followed anew since.
    pub first_start: Option<Psn>,
    /// Whether requests came from before the first one that was captured.
    pub is_early: bool,
    /// How many of them may have been late.
    pub perhaps_late: u32,
    /// Whether the last retransmission turned out to be none.
    pub was_no_round: bool,
    /// The newest requests that came late and were not asked for since.
    pub late_psns: VecDeque<Psn>,
    /// Packets that overtook one another behind the capture point.
    pub reordered_after: u64,
    pub lost_before: u64,
    /// Of what was lost before the capture, what the IP identification proves.
    pub lost_for_certain: u64,
    pub lost_after: u64,
    /// Of these, those that may have been the answer just as well, lost on its way to the capture point.
    pub perhaps_answers: u32,
    /// Answers that were lost before the capture point, or late: the request had arrived.
    pub answers_gone: u32,
    /// Whether more may have been lost before the capture point, and behind it, than is counted.
    pub may_be_more: [bool; 2],
    /// Of these, those that nothing tells but a NAK, or a gap in responses that counts as one.
    pub doubtful_after: u64,
    /// Responses that were asked for again while the request before may have been lost.
    pub lost_either: u64,
    /// The last of these.
    pub last_either: Option<Psn>,
    /// Retransmitted packets that were lost before the capture, as far as that is proven.
    pub lost_again: u64,
    /// What was passed over in retransmissions.
    pub skipped: Holes,
    pub not_captured: u64,
    /// Requests that were answered, as far as they were not captured before.
    pub answered_unseen: Holes,
    /// Requests that were captured behind the answers to them.
    pub behind_answers: u64,
    /// The same of so long ago that they may have been sent again: how many in a row, and how many
    /// messages there were before them.
    pub perhaps_behind: (u32, u32),
    /// The latest time of a packet, where the capture steps back in time behind it.
    pub latest_time: Option<u64>,
    /// Missing, and it is not known where they went.
    pub lost_somewhere: u64,
    /// Lost or only late, before the capture point and behind it.
    pub lost_or_late: [u64; 2],
    pub rounds_nak: u32,
    pub rounds_gap: u32,
    pub rounds_rnr: u32,
    pub rounds_timeout: u32,
    /// Those of a time when the answers were not known to be this connection's.
    pub rounds_unknown: u32,
    /// Retransmissions that went on to the end of what had been sent, and those that did not.
    pub go_back_n: u32,
    pub selective: u32,
    pub naks: [u32; 5],
    pub rnr_naks: u32,
    /// The timer of the last one, in microseconds.
    pub rnr_timer: Option<u32>,
    pub rnr_stall: u64,
    pub duplicate_acks: u32,
    pub ghosts: u32,
    pub sequence_errors: u32,
    pub length_errors: u32,
    pub p_key_changes: u32,
    /// The P_Keys and Q_Keys that were no longer the first one.
    pub other_keys: Option<Box<OtherKeys>>,
    /// The PSN of the last packet that no receiver takes and that was missed.
    pub thrown_away: Option<Psn>,
    pub icrc_bad: u32,
    pub cnps: u32,
    pub ecn_ce_acks: u32,
    pub ecn_ce_cnps: u32,
    /// When the first CE arrived that no CNP has answered yet.
    pub ce_since: Option<u64>,
    pub cnp_delay: Durations,
}

impl Trouble {
    /// Takes back what only the answers could tell: so far those of the connection were not known.
    pub(super) fn forget_causes(&mut self) {
        let rounds = [self.rounds_nak, self.rounds_gap, self.rounds_rnr, self.rounds_timeout];
        (self.rounds_nak, self.rounds_gap, self.rounds_rnr, self.rounds_timeout) = (0, 0, 0, 0);
        self.rounds_unknown = rounds.into_iter().fold(self.rounds_unknown, u32::saturating_add);
        (self.lost_after, self.doubtful_after, self.unproven_losses) = (0, 0, 0);
        (self.perhaps_answers, self.answers_gone) = (0, 0);
        (self.duplicate_requests, self.unproven_duplicates) = (0, 0);
        self.newest_duplicates.clear();
        self.doubtful.clear();
        (self.doubt, self.doubt_loss) = (None, None);
        (self.tries, self.rnr_tries) = (None, None);
        self.proofs.forget_causes();
    }

    /// How many packets stand behind later ones, on the wire or in the capture.
    pub(super) const fn late_packets(&self) -> u64 {
        self.out_of_order.saturating_add(self.misplaced)
    }

    /// A request was lost before the capture point, as the packet in this frame shows; for certain
    /// where the IP identification tells it.
    pub(super) fn lose(&mut self, psn: Psn, is_again: bool, frame: u64, is_certain: bool) {
        let count = if is_again { &mut self.lost_again } else { &mut self.lost_before };
        *count = count.saturating_add(1);
        self.lost_for_certain = self.lost_for_certain.saturating_add(u64::from(is_certain));
        self.proofs.note(Event::LostBeforeCapture, frame);
        if self.newest_losses.len() >= MAX_REMEMBERED {
            self.newest_losses.pop_front();
        }
        let lost = Lost { psn, is_again, frame, depth: 0, began: None, is_asked: false };
        self.newest_losses.push_back(lost);
    }

    /// A request that was sent long ago arrives. Says whether it was taken for lost.
    pub(super) fn find_lost(&mut self, psn: Psn) -> bool {
        // Only where the IP identification tells.
        let at = self.newest_losses.iter().position(|lost| lost.psn == psn);
        let Some(lost) = at.and_then(|at| self.newest_losses.remove(at)) else {
            return false;
        };
        let count = if lost.is_again { &mut self.lost_again } else { &mut self.lost_before };
        *count = count.saturating_sub(1);
        self.lost_for_certain = self.lost_for_certain.saturating_sub(1);
        self.proofs.drop_last(Event::LostBeforeCapture, 1);
        true
    }

    /// Responses of the hole were lost before the capture point. Those that were seen before are
    /// not missing, and those that are missing already are not missing twice.
    pub(super) fn lose_responses(&mut self, hole: &Hole, start: Psn, len: u32) {
        let known = if hole.is_again { len } else { self.missed_responses.overlap(start, len) };
        let known = known.min(len);
        self.lost_again = self.lost_again.saturating_add(u64::from(known));
        self.lost_before = self.lost_before.saturating_add(u64::from(len.saturating_sub(known)));
    }

    /// The responses of the hole are asked for again, and not there yet.
    pub(super) fn miss_responses(&mut self, hole: Hole) {
        if !hole.is_again {
            self.missed_responses.fill(hole.start, hole.len);
            self.missed_responses.add(hole);
        }
    }

    /// The response with this PSN is asked for again, and those up to `responded` had come. Says
    /// whether it was taken, had it arrived.
    pub(super) fn take_gap(&mut self, psn: Psn, responded: Psn) -> bool {
        let is_thrown_away = |gap: Gap| !psn.is_before(gap.taken) && psn.is_before(gap.end);
        let was_taken = !self.gap.is_some_and(is_thrown_away);
        self.gap = Some(Gap { taken: psn, end: responded });
        was_taken
    }

    /// Whether all tries but the last, at least, were answered by a receiver that was not ready.
    pub(super) fn was_told_to_wait(&self) -> bool {
        self.tries.zip(self.rnr_tries).is_some_and(|((psn, tries), (told, times))| {
            psn == told && times.saturating_add(1) >= tries
        })
    }

    /// The responder has answered: it is there, and has what came before. `data` says that the
    /// answer is more than an acknowledgement.
    pub(super) fn note_answer(&mut self, psn: Psn, data: bool) {
        self.is_alive = true;
        self.unproven_duplicates = 0;
        self.unproven_losses = 0;
        if let Some(gap) = self.gap.as_mut().filter(|gap| data && gap.taken == psn) {
            gap.taken = psn.add(1);
        }
        if let Some(head) = &mut self.head {
            let is_it =
                if head.wants_data { data && psn == head.psn } else { !psn.is_before(head.psn) };
            head.is_answered |= is_it;
        }
    }

    /// An acknowledgement of `psn` that nothing asks for, or that says what another has said: a
    /// request came that had been executed before. Then those were that may have been.
    pub(super) fn convict_duplicates(&mut self, psn: Psn) {
        self.convict_asked(psn, false);
        let before = self.doubtful.len();
        self.doubtful.retain(|doubtful| psn.is_before(*doubtful));
        let convicted = before.saturating_sub(self.doubtful.len());
        if convicted == 0 {
            return;
        }
        let convicted = u64::try_from(convicted).unwrap_or(0);
        self.duplicate_requests = self.duplicate_requests.saturating_add(convicted);
        if self.doubt_loss.take_if(|due| !psn.is_before(*due)).is_some() {
            self.lost_after = self.lost_after.saturating_sub(1);
            self.perhaps_answers = self.perhaps_answers.saturating_sub(1);
            self.answers_gone = self.answers_gone.saturating_add(1);
            self.proofs.drop_last(Event::LostAfterCapture, 1);
        }
    }

    /// A packet was lost behind the capture point, as the packet in this frame shows; and perhaps
    /// others of `sent` PSNs, none of which the receiver has taken.
    pub(super) fn lose_after(&mut self, sent: i32, frame: u64) {
        self.lost_after = self.lost_after.saturating_add(1);
        let [_, may_be_more] = &mut self.may_be_more;
        *may_be_more |= sent > 1;
        self.proofs.note(Event::LostAfterCapture, frame);
    }

    /// Of what was lost behind the capture point only the first so many are certain.
    pub(super) fn keep_lost_after(&mut self, certain: u64) {
        let doubtful = self.lost_after.saturating_sub(certain);
        self.lost_after = self.lost_after.min(certain);
        self.proofs.drop_last(Event::LostAfterCapture, doubtful);
    }

    /// The responder waits for `psn`: requests from there on, taken for duplicates, are none.
    pub(super) fn acquit_duplicates(&mut self, psn: Psn) {
        let before = self.newest_duplicates.len();
        self.newest_duplicates.retain(|duplicate| duplicate.is_before(psn));
        let acquitted = before.saturating_sub(self.newest_duplicates.len());
        let acquitted = u64::try_from(acquitted).unwrap_or(0);
        self.duplicate_requests = self.duplicate_requests.saturating_sub(acquitted);
        self.unproven_duplicates = self.unproven_duplicates.saturating_sub(acquitted);
    }
}
