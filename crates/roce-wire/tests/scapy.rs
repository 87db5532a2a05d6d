//! A second opinion on the ICRC: scapy computes it for every opcode, in one batch.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test may be blunt"
)]

#[path = "../../../tests/src/scapy.rs"]
#[allow(unreachable_pub, reason = "it is made for other tests, too")]
mod scapy;

use core::net::{Ipv4Addr, Ipv6Addr};

use roce_wire::{FrameBuilder, MacAddr, OPCODES, PacketBuilder, Psn, Qpn};

const SCRIPT: &str = include_str!("scapy_icrc.py");

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn scapy_agrees_on_every_icrc() {
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    let v4 = Ipv4Addr::new(10, 1, 2, 3);
    let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);
    let heads = [
        FrameBuilder::ethernet(mac, mac).ipv4(v4, v4).traffic_class(0x6b).ip_id(77).udp(0xc001),
        FrameBuilder::ethernet(mac, mac).vlan(3, 9).ipv6(v6, v6).flow_label(0x54321).udp(0xffff),
    ];
    let payload: Vec<u8> = (0..300u32).map(|n| (n * 31) as u8).collect();
    let (mut lines, mut ours) = (String::new(), Vec::new());
    for head in heads {
        for info in &OPCODES {
            for size in [0, 1, 2, 3, 4, 5, 300] {
                let packet = PacketBuilder::new(info.opcode, Qpn::new(0x123), Psn::new(0x456))
                    .edit_bth(|bth| bth.with_becn(true).with_reserved_7(5))
                    .payload(&payload[..size]);
                let mut frame = Vec::new();
                head.emit(&packet, &mut frame).unwrap();
                lines.push_str(&hex(&frame));
                lines.push('\n');
                ours.push(hex(&frame[frame.len() - 4..]));
            }
        }
    }
    let Some(theirs) = scapy::scapy(SCRIPT, lines) else { return };
    assert_eq!(theirs.lines().collect::<Vec<_>>(), ours);
}
