//! A veth pair in network namespaces of its own: what goes in at one end is captured at the other.
#![cfg(feature = "libpcap")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use roce_capture::{FileWriter, Frame, LinkType, WriterOptions};

#[path = "../../../tests/src/veth.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is made for other tests, too")]
mod veth;

use veth::Veth;

struct Rig {
    veth: Veth,
}

impl Rig {
    fn new() -> Option<Self> {
        Some(Self { veth: Veth::new()? })
    }

    /// Starts this crate's `live` example at the far end.
    fn capture(&self, args: &[&str]) -> Child {
        let command = self
            .veth
            .at_far(&[example("live").to_str().unwrap()])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        // It needs a moment to be listening.
        std::thread::sleep(Duration::from_millis(700));
        command.unwrap()
    }

    /// Sends a capture file into the near end.
    fn send(&self, file: &Path, args: &[&str]) {
        let mut command = self.veth.at_near(&["tcpreplay", "-q", "-i", "near"]);
        let sent = command.args(args).arg(file).output().unwrap();
        assert!(sent.status.success(), "{}", text(&sent));
    }
}

/// An example stands beside the folder that test programs are built in.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples").join(name)
}

fn text(output: &Output) -> String {
    let bytes = if output.status.success() { &output.stdout } else { &output.stderr };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Half RoCE v1, half something else.
fn sample(path: &Path) {
    let mut writer = FileWriter::create(path, &WriterOptions::default()).unwrap();
    for number in 0..200_u64 {
        let kind: [u8; 2] = if number % 2 == 0 { [0x89, 0x15] } else { [0x88, 0xb5] };
        let data = [&[2; 12][..], &kind, &[0x60; 116]].concat();
        let (link_type, time_ns) = (LinkType::ETHERNET, Some(number));
        let frame = Frame { number, time_ns, link_type, wire_len: 130, data: &data, interface: 0 };
        writer.write(&frame).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn every_frame_arrives_and_the_filter_selects() {
    if Command::new("tcpreplay").arg("--version").output().is_err() {
        eprintln!("skipped: there is no tcpreplay");
        return;
    }
    let Some(rig) = Rig::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sample.pcap");
    sample(&path);
    let all = "ether proto 0x8915 or ether proto 0x88b5";
    let everything = rig.capture(&["far", "3", "block", "all", all]);
    let roce = rig.capture(&["far", "3", "immediate", "roce", "not ip6"]);
    let any = rig.capture(&["any", "3", "block", "roce", "not ip6"]);
    rig.send(&path, &["--pps=50000", "--preload-pcap", "--loop=100"]);
    let everything = text(&everything.wait_with_output().unwrap());
    assert!(everything.contains("20000 frames, 2600000 bytes"), "{everything}");
    assert!(everything.contains("received: 20000, dropped: 0"), "{everything}");
    let any = text(&any.wait_with_output().unwrap());
    assert!(any.contains("Linux cooked v2") && any.contains("10000 frames"), "{any}");
    let roce = text(&roce.wait_with_output().unwrap());
    // Immediate mode may lose some, and says how many.
    assert!(roce.contains("received: 10000"), "{roce}");
}

#[test]
fn what_cannot_be_captured_from_is_said() {
    let Some(rig) = Rig::new() else { return };
    let missing = rig.capture(&["eth7", "1"]).wait_with_output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    let said = text(&missing);
    assert!(said.starts_with("eth7: no such interface; there are: "), "{said}");
    let named: Vec<&str> = said.trim().rsplit(": ").next().unwrap().split(", ").collect();
    assert!(["far", "any", "lo"].iter().all(|name| named.contains(name)), "{said}");
    let expression = rig.capture(&["far", "1", "block", "roce", "udp prot 1"]);
    let said = text(&expression.wait_with_output().unwrap());
    assert!(said.starts_with("filter `udp prot 1` on Ethernet: "), "{said}");
    rig.veth.ip_far("link set far down");
    let down = text(&rig.capture(&["far", "1"]).wait_with_output().unwrap());
    assert!(down.starts_with("far: the interface is down; bring it up with"), "{down}");
}
