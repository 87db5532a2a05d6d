//! Headers rewritten behind the sender: what the wrong ICRCs tell of it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may be blunt"
)]

use std::net::{Ipv4Addr, Ipv6Addr};

use roce_analyze::connections::{Config, Tracker};
use roce_analyze::findings::{Finding, Policy, Value, evaluate};
use roce_wire::{Frame, FrameBuilder, Link, MacAddr, Opcode, PacketBuilder, Ports, Psn, Qpn};

const ETHERNET: usize = 14;

/// A packet whose ICRC is right for these ends.
fn frame(src: [u8; 4], dst: [u8; 4], psn: u32, src_port: u16) -> Vec<u8> {
    let payload = vec![0x5a; usize::try_from(psn % 7).unwrap() * 30 + 8];
    let packet = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0x77), Psn::new(psn));
    let ethernet = FrameBuilder::ethernet(MacAddr([2, 0, 0, 0, 0, 2]), MacAddr([2; 6]));
    let head = ethernet.ipv4(Ipv4Addr::from(src), Ipv4Addr::from(dst)).udp(src_port);
    let mut out = Vec::new();
    head.emit(&packet.payload(&payload), &mut out).unwrap();
    out
}

/// Bytes of the network header or behind it are overwritten, and the checksum of IPv4 mended.
fn rewrite(mut frame: Vec<u8>, at: usize, by: &[u8]) -> Vec<u8> {
    frame[ETHERNET + at..ETHERNET + at + by.len()].copy_from_slice(by);
    frame
}

/// The finding of wrong ICRCs, and what it says was rewritten.
fn told(frames: impl IntoIterator<Item = Vec<u8>>) -> (Finding, Option<String>) {
    let mut tracker = Tracker::new(Config::default());
    for (number, bytes) in (1..).zip(frames) {
        let frame = Frame::parse(Link::Ethernet, &bytes, bytes.len(), &Ports::default());
        tracker.observe(&frame, number, Some(number * 1_000));
    }
    let findings = evaluate(&tracker.finish(), &Policy::default());
    let finding = findings.into_iter().find(|finding| finding.id == "bad-icrc").unwrap();
    let text = text(&finding, "rewritten");
    (finding, text)
}

fn text(finding: &Finding, key: &str) -> Option<String> {
    let value = finding.evidence.iter().find(|(name, _)| *name == key);
    value.map(|(_, value)| match value {
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    })
}

const CLIENT: [u8; 4] = [192, 168, 1, 5];
const NAT: [u8; 4] = [203, 0, 113, 7];
const SERVER: [u8; 4] = [198, 51, 100, 20];

#[test]
fn a_private_source_behind_nat_is_told() {
    let frames = (0..10).map(|psn| rewrite(frame(CLIENT, SERVER, psn, 0xc123), 12, &NAT));
    let (finding, text) = told(frames);
    assert_eq!(
        text.unwrap(),
        "source address was 192.168.1.5 when the ICRC was made: NAT or a load balancer rewrites it"
    );
    assert_eq!((finding.subject.as_str(), finding.count), ("sender 203.0.113.7", 10));
}

#[test]
fn two_hosts_behind_one_address_are_both_told() {
    let other = [192, 168, 1, 6];
    let frames = (0..10).map(|psn| {
        rewrite(frame(if psn < 5 { CLIENT } else { other }, SERVER, psn, 0xc123), 12, &NAT)
    });
    let text = told(frames).1.unwrap();
    assert!(text.starts_with("source address was 192.168.1.5, 192.168.1.6 when"), "{text}");
}

#[test]
fn public_addresses_are_told_apart_by_the_other_ends() {
    // One public source towards two servers.
    let public = [192, 0, 2, 55];
    let frames = (0..10).map(|psn| {
        let server = [198, 51, 100, 20 + u8::from(psn > 4)];
        rewrite(frame(public, server, psn, 0xc123), 12, &NAT)
    });
    let text = told(frames).1.unwrap();
    assert!(text.starts_with("source address was 192.0.2.55 when"), "{text}");
    // A client of one public address that two servers share.
    let frames = (0..10).map(|psn| {
        let server = [198, 51, 100, 20 + u8::from(psn > 4)];
        rewrite(frame(NAT, public, psn, 0xc123), 16, &server)
    });
    let text = told(frames).1.unwrap();
    assert!(text.starts_with("destination address was 192.0.2.55 when"), "{text}");
}

#[test]
fn with_one_pair_of_public_addresses_both_are_named() {
    let frames = (0..10).map(|psn| rewrite(frame([8, 8, 8, 8], SERVER, psn, 0xc123), 12, &NAT));
    let (finding, text) = told(frames);
    let all = format!("{text:?} {:?}", self::text(&finding, "less_likely"));
    assert!(all.contains("source address was 8.8.8.8"), "{all}");
    assert!(all.contains("destination address was "), "{all}");
}

#[test]
fn a_known_host_is_recognised() {
    // The way back shows the server's own address.
    let virtual_ip = [203, 0, 113, 80];
    let frames = (0..10).flat_map(|psn| {
        let asked = rewrite(frame(NAT, virtual_ip, psn, 0xc123), 16, &SERVER);
        [asked, frame(NAT, virtual_ip, psn + 100, 0xc123)]
    });
    let text = told(frames).1.unwrap();
    assert!(text.starts_with("destination address was 203.0.113.80 when"), "{text}");
}

#[test]
fn a_known_host_of_ipv6_is_recognised() {
    let ip = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
    let make = |src, psn| {
        let packet = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0x77), Psn::new(psn));
        let ethernet = FrameBuilder::ethernet(MacAddr([2, 0, 0, 0, 0, 2]), MacAddr([2; 6]));
        let mut out = Vec::new();
        let head = ethernet.ipv6(ip(src), ip(9)).udp(0xc123);
        head.emit(&packet.payload(&psn.to_be_bytes()), &mut out).unwrap();
        out
    };
    let frames =
        (0..10).flat_map(|psn| [make(1, psn), rewrite(make(1, psn + 50), 8, &ip(0x99).octets())]);
    let text = told(frames).1.unwrap();
    assert!(text.starts_with("source address was 2001:db8::1 when"), "{text}");
}

#[test]
fn shorter_fields_are_told() {
    let cases: [(usize, &[u8], &str); 5] = [
        (20, &[0x80, 0x01], "UDP source port was 49443 "),
        (4, &[0xab, 0xcd], "IPv4 identification was 0 "),
        (6, &[0x00, 0x00], "IPv4 fragment word was 16384 "),
        (30, &[0x80, 0x01], "P_Key was 65535 "),
        (33, &[0x01, 0x02, 0x03], "destination queue pair was 0x000077 "),
    ];
    for (at, by, wanted) in cases {
        let frames = (0..10).map(|psn| rewrite(frame(CLIENT, SERVER, psn, 0xc123), at, by));
        let (finding, text) = told(frames);
        let all = format!("{text:?} {:?}", self::text(&finding, "less_likely"));
        assert!(all.contains(wanted), "{wanted}: {all}");
    }
    // A port of its own for each packet, and never the right one.
    let frames = (0..10).map(|psn| {
        let port = 0x8000 + u16::try_from(psn).unwrap() * 3;
        rewrite(frame(CLIENT, SERVER, psn, 0xc123), 20, &port.to_be_bytes())
    });
    let text = told(frames).1.unwrap();
    assert!(text.starts_with("UDP source port was 49443 when"), "{text}");
}

#[test]
fn damage_is_not_taken_for_rewriting() {
    let damaged = |psn: u32| {
        let at = 20 + usize::try_from(psn * 5 % 28).unwrap();
        let mut frame = frame(CLIENT, SERVER, psn, 0xc123);
        frame[ETHERNET + at] ^= 1 << (psn % 8);
        frame
    };
    assert_eq!(told((7..20).map(damaged)).1, None);
    // Copies of one damaged packet prove no more than it does.
    assert_eq!(told((0..10).map(|_| damaged(25))).1, None);
}
