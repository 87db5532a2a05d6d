//! A second opinion on the ICRC: scapy computes it anew for every RoCE v2 packet of the fixtures.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may be blunt"
)]

use std::path::{Path, PathBuf};

use roce_sniff_tests::command::run;
use roce_sniff_tests::scapy::scapy;
use roce_sniff_tests::{Kept, captures, read};
use roce_wire::{Layer, Net};

/// Reads IP datagrams in hex, one a line, each up to its ICRC; prints the ICRC it ought to have.
/// BTH is laid over the payload by hand: left alone, scapy goes by the source port first.
const SCRIPT: &str = "
import sys
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
for line in sys.stdin:
    data = bytes.fromhex(line)
    ip = (IP if data[0] >> 4 == 4 else IPv6)(data)
    payload = bytes(ip[UDP].payload)
    ip[UDP].remove_payload()
    ip[UDP].add_payload(BTH(payload))
    print(ip[UDP][BTH].compute_icrc(b'').hex())
";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The datagram from its IP header to its ICRC, and the ICRC that it ought to have; `None` for
/// what scapy cannot do: v1, InfiniBand, extension headers, packets without a place for an ICRC.
fn question(kept: &Kept) -> Option<(String, String)> {
    let frame = kept.parse();
    let (net, packet) = frame.packet()?;
    let right = hex(&frame.right_icrc()?.get().to_le_bytes());
    if !matches!(net, Net::V2Ipv4(..) | Net::V2Ipv6(_, [], _)) {
        return None;
    }
    let is_ip = |layer: &Layer<'_>| matches!(layer, Layer::Ipv4(_) | Layer::Ipv6(_));
    let start = frame.layers().filter(|(_, layer)| is_ip(layer)).last()?.0;
    let end = frame.content_offset() + packet.wire_len();
    Some((hex(&kept.data[start..end]), right))
}

#[test]
fn scapy_agrees_on_every_icrc() {
    let (mut lines, mut ours, mut names) = (String::new(), Vec::new(), Vec::new());
    for (path, _) in captures("made").into_iter().chain(captures("rxe")) {
        for kept in read(&path).0 {
            let Some((line, right)) = question(&kept) else { continue };
            lines.push_str(&line);
            lines.push('\n');
            ours.push(right);
            names.push(format!("{} frame {}", path.display(), kept.number));
        }
    }
    assert!(ours.len() > 7000, "only {} packets to compare", ours.len());
    let Some(theirs) = scapy(SCRIPT, lines) else { return };
    let theirs: Vec<&str> = theirs.lines().collect();
    assert_eq!(theirs.len(), ours.len());
    let wrong: Vec<String> = (0..ours.len())
        .filter(|&n| ours[n] != theirs[n])
        .map(|n| format!("{}: {} by scapy {}", names[n], ours[n], theirs[n]))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}: {:#?}",
        wrong.len(),
        ours.len(),
        &wrong[..wrong.len().min(20)]
    );
}

/// Packets, by capture and frame, as lines for scapy and with the ICRC that is in them.
#[derive(Default)]
struct Sent {
    names: Vec<(PathBuf, u64)>,
    lines: String,
    icrcs: Vec<String>,
}

impl Sent {
    /// Adds what is in a capture; `name` is what it was made of.
    fn add(&mut self, path: &Path, name: &Path) {
        for kept in read(path).0 {
            let Some((line, _)) = question(&kept) else { continue };
            let Some(icrc) = kept.parse().packet().and_then(|(_, packet)| packet.icrc) else {
                continue;
            };
            self.names.push((name.to_owned(), kept.number));
            self.lines.push_str(&line);
            self.lines.push('\n');
            self.icrcs.push(hex(&icrc.get().to_le_bytes()));
        }
    }

    /// How many there are, and which have an ICRC that is wrong by scapy.
    fn judge(self) -> Option<(usize, Vec<(PathBuf, u64)>)> {
        let theirs = scapy(SCRIPT, self.lines)?;
        assert_eq!(theirs.lines().count(), self.icrcs.len());
        let pairs = self.icrcs.iter().zip(theirs.lines()).zip(self.names);
        let wrong = pairs.filter(|((ours, theirs), _)| ours != theirs).map(|(_, name)| name);
        Some((self.icrcs.len(), wrong.collect()))
    }
}

/// Real captures keep right ICRCs whatever is done to them; those wrong before, and no others, are
/// wrong afterwards.
#[test]
fn scapy_agrees_on_rewritten_captures() {
    let mut real = Sent::default();
    captures("rxe").iter().for_each(|(path, _)| real.add(path, path));
    let Some((total, wrong)) = real.judge() else { return };
    assert!(total > 6000 && wrong.len() < total / 10, "{} of {total}", wrong.len());
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pcap");
    for way in [
        "--map-ip 10.77.0.0/24=192.0.2.0/24 --map-mac 02:00:00:77:00:01=02:aa:bb:cc:dd:01 \
         --map-qpn 0x11=0x123456 --dscp 46 --ecn ect1 --map-r-key 0x1234=0x4321",
        "--convert v2-ipv6 --add-vlan 5:3",
        "--anonymize 7 --add-vxlan 99:192.0.2.1-192.0.2.2",
    ] {
        let mut rewritten = Sent::default();
        for (path, _) in captures("rxe") {
            let mut args =
                vec!["rewrite", "-q", path.to_str().unwrap(), "-o", out.to_str().unwrap()];
            args.extend(way.split_whitespace());
            run(&args).well();
            rewritten.add(&out, &path);
        }
        assert_eq!(rewritten.judge(), Some((total, wrong.clone())), "{way}");
    }
}
