//! What the connection manager said of a connection.

use roce_wire::mad::RdmaCmHeader;
use roce_wire::mad::cm::{CmMessage, RejReason, Rep, Req};
use roce_wire::{Psn, Service};

use super::port;
use super::upper::{self, Upper};

/// How many of the frames of an exchange are listed.
const MAX_FRAMES: usize = 16;

/// Who refused a connection, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// The reason.
    pub reason: RejReason,
    /// Whether the side that asked refuses the answer to its own request.
    pub by_requester: bool,
    /// The frame of the REJ.
    pub frame: u64,
}

/// One exchange of the connection manager, from REQ to DREP.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Exchange {
    /// Of the REQ; a repeated REQ has the same.
    pub transaction_id: u64,
    /// The id of the side that asks.
    pub local_comm_id: u32,
    /// The id of the side that answers, once it has told.
    pub remote_comm_id: Option<u32>,
    /// What was asked for.
    pub service_id: u64,
    /// The port of RDMA_CM, when the service is one.
    pub port: Option<u16>,
    /// The application, by port and private data.
    pub upper: Option<Upper>,
    /// The source port in RDMA_CM's header.
    pub source_port: Option<u16>,
    /// The UDP source port that Linux makes of the flow label in the REQ.
    pub predicted_src_port: Option<u16>,
    /// How many REQs there were, the first included.
    pub reqs: u32,
    /// How many MRAs.
    pub mras: u32,
    /// How many REPs.
    pub reps: u32,
    /// How many RTUs.
    pub rtus: u32,
    /// How many DREQs, from either side.
    pub dreqs: u32,
    /// How many DREPs, from either side.
    pub dreps: u32,
    /// The refusal.
    pub rejected: Option<Rejection>,
    /// The status of a SIDR_REP other than 0.
    pub sidr_status: Option<u8>,
    /// Whether it is a resolution of a datagram service: SIDR_REQ and SIDR_REP.
    pub is_sidr: bool,
    /// Path MTU in bytes.
    pub path_mtu: Option<u32>,
    /// How often a packet is sent again without an answer.
    pub retry_count: Option<u8>,
    /// How often a packet is sent again after an RNR NAK by the side that asked; 7 is without end.
    pub rnr_retry_count: Option<u8>,
    /// The same of the side that answered.
    pub rnr_retry_count_of_responder: Option<u8>,
    /// Local ACK timeout of the side that asked, in nanoseconds; `None` also when it is infinite.
    pub ack_timeout: Option<u64>,
    /// READ and atomic requests that the side that asked takes at a time.
    pub responder_resources: Option<u8>,
    /// READ and atomic requests that the side that asked wants to have open.
    pub initiator_depth: Option<u8>,
    /// The partition.
    pub p_key: Option<u16>,
    /// The queue pair of a datagram service.
    pub sidr_qpn: Option<u32>,
    /// Of a datagram service.
    pub q_key: Option<u32>,
    /// From the first REQ to the RTU, in nanoseconds.
    pub setup: Option<u64>,
    /// When the first and the last REQ went, in nanoseconds.
    pub req_times: Option<(u64, u64)>,
    /// When its last message went, in nanoseconds.
    pub last_time: Option<u64>,
    /// The frames, the first sixteen.
    pub frames: Vec<u64>,
    /// An ICMP error that quotes the REQ: destination port unreachable.
    pub unreachable: Option<u64>,
}

impl Exchange {
    /// How many messages were sent again.
    #[must_use]
    pub fn retries(&self) -> u32 {
        let sent = [self.reqs, self.reps, self.dreqs];
        sent.iter().fold(0, |sum, count| sum.saturating_add(count.saturating_sub(1)))
    }

    /// Whether the connection was ended or refused.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.dreqs > 0 || self.dreps > 0 || self.rejected.is_some()
    }

    /// Whether the other side has said anything, whether that was captured or not: who asked says
    /// RTU only after a REP, and DREQ only of what was established.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        let is_established = self.rtus > 0 || self.dreqs > 0 || self.dreps > 0;
        self.reps > 0 || self.mras > 0 || is_established || self.is_refused()
    }

    /// Whether the other side refused. The side that asked says REJ as well, when it has waited in
    /// vain.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        match self.rejected {
            Some(rejection) => !rejection.by_requester,
            None => self.sidr_status.is_some(),
        }
    }

    /// Notes a frame of the exchange.
    pub(super) fn note_frame(&mut self, frame: u64, time: Option<u64>) {
        self.last_time = self.last_time.max(time);
        if self.frames.len() < MAX_FRAMES {
            self.frames.push(frame);
        }
    }

    /// The exchange that a REQ begins.
    pub(super) fn of_req(req: &Req, transaction_id: u64) -> Self {
        let rdma_cm = req.rdma_cm();
        let port = req.service_id.port();
        let data = rdma_cm.map_or(&req.private_data[..], |(_, data)| data);
        Self {
            transaction_id,
            local_comm_id: req.local_comm_id.get(),
            service_id: req.service_id.get(),
            port,
            upper: upper::of(req.service_id, data),
            source_port: rdma_cm.map(|(header, _)| RdmaCmHeader::source_port(header)),
            predicted_src_port: Some(req.primary.flow_label())
                .filter(|label| *label != 0)
                .map(port::of_flow_label),
            path_mtu: req.path_mtu().bytes(),
            retry_count: Some(req.retry_count()),
            rnr_retry_count: Some(req.rnr_retry_count()),
            ack_timeout: req.primary.ack_timeout().duration().map(nanos),
            responder_resources: Some(req.responder_resources()),
            initiator_depth: Some(req.initiator_depth()),
            p_key: Some(req.p_key.get()),
            ..Self::default()
        }
    }

    /// A REQ, the first or a repeated one.
    pub(super) fn req(&mut self, time: Option<u64>) {
        self.reqs = self.reqs.saturating_add(1);
        if let Some(time) = time {
            let first = self.req_times.map_or(time, |(first, _)| first);
            self.req_times = Some((first, time));
        }
    }

    /// A REP.
    pub(super) fn rep(&mut self, rep: &Rep) {
        self.reps = self.reps.saturating_add(1);
        self.remote_comm_id = Some(rep.local_comm_id.get());
        self.rnr_retry_count_of_responder = Some(rep.rnr_retry_count());
    }

    /// Any other message; `from_requester` says who sent it.
    pub(super) fn other(
        &mut self,
        message: &CmMessage<'_>,
        from_requester: bool,
        (frame, time): (u64, Option<u64>),
    ) {
        let count = match message {
            CmMessage::Mra(_) => &mut self.mras,
            CmMessage::Rtu(_) => {
                if let (Some((first, _)), Some(now)) = (self.req_times, time)
                    && self.setup.is_none()
                {
                    self.setup = Some(now.saturating_sub(first));
                }
                &mut self.rtus
            }
            CmMessage::Dreq(_) => &mut self.dreqs,
            CmMessage::Drep(_) => &mut self.dreps,
            CmMessage::Rej(rej) => {
                let by_requester = from_requester;
                let rejection = Rejection { reason: rej.reason, by_requester, frame };
                self.rejected.get_or_insert(rejection);
                return;
            }
            _ => return,
        };
        *count = count.saturating_add(1);
    }
}

fn nanos(duration: core::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What a REQ says of the flows to come.
pub(super) struct Ends {
    pub qpn: u32,
    pub start: Psn,
    pub service: Service,
}

impl Ends {
    pub(super) fn of_req(req: &Req) -> Self {
        Self {
            qpn: req.local_qpn().get(),
            start: req.starting_psn(),
            service: req.service().unwrap_or(Service::Rc),
        }
    }
}
