//! Sending from one network namespace to another: what leaves at one end arrives at the other.

use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use roce_capture::FileReader;
use roce_sniff_tests::command::{fixtures, program, run};
use roce_sniff_tests::have;
use roce_sniff_tests::veth::Veth;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A frame's time and bytes.
type Arrived = (Option<u64>, Vec<u8>);

struct Rig {
    veth: Veth,
    dir: tempfile::TempDir,
}

impl Rig {
    fn new() -> Option<Self> {
        Some(Self { veth: Veth::new()?, dir: tempfile::tempdir().unwrap() })
    }

    /// Starts `send` at the near end.
    fn start(&self, args: &[&str]) -> Child {
        self.veth
            .at_near(&[program().to_str().unwrap(), "send"])
            .args(args)
            .current_dir(fixtures())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn send(&self, args: &[&str]) -> Output {
        self.start(args).wait_with_output().unwrap()
    }

    /// Sends, and reads the report.
    fn report(&self, args: &[&str]) -> Value {
        let sent = self.send(&[args, &["--format", "json"]].concat());
        assert!(sent.status.success(), "{}", text(&sent));
        serde_json::from_slice(&sent.stdout).unwrap()
    }

    /// Captures at the far end while `work` runs.
    fn capture(&self, work: impl FnOnce()) -> Vec<Arrived> {
        let file = self.dir.path().join("far.pcap");
        let mut tcpdump = self
            .veth
            .at_far(&["tcpdump", "-i", "far", "-Q", "in", "-U"])
            .args(["--time-stamp-precision=nano", "-B", "65536", "-w"])
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(1000));
        work();
        sleep(Duration::from_millis(1000));
        interrupt(&tcpdump);
        tcpdump.wait().unwrap();
        read(&file)
    }

    /// What the far end has received since it exists.
    fn received(&self) -> u64 {
        let far = ["ip", "-s", "-j", "link", "show", "far"];
        let far = self.veth.at_far(&far).output().unwrap();
        let far: Value = serde_json::from_slice(&far.stdout).unwrap();
        far[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
    }
}

fn have_tcpdump() -> bool {
    have("tcpdump", &["--version"])
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(path: &Path) -> Vec<Arrived> {
    let mut reader = FileReader::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push((frame.time_ns, frame.data.to_vec()));
    }
    frames
}

fn bytes(frames: &[Arrived]) -> Vec<&[u8]> {
    frames.iter().map(|(_, bytes)| bytes.as_slice()).collect()
}

/// From the first frame to one of the others, in nanoseconds.
fn offset(frames: &[Arrived], at: usize) -> u64 {
    frames[at].0.unwrap() - frames[0].0.unwrap()
}

#[test]
fn frames_arrive_bit_for_bit_and_in_their_order() {
    let Some(rig) = Rig::new().filter(|_| have_tcpdump()) else { return };
    for file in ["rxe/verbs_mix.pcap", "rxe/vlan_rc_v6.pcap", "made/v1_padding_fcs.pcap"] {
        let sent = read(&fixtures().join(file));
        let arrived = rig.capture(|| {
            let report = rig.report(&[file, "-i", "near", "--rate", "20kpps", "--loop", "3"]);
            let expected = 3 * u64::try_from(sent.len()).unwrap();
            assert_eq!(report["frames"], expected, "{report}");
            assert_eq!(report["counted"]["frames"], expected, "{report}");
            assert_eq!((&report["passes"], &report["failed"]), (&3.into(), &0.into()), "{report}");
        });
        assert!(bytes(&arrived) == bytes(&sent).repeat(3), "{file}");
    }
}

#[test]
fn a_rate_is_kept() {
    let Some(rig) = Rig::new().filter(|_| have_tcpdump()) else { return };
    let file = "rxe/rping_v4.pcap";
    for (rate, count) in [("1000pps", "1001"), ("20kpps", "20001")] {
        let args = ["--rate", rate, "--loop", "forever", "--count", count];
        let arrived = rig.capture(|| {
            let report = rig.report(&[&[file, "-i", "near"][..], &args].concat());
            assert_eq!(report["ended_by"], "count", "{report}");
        });
        assert_eq!(arrived.len().to_string(), count);
        let span = offset(&arrived, arrived.len() - 1);
        // Never faster. How much slower depends on what else the machine does.
        assert!((950_000_000..3_000_000_000).contains(&span), "{rate}: {span}");
    }
    let args = ["--rate", "8Mbps", "--loop", "forever", "--duration", "1s"];
    let report = rig.report(&[&[file, "-i", "near"][..], &args].concat());
    let bits = report["bits_per_second"].as_u64().unwrap();
    assert!((2_600_000..8_400_000).contains(&bits), "{report}");
    assert_eq!(report["ended_by"], "duration");
}

#[test]
fn the_gaps_of_the_source_are_kept() {
    let Some(rig) = Rig::new().filter(|_| have_tcpdump()) else { return };
    let file = "rxe/ucmatose_v4.pcap";
    let sent = read(&fixtures().join(file));
    let arrived = rig.capture(|| {
        rig.report(&[file, "-i", "near"]);
    });
    assert!(bytes(&arrived) == bytes(&sent));
    let lag = |at: usize| offset(&arrived, at).cast_signed() - offset(&sent, at).cast_signed();
    // Held to the one that was the least late: the first may be as late as any other.
    let least = (0..sent.len()).map(lag).min().unwrap();
    let mut late: Vec<i64> = (0..sent.len()).map(|at| lag(at) - least).collect();
    late.sort_unstable();
    // On a busy machine single frames may be late; most are within some microseconds.
    let median = late[late.len() / 2];
    eprintln!("median {median} ns, worst {:?} ns", late.last());
    assert!(median < 1_000_000, "{median} ns");
}

#[test]
fn an_interrupted_run_tells_what_it_has_done() {
    let Some(rig) = Rig::new() else { return };
    let before = rig.received();
    let args = ["rxe/rping_v4.pcap", "-i", "near", "--rate", "max", "--loop", "forever"];
    let run = rig.start(&[&args[..], &["--duration", "30s", "--format", "json"]].concat());
    sleep(Duration::from_millis(700));
    interrupt(&run);
    let ended = run.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended));
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(report["ended_by"], "signal", "{report}");
    assert!(report["frames"].as_u64().unwrap() > 1000, "{report}");
    assert_eq!(report["frames"], report["counted"]["frames"], "{report}");
    assert_eq!(report["frames"], rig.received() - before, "{report}");
}

#[test]
fn frames_go_to_another_host_with_right_checksums() {
    let Some(rig) = Rig::new().filter(|_| have_tcpdump()) else { return };
    rig.veth.ip_near("addr add 10.9.0.1/24 dev near");
    rig.veth.ip_far("addr add 10.9.0.2/24 dev far");
    rig.capture(|| {
        let auto = ["--src-mac", "auto", "--dst-mac", "auto", "--src-ip", "auto"];
        let args = ["rxe/rping_v4.pcap", "-i", "near", "-f", "udp", "--dst-ip", "10.9.0.2"];
        let report = rig.report(&[&args[..], &auto].concat());
        assert_eq!(report["changed"], report["frames"], "{report}");
    });
    let file = rig.dir.path().join("far.pcap");
    let verdict = run(&[file.to_str().unwrap(), "--format", "json"]).json();
    let packets = &verdict["versions"]["v2_ipv4"]["packets"];
    assert!(packets.as_u64().unwrap() > 50, "{verdict}");
    assert_eq!(&verdict["icrc"]["ok"], packets, "{verdict}");
    let pairs = verdict["pairs"].as_array().unwrap();
    assert_eq!((pairs.len(), &pairs[0]["a"]), (1, &"10.9.0.1".into()), "{verdict}");
    assert_eq!(pairs[0]["b"], "10.9.0.2", "{verdict}");
    // Nobody has this address.
    let nobody = ["rxe/rping_v4.pcap", "-i", "near", "--dst-ip", "10.9.0.77", "--dst-mac", "auto"];
    let refused = rig.send(&nobody);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("nobody on near answers for 10.9.0.77"), "{}", text(&refused));
}

#[test]
fn a_scenario_is_sent_like_a_file() {
    let Some(rig) = Rig::new() else { return };
    let before = rig.received();
    let report = rig.report(&["cm-connect", "-i", "near", "--rate", "max"]);
    assert!(report["frames"].as_u64().unwrap() > 5, "{report}");
    assert_eq!(report["frames"], rig.received() - before, "{report}");
    let dry = rig.report(&["cm-connect", "-i", "near", "--rate", "max", "--dry-run"]);
    assert_eq!((&dry["frames"], &dry["bytes"]), (&report["frames"], &report["bytes"]));
    assert_eq!(report["frames"], rig.received() - before, "a dry run sends nothing");
}

#[test]
fn what_is_refused_is_told() {
    let Some(rig) = Rig::new() else { return };
    let says = |args: &[&str], words: &str| {
        let refused = rig.send(args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", text(&refused));
        assert!(text(&refused).contains(words), "{args:?}: {}", text(&refused));
    };
    let file = "rxe/rping_v4.pcap";
    says(&[file, "-i", "nope"], "nope: no such interface; there are: ");
    says(&["nope.pcap", "-i", "near"], "nope.pcap: no such file and no such built-in scenario");
    says(&["README.md", "-i", "near"], "not a pcap, pcapng or ERF capture");
    says(&["-", "-i", "near"], "a stream may never end; say with --count or --duration");
    says(&[file, "-i", "near", "--loop", "forever"], "say with --count or --duration when to stop");
    says(&["made/raw_ip.pcap", "-i", "near"], "there was no frame to send");
    // Neither loopback nor veth: other hosts may be there.
    rig.veth.ip_near("link add link near name wire type macvlan");
    says(&[file, "-i", "wire"], "wire: the interface is down; bring it up with `ip link set");
    // Without an address of its own the kernel says nothing on it, which would be counted.
    rig.veth.ip_near("link set wire addrgenmode none");
    rig.veth.ip_near("link set wire up");
    says(&[file, "-i", "wire"], "about to send the file rxe/rping_v4.pcap once by wire (macvlan, ");
    says(&[file, "-i", "wire"], "other hosts will get these frames; if you mean it, add --yes");
    let report = rig.report(&[file, "-i", "wire", "--yes", "--rate", "max"]);
    assert_eq!(report["frames"], report["counted"]["frames"], "{report}");
    // Frames of 4 KiB do not fit.
    rig.veth.ip_near("link set near mtu 1500");
    says(
        &["healthy-v2", "-i", "near", "--rate", "max"],
        "longer than the MTU of the interface allows",
    );
    rig.veth.ip_far("link set far down");
    says(&[file, "-i", "near"], "near: no carrier: nothing at the other end");
}

#[test]
fn an_interface_that_goes_away_ends_the_run_with_a_report() {
    let Some(rig) = Rig::new() else { return };
    let args = ["rxe/rping_v4.pcap", "-i", "near", "--rate", "5kpps", "--loop", "forever"];
    let run = rig.start(&[&args[..], &["--duration", "30s", "--format", "json"]].concat());
    sleep(Duration::from_millis(700));
    rig.veth.ip_near("link del near");
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{}", text(&ended));
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(report["ended_by"], "failure", "{report}");
    assert!(report["frames"].as_u64().unwrap() > 100, "{report}");
    let told = text(&ended);
    assert!(told.contains("is down") || told.contains("gone away"), "{told}");
}
