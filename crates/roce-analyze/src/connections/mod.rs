//! Flows, connections, and what became of their packets.
//!
//! A [`Tracker`] is fed frames and says in a [`Report`] what happened on each connection: what was
//! lost and where, what was sent again and why, how long answers took, how congested the way was.
//!
//! ## The PSN engine
//!
//! An endpoint has two PSN spaces: that of its own requests, and that of its peer's, in which it
//! answers. They are never mixed: a flow carries requests of one space and answers in the other.
//!
//! For the requests of one direction two numbers are kept. `next` is the PSN behind the newest
//! request that was captured; `arrived` is the PSN that the responder waits for if all that was
//! captured arrived in that order. Every answer corrects `arrived`. So a NAK tells where a packet
//! was lost: before the capture point when it asks for a hole in what was captured, behind it when
//! it asks for something before `arrived`. An acknowledgement of a hole shows that only the
//! capture missed it. A request before `arrived` is one that the responder has executed before.
//!
//! Where packets take several ways a receiver asks for what is on its way. What seemed to be lost
//! and sent again, and is seen once more, was late; and where packets are known to overtake each
//! other, what only a NAK tells of is called lost or late.
//!
//! A mirror of both sides of a port shows every frame twice. The second is no retransmission: it
//! has the same IP identification, where that counts, and comes as late as the other copies do.
//!
//! Which flow answers which is known only after a while where many queue pairs are alike: their
//! packets are kept until then, and followed again. So is a request whose PSN has nothing to do with
//! the stream: the responder's answer tells whether the queue pair has begun a new life.
//!
//! Responses with data are held to the list of requests that wait for them, in order. A READ takes
//! as many PSNs as its responses; where the path MTU is not known, it is learned.

mod again;
mod answers;
mod awaited;
mod bad_icrc;
mod beginning;
mod cm;
mod cm_track;
mod config;
mod connection;
mod copies;
mod direction;
mod disorder;
mod doubt;
mod evidence;
mod faulty;
mod flows;
mod follow;
mod group;
mod held;
mod hindsight;
mod holes;
pub mod json;
mod key;
mod lives;
mod log;
mod look;
mod marks;
mod merge;
mod messages;
mod moment;
mod naks;
mod order;
mod outcome;
mod pairing;
mod pairs;
mod partners;
mod pauses;
mod pmtu;
pub mod port;
mod proof;
mod rate;
mod reaction;
mod report;
mod requests;
mod reuse;
mod rounds;
mod search;
mod seen;
mod series;
mod sighting;
mod spans;
mod src_ports;
mod strange;
mod sum_up;
mod suspects;
mod table;
mod tail;
mod timing;
mod totals;
mod tracker;
mod trouble;
mod unheard;
mod unmatched;
mod unpaired;
mod unreachable;
mod upper;
mod verdict;
mod waiting;
mod wire;

pub use bad_icrc::{BadIcrc, Sample};
pub use config::Config;
pub use key::{FlowKey, HostPair};
pub use pauses::{FlowControl, PauseSender, PausedTime, Pauses};
pub use proof::{MANY_PROOFS_PER_EVENT, MAX_PROOFS_PER_EVENT};
pub use report::{
    CnpReaction, Connection, Counts, DirectionReport, EcnReport, End, Event, Evicted, Exchange,
    LearnedFrom, Loss, LostOrLate, MessageBytes, Messages, Milliseconds, Naks, OtherKeys, Outcome,
    OverTime, Owner, Percentiles, Proof, Rare, Rejection, Report, Retransmissions, SrcPorts,
    Totals,
};
pub use sighting::{Sight, Sighting, Sightings};
pub use strange::{Oddity, Strange};
pub use totals::Disorder;
pub use tracker::Tracker;
pub use upper::Upper;
pub use wire::{WireRate, WireRates};
