//! Frames of the fixtures, spoilt in any way, through every edit.

use std::path::Path;
use std::sync::OnceLock;

use clap::Parser as _;
use proptest::prelude::*;
use roce_capture::{Frame as Captured, LinkType};
use roce_wire::{Content, Frame, IcrcState, Link, Ports, Reject};

use super::frame::Rewriter;
use crate::cli::{Cli, Command};

const OPTIONS: [&str; 9] = [
    "",
    "--anonymize seed",
    "--map-ip 10.0.0.0/8=11.0.0.0/8,fd00::/8=fe00::/8 --map-qpn 0x11=0x12 --map-udp-port 4791=9741",
    "--dscp 3 --ecn ce --pcp 7 --payload pattern --fix-icrc",
    "--convert v1 --add-vlan 5",
    "--convert v2-ipv6 --add-vxlan 5:192.0.2.1-192.0.2.2",
    "--convert v2-ipv4 --strip-vlan",
    "--strip-tunnel --headers-only",
    "--anonymize seed --convert v2-ipv6 --strip-tunnel --add-vlan 1 --headers-only --payload zero",
];

fn rewriter(options: &str) -> Rewriter {
    let words = ["roce-sniff", "rewrite", "in", "-o", "out"].into_iter();
    let cli = Cli::try_parse_from(words.chain(options.split_whitespace())).unwrap();
    let Some(Command::Rewrite(args)) = cli.command else { panic!() };
    super::rewriter(&args).unwrap()
}

/// Link type, length on the wire, bytes.
type Kept = (LinkType, u32, Vec<u8>);

/// The frames of small fixtures.
fn frames() -> &'static [Kept] {
    static FRAMES: OnceLock<Vec<Kept>> = OnceLock::new();
    FRAMES.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/made");
        let mut frames = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let Ok(mut reader) = roce_capture::FileReader::open(&path) else { continue };
            let mut count = 0;
            while let Some(frame) = reader.next_frame().unwrap() {
                frames.push((frame.link_type, frame.wire_len, frame.data.to_vec()));
                count += 1;
                if count == 48 {
                    break;
                }
            }
        }
        assert!(frames.len() > 1000);
        frames
    })
}

fn captured((link_type, wire_len, data): &Kept) -> Captured<'_> {
    let (link_type, wire_len) = (*link_type, *wire_len);
    Captured { number: 1, time_ns: None, link_type, wire_len, data, interface: 0 }
}

fn parse(kept: &Kept) -> Frame<'_> {
    let wire_len = usize::try_from(kept.1).unwrap();
    Frame::parse(Link::from_linktype(kept.0.0), &kept.2, wire_len, &Ports::default())
}

fn rewritten(kept: &Kept, options: &str) -> Kept {
    let mut rewriter = rewriter(options);
    let wire_len = rewriter.rewrite(&captured(kept), &parse(kept));
    (kept.0, wire_len, rewriter.bytes)
}

/// What the analysis of a frame goes by.
fn judged(kept: &Kept) -> (Option<Reject>, Option<IcrcState>, String) {
    let frame = parse(kept);
    let kind = match &frame.content {
        Content::Packet(net, packet) => {
            format!("{} {} {}", net.carrier().key(), packet.bth.opcode, packet.payload_wire_len())
        }
        Content::NoBth(no_bth) => format!("{} cut {}", no_bth.carrier.key(), no_bth.captured),
        Content::Rejected(_) => "rejected".to_owned(),
        Content::Pfc(_) | Content::Pause(_) => "control".to_owned(),
        Content::Other(other) => format!("{:?} {:?}", other.ethertype, other.protocol),
    };
    // What is no RoCE has no ICRC that could be kept.
    let icrc = frame.is_roce().then(|| frame.icrc_state()).flatten();
    (frame.rejection(), icrc, kind)
}

/// A frame with some bytes changed, and cut.
fn spoilt() -> impl Strategy<Value = Kept> {
    let change = (0usize..120, any::<u8>());
    (0..frames().len(), prop::collection::vec(change, 0..4), 0usize..400).prop_map(
        |(which, changes, cut)| {
            let (link_type, wire_len, mut data) = frames()[which].clone();
            for (at, value) in changes {
                if let Some(byte) = data.get_mut(at) {
                    *byte = value;
                }
            }
            data.truncate(cut.max(1));
            (link_type, wire_len, data)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn every_frame_comes_out(kept in spoilt(), which in 0..OPTIONS.len()) {
        let new = rewritten(&kept, OPTIONS[which]);
        prop_assert!(new.2.len() <= usize::try_from(new.1).unwrap());
        if OPTIONS[which].is_empty() {
            prop_assert_eq!(new, kept);
        }
    }

    #[test]
    fn an_anonymous_frame_is_judged_as_before(kept in spoilt()) {
        let new = rewritten(&kept, "--anonymize seed");
        prop_assert_eq!((new.0, new.1, new.2.len()), (kept.0, kept.1, kept.2.len()));
        prop_assert_eq!(judged(&new), judged(&kept));
    }
}
