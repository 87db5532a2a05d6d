//! Frames of every version, out as a receiver would parse them, and in as far as they belong.

use super::*;
use crate::probe::exchange::{Answer, Manner};
use crate::probe::offer::Offer;
use roce_wire::mad::cm::{CmMessage, Rej, RejReason, RejectedMessage};
use roce_wire::{Carrier, CommId, QKey};

const MANNER: Manner = Manner {
    tries: 1,
    timeout: Duration::from_secs(1),
    patience: Duration::from_secs(1),
    complete: false,
};

fn ends(src: &str, dst: &str) -> Ends {
    Ends {
        src: src.parse().unwrap(),
        dst: dst.parse().unwrap(),
        src_mac: MacAddr([2, 0, 0, 0x77, 0, 1]),
        dst_mac: MacAddr([2, 0, 0, 0x77, 0, 2]),
        port: 7471,
        mtu: Some(1500),
    }
}

const CASES: [(&str, &str, Version, Carrier, usize); 4] = [
    // Ethernet 14, IPv4 20 or IPv6 and GRH 40, UDP 8, BTH 12, DETH 8, datagram 256, ICRC 4.
    ("10.77.0.1", "10.77.0.2", Version::V2, Carrier::V2Ipv4, 322),
    ("fd77::1", "fd77::2", Version::V2, Carrier::V2Ipv6, 342),
    ("10.77.0.1", "10.77.0.2", Version::V1, Carrier::V1, 334),
    ("fd77::1", "fd77::2", Version::V1, Carrier::V1, 334),
];

fn frame_of(version: Version, ends: &Ends, gmp: &Gmp) -> Vec<u8> {
    let mut frame = Vec::new();
    let packet = PacketBuilder::gmp(Psn::new(1), gmp);
    head(version, ends, 0xc123).emit(&packet, &mut frame).unwrap();
    frame
}

/// The frame of an answer: the ends change places.
fn answer(version: Version, ends: &Ends, gmp: &Gmp) -> Vec<u8> {
    let back = Ends {
        src: ends.dst,
        dst: ends.src,
        src_mac: ends.dst_mac,
        dst_mac: ends.src_mac,
        ..*ends
    };
    frame_of(version, &back, gmp)
}

fn told(frame: &[u8], version: Version, ends: &Ends, exchange: &mut Exchange) -> Option<Carried> {
    let moment = Moment { at: Duration::from_millis(1), stamp_ns: None };
    let told = Told { version, ends, udp_src_port: 0xc123, moment };
    let frame = Frame::parse(Link::Ethernet, frame, frame.len(), &Ports::default());
    told.tell(&frame, exchange)
}

#[test]
fn requests_are_as_long_and_as_sound_as_they_have_to_be() {
    for (src, dst, version, carrier, len) in CASES {
        let ends = ends(src, dst);
        let offer = Offer::new(&ends);
        let gmp = Gmp::cm(offer.transaction, CmMessage::Req(&offer.req));
        let bytes = frame_of(version, &ends, &gmp);
        assert_eq!(bytes.len(), len);
        let frame = Frame::parse(Link::Ethernet, &bytes, len, &Ports::default());
        let (net, packet) = frame.packet().unwrap();
        assert_eq!((net.carrier(), frame.icrc_state()), (carrier, Some(IcrcState::Ok)));
        assert_eq!((net.src(), net.dst()), (Addr::Ip(ends.src), Addr::Ip(ends.dst)));
        let deth = packet.deth.unwrap();
        assert_eq!(
            (deth.q_key, deth.src_qp(), packet.bth.dest_qp()),
            (QKey::GSI, Qpn::GSI, Qpn::GSI)
        );
        assert_eq!(net.udp().map(Udp::dst_port), (version == Version::V2).then_some(4791));
    }
}

#[test]
fn an_answer_counts_when_it_comes_from_where_it_was_asked() {
    for (src, dst, version, ..) in CASES {
        let ends = ends(src, dst);
        let offer = Offer::new(&ends);
        let fresh = || {
            let mut exchange = Exchange::new(MANNER, offer.req, offer.transaction);
            exchange.poll(Duration::ZERO);
            exchange
        };
        let reason = RejReason::INVALID_SERVICE_ID;
        let ours = offer.req.local_comm_id;
        let rej = Rej::new(CommId::new(0), ours, RejectedMessage::REQ, reason);
        let gmp = Gmp::cm(offer.transaction, CmMessage::Rej(&rej));

        let mut exchange = fresh();
        let carried = told(&answer(version, &ends, &gmp), version, &ends, &mut exchange).unwrap();
        assert!(matches!(exchange.outcome().answer, Answer::Rej(_)));
        assert_eq!((carried.gid, carried.src_mac), (gid(ends.dst), Some(ends.dst_mac)));
        assert_eq!(carried.icrc, Some(IcrcState::Ok));

        // From another host, over the other version, or our own frame seen going out: no answer.
        let mut exchange = fresh();
        let stranger = self::ends(src, if dst.contains(':') { "fd77::9" } else { "10.77.0.9" });
        assert!(told(&answer(version, &stranger, &gmp), version, &ends, &mut exchange).is_none());
        let other = if version == Version::V1 { Version::V2 } else { Version::V1 };
        assert!(told(&answer(other, &ends, &gmp), version, &ends, &mut exchange).is_none());
        assert!(told(&frame_of(version, &ends, &gmp), version, &ends, &mut exchange).is_none());
        assert!(matches!(exchange.outcome().answer, Answer::Silence));
    }
}
