//! Sending from one network namespace to another: what leaves at one end arrives at the other.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use roce_capture::FileReader;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_roce-sniff");

/// A frame's time and bytes.
type Arrived = (Option<u64>, Vec<u8>);

/// Two namespaces joined by a veth pair, `near` in one and `far` in the other.
struct Rig {
    near: String,
    far: String,
    dir: tempfile::TempDir,
}

impl Rig {
    /// `None`, and a line that says why, where namespaces cannot be made.
    fn new(name: &str) -> Option<Self> {
        let id = std::process::id();
        let (near, far) = (format!("{name}-{id}-near"), format!("{name}-{id}-far"));
        let rig = Self { near, far, dir: tempfile::tempdir().unwrap() };
        let Self { near, far, .. } = &rig;
        let silent = "sysctl -qw net.ipv6.conf.default.disable_ipv6=1";
        let made = ip(&format!("netns add {near}"))
            && ip(&format!("netns add {far}"))
            && ip(&format!("netns exec {near} {silent}"))
            && ip(&format!("netns exec {far} {silent}"))
            && ip(&format!("-n {near} link add near type veth peer name far netns {far}"))
            && ip(&format!("-n {far} link set far mtu 9000 up"))
            && ip(&format!("-n {near} link set near mtu 9000 up"));
        if !made {
            eprintln!("skipped: no network namespaces here (it takes root and iproute2)");
        }
        made.then_some(rig)
    }

    /// Starts `send` at the near end.
    fn start(&self, args: &[&str]) -> Child {
        Command::new("ip")
            .args(["netns", "exec", &self.near, PROGRAM, "send"])
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
        let mut tcpdump = Command::new("ip")
            .args(["netns", "exec", &self.far, "tcpdump", "-i", "far", "-Q", "in", "-U"])
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
        let far = Command::new("ip")
            .args(["-n", &self.far, "-s", "-j", "link", "show", "far"])
            .output()
            .unwrap();
        let far: Value = serde_json::from_slice(&far.stdout).unwrap();
        far[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        ip(&format!("netns del {}", self.near));
        ip(&format!("netns del {}", self.far));
    }
}

fn ip(args: &str) -> bool {
    Command::new("ip").args(args.split(' ')).output().is_ok_and(|output| output.status.success())
}

fn have_tcpdump() -> bool {
    let works = Command::new("tcpdump").arg("--version").output().is_ok();
    if !works {
        eprintln!("skipped: there is no tcpdump");
    }
    works
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
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
    let Some(rig) = Rig::new("send-bits").filter(|_| have_tcpdump()) else { return };
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
    let Some(rig) = Rig::new("send-rate").filter(|_| have_tcpdump()) else { return };
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
    let Some(rig) = Rig::new("send-gaps").filter(|_| have_tcpdump()) else { return };
    let file = "rxe/ucmatose_v4.pcap";
    let sent = read(&fixtures().join(file));
    let arrived = rig.capture(|| {
        rig.report(&[file, "-i", "near"]);
    });
    assert!(bytes(&arrived) == bytes(&sent));
    let mut late: Vec<u64> =
        (0..sent.len()).map(|at| offset(&arrived, at).abs_diff(offset(&sent, at))).collect();
    late.sort_unstable();
    // On a busy machine single frames may be late; most are within some microseconds.
    let median = late[late.len() / 2];
    eprintln!("median {median} ns, worst {:?} ns", late.last());
    assert!(median < 1_000_000, "{median} ns");
}

#[test]
fn an_interrupted_run_tells_what_it_has_done() {
    let Some(rig) = Rig::new("send-int") else { return };
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
    let Some(rig) = Rig::new("send-addr").filter(|_| have_tcpdump()) else { return };
    assert!(ip(&format!("-n {} addr add 10.9.0.1/24 dev near", rig.near)));
    assert!(ip(&format!("-n {} addr add 10.9.0.2/24 dev far", rig.far)));
    rig.capture(|| {
        let auto = ["--src-mac", "auto", "--dst-mac", "auto", "--src-ip", "auto"];
        let args = ["rxe/rping_v4.pcap", "-i", "near", "-f", "udp", "--dst-ip", "10.9.0.2"];
        let report = rig.report(&[&args[..], &auto].concat());
        assert_eq!(report["changed"], report["frames"], "{report}");
    });
    let file = rig.dir.path().join("far.pcap");
    let verdict = Command::new(PROGRAM).arg(&file).args(["--format", "json"]).output().unwrap();
    let verdict: Value = serde_json::from_slice(&verdict.stdout).unwrap();
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
    let Some(rig) = Rig::new("send-craft") else { return };
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
    let Some(rig) = Rig::new("send-no") else { return };
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
    assert!(ip(&format!("-n {} link add link near name wire type macvlan", rig.near)));
    says(&[file, "-i", "wire"], "wire: the interface is down; bring it up with `ip link set");
    assert!(ip(&format!("-n {} link set wire up", rig.near)));
    says(&[file, "-i", "wire"], "about to send the file rxe/rping_v4.pcap once by wire (macvlan, ");
    says(&[file, "-i", "wire"], "other hosts will get these frames; if you mean it, add --yes");
    let report = rig.report(&[file, "-i", "wire", "--yes", "--rate", "max"]);
    assert_eq!(report["frames"], report["counted"]["frames"], "{report}");
    // Frames of 4 KiB do not fit.
    assert!(ip(&format!("-n {} link set near mtu 1500", rig.near)));
    says(
        &["healthy-v2", "-i", "near", "--rate", "max"],
        "longer than the MTU of the interface allows",
    );
    assert!(ip(&format!("-n {} link set far down", rig.far)));
    says(&[file, "-i", "near"], "near: no carrier: nothing at the other end");
}

#[test]
fn an_interface_that_goes_away_ends_the_run_with_a_report() {
    let Some(rig) = Rig::new("send-gone") else { return };
    let args = ["rxe/rping_v4.pcap", "-i", "near", "--rate", "5kpps", "--loop", "forever"];
    let run = rig.start(&[&args[..], &["--duration", "30s", "--format", "json"]].concat());
    sleep(Duration::from_millis(700));
    assert!(ip(&format!("-n {} link del near", rig.near)));
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{}", text(&ended));
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(report["ended_by"], "failure", "{report}");
    assert!(report["frames"].as_u64().unwrap() > 100, "{report}");
    let told = text(&ended);
    assert!(told.contains("is down") || told.contains("gone away"), "{told}");
}
