use std::net::Ipv4Addr;

use proptest::prelude::*;
use roce_wire::{
    Content, Frame, FrameBuilder, Gid, Link, MacAddr, Opcode, PacketBuilder, Ports, Psn, Qpn,
    Reject,
};

use super::*;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn mac(last: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, last])
}

fn v2(src: Ipv4Addr, dst: Ipv4Addr, opcode: Opcode) -> Vec<u8> {
    let packet = PacketBuilder::new(opcode, Qpn::new(0x11), Psn::new(1));
    let mut bytes = Vec::new();
    let head = FrameBuilder::ethernet(mac(1), mac(2)).ipv4(src, dst).udp(0xc000);
    head.emit(&packet, &mut bytes).unwrap();
    bytes
}

fn v1(src: Ipv4Addr, dst: Ipv4Addr, opcode: Opcode) -> Vec<u8> {
    let packet = PacketBuilder::new(opcode, Qpn::new(0x11), Psn::new(1));
    let mut bytes = Vec::new();
    let head = FrameBuilder::ethernet(mac(1), mac(2)).grh(Gid::from_ipv4(src), Gid::from_ipv4(dst));
    head.emit(&packet, &mut bytes).unwrap();
    bytes
}

fn observe(verdict: &mut Verdict, bytes: &[u8], number: u64) {
    let frame = Frame::parse(Link::Ethernet, bytes, bytes.len(), &Ports::default());
    let wire_len = u32::try_from(bytes.len()).unwrap();
    let info = FrameInfo { number, time_ns: Some(1000 * number), wire_len };
    verdict.observe(&frame, Link::Ethernet, &info);
}

fn verdict(frames: &[Vec<u8>]) -> Verdict {
    let mut verdict = Verdict::new(Config::default());
    for (number, bytes) in (1..).zip(frames) {
        observe(&mut verdict, bytes, number);
    }
    verdict
}

fn ids(verdict: &Verdict) -> Vec<&'static str> {
    verdict.notes().iter().map(|note| note.id.key()).collect()
}

#[test]
fn hosts_that_answer_in_another_version_disagree() {
    let seen = verdict(&[
        v1(A, B, Opcode::RC_SEND_ONLY),
        v2(B, A, Opcode::RC_ACKNOWLEDGE),
        v1(A, B, Opcode::RC_SEND_ONLY),
    ]);
    assert_eq!(seen.answer(), Answer::Mixed);
    // The GID ::ffff:10.0.0.1 and the address 10.0.0.1 are one host.
    assert_eq!(seen.pairs.len(), 1);
    let pair = seen.pairs.iter().next().unwrap();
    assert!(pair.disagrees());
    assert_eq!((pair.a_to_b.packets, pair.b_to_a.packets), ([2, 0, 0, 0], [0, 1, 0, 0]));
    assert_eq!(pair.first_frames(), [1, 2]);
    assert_eq!(ids(&seen), ["versions-disagree"]);
    assert_eq!(seen.notes()[0].text, "10.0.0.1 sends v1 to 10.0.0.2, which sends v2/IPv4 back.");
}

#[test]
fn requests_without_any_answer_are_noted_and_multicast_is_not() {
    assert_eq!(ids(&verdict(&[v2(A, B, Opcode::RC_SEND_ONLY)])), ["one-way"]);
    assert!(ids(&verdict(&[v2(A, B, Opcode::UD_SEND_ONLY)])).is_empty());
    let both = [v2(A, B, Opcode::RC_SEND_ONLY), v2(B, A, Opcode::RC_ACKNOWLEDGE)];
    assert!(ids(&verdict(&both)).is_empty());
}

#[test]
fn a_wrong_icrc_is_counted_and_its_cause_named() {
    let mut zero = v2(A, B, Opcode::UC_SEND_ONLY);
    let end = zero.len();
    zero[end - 4..].fill(0);
    let seen = verdict(&[zero, v2(A, B, Opcode::UC_SEND_ONLY)]);
    assert_eq!((seen.icrc_ok, seen.icrc_bad), (1, 1));
    assert_eq!(seen.notes()[0].text, "Of the wrong ICRCs: 1 zero (not filled in).");
}

#[test]
fn pairs_that_do_not_fit_are_counted() {
    let mut seen = Verdict::new(Config { max_pairs: 2, ..Config::default() });
    for host in 1..=5u8 {
        let bytes = v2(Ipv4Addr::new(10, 0, 1, host), B, Opcode::UD_SEND_ONLY);
        observe(&mut seen, &bytes, u64::from(host));
    }
    assert_eq!((seen.pairs.len(), seen.pairs.unlisted()), (2, 3));
    assert_eq!(seen.roce_packets(), 5);
}

#[test]
fn a_packet_of_an_unknown_opcode_is_rejected_and_counted() {
    let seen = verdict(&[v2(A, B, Opcode(0xff))]);
    assert_eq!((seen.answer(), seen.rejected_total()), (Answer::None, 1));
    let position = Reject::ALL.iter().position(|reject| *reject == Reject::UnknownOpcode);
    assert_eq!(seen.rejected[position.unwrap()], 1);
}

proptest! {
    /// However a trace is divided, the parts together say what the whole says.
    #[test]
    fn parts_merge_into_the_whole(
        picks in prop::collection::vec((0usize..6, 0usize..3), 1..60),
    ) {
        let kinds = [
            v1(A, B, Opcode::RC_SEND_ONLY),
            v2(A, B, Opcode::RC_SEND_ONLY),
            v2(B, A, Opcode::RC_ACKNOWLEDGE),
            v2(Ipv4Addr::new(10, 9, 9, 9), A, Opcode::CNP),
            v2(A, B, Opcode(0xee)),
            vec![0; 60],
        ];
        let mut whole = Verdict::new(Config::default());
        let mut parts = [(); 3].map(|()| Verdict::new(Config::default()));
        for (number, (kind, part)) in (1..).zip(&picks) {
            observe(&mut whole, &kinds[*kind], number);
            observe(&mut parts[*part], &kinds[*kind], number);
        }
        let mut merged = Verdict::new(Config::default());
        for part in parts.into_iter().rev() {
            merged.merge(part);
        }
        merged.settle();
        prop_assert!(merged.pairs.iter().eq(whole.pairs.iter()));
        prop_assert_eq!(merged.notes(), whole.notes());
        prop_assert_eq!(merged.opcodes, whole.opcodes);
        prop_assert_eq!(merged.all, whole.all);
        prop_assert_eq!((merged.first_ns, merged.last_ns), (whole.first_ns, whole.last_ns));
        prop_assert_eq!((merged.icrc_ok, merged.icrc_bad), (whole.icrc_ok, whole.icrc_bad));
        prop_assert_eq!(merged.rejected, whole.rejected);
        prop_assert_eq!(merged.traffic.shares(), whole.traffic.shares());
    }

    /// Every frame is counted exactly once: as RoCE, as rejected, as MAC control or as other.
    #[test]
    fn counts_conserve(frames in prop::collection::vec(
        prop::collection::vec(any::<u8>(), 0..120), 0..40,
    )) {
        let seen = verdict(&frames);
        let carried: u64 = seen.carriers.iter().map(|count| count.packets).sum();
        let others: u64 = seen.traffic.shares().iter().map(|(_, count)| count).sum();
        let control = seen.pfc + seen.pause;
        prop_assert_eq!(carried + others + control + seen.rejected_total(), seen.all.packets);
        prop_assert_eq!(seen.all.packets, frames.len() as u64);
    }
}

#[test]
fn a_frame_cut_before_the_bth_is_roce_and_not_checked() {
    let whole = v2(A, B, Opcode::RC_SEND_ONLY);
    let frame = Frame::parse(Link::Ethernet, &whole[..45], whole.len(), &Ports::default());
    assert!(matches!(frame.content, Content::NoBth(_)));
    let mut seen = Verdict::new(Config::default());
    let info = FrameInfo { number: 1, time_ns: None, wire_len: 60 };
    assert!(seen.observe(&frame, Link::Ethernet, &info));
    assert_eq!((seen.roce_packets(), seen.icrc_unchecked, seen.truncated), (1, 1, 1));
    assert_eq!((seen.first_ns, seen.last_ns), (None, None));
}
