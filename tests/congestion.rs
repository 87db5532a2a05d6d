//! What `check` says of congestion, held to scenarios whose numbers are made by hand.

#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may be blunt")]

use roce_analyze::connections::{Config, Report, Tracker};
use roce_analyze::findings::{Finding, Policy, Severity, Value, evaluate};
use roce_analyze::spread::Spreads;
use roce_craft::{BUILTIN, Craft, Scenario};
use roce_wire::{FlowControl, Frame, Link, MacAddr, Ports};

/// The report of a scenario.
fn play(text: &str, link_speed: Option<u64>) -> Report {
    let scenario = Scenario::parse(text).unwrap();
    let mut tracker = Tracker::new(Config::default().with_link_speed(link_speed));
    let ports = Ports::default();
    let Ok(_) = Craft::new(&scenario).run(|crafted| -> Result<(), std::convert::Infallible> {
        let frame = Frame::parse(Link::Ethernet, crafted.bytes, crafted.wire_len, &ports);
        tracker.observe(&frame, crafted.number, Some(crafted.time_ns));
        Ok(())
    });
    tracker.finish()
}

fn check(text: &str, link_speed: Option<u64>) -> Vec<Finding> {
    evaluate(&play(text, link_speed), &Policy::default())
}

fn ids(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.id).collect()
}

fn number(finding: &Finding, name: &str) -> Option<u64> {
    let (_, value) = finding.evidence.iter().find(|(known, _)| *known == name)?;
    match value {
        Value::Number(number) => Some(*number),
        Value::Real(thousandths) => Some(thousandths.0.into()),
        _ => None,
    }
}

const SPEED: Option<u64> = Some(100_000_000_000);

/// A healthy conversation of a second, and pauses of 65535 quanta beside it.
fn paused(count: u32, interval: &str, resume: bool) -> String {
    format!(
        r#"
[[connection]]
from = "client"
to = "server"
dscp = 26
ecn = "ect0"
[[connection.op]]
kind = "write"
size = 1024
count = 1001
interval = "1ms"

[[pause]]
from = "02:00:00:00:ff:01"
priorities = [3]
quanta = 65535
link = "100Gbit"
count = {count}
interval = "{interval}"
resume = {resume}
"#
    )
}

/// 335.5392 µs of each 670 µs: much, and never longer than one frame asks for.
#[test]
fn half_of_the_time_is_a_storm_of_short_pauses() {
    let found = check(&paused(1_490, "670us", false), SPEED);
    let [storm] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((storm.id, storm.severity), ("pfc-storm", Severity::Error));
    assert_eq!(storm.subject, "port 02:00:00:00:ff:01 priority 3");
    assert_eq!((storm.count, number(storm, "longest_ns")), (1_490, Some(335_539)));
    assert_eq!(number(storm, "paused_ns"), Some(1_490 * 335_539));
    let percent = number(storm, "paused_percent").unwrap();
    assert!((49_900..50_000).contains(&percent), "{percent}");
}

/// The same frames renew one another on a link of 25 Gbit/s, where 65535 quanta are 1342.1568 µs.
#[test]
fn how_long_a_pause_is_depends_on_the_speed_of_the_link() {
    let found = check(&paused(1_490, "670us", false), Some(25_000_000_000));
    assert_eq!(number(&found[0], "longest_ns"), Some(1_489 * 670_000 + 1_342_156));
    let found = check(&paused(20, "50ms", false), SPEED);
    let [seen] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((seen.id, seen.severity), ("pfc-seen", Severity::Info));
    assert_eq!(number(seen, "paused_ns"), Some(20 * 335_539));
}

/// 3333 frames, one each 300 µs, and XON behind the last: one pause of 999.9 ms. What they ask for
/// adds up to 1118 ms.
#[test]
fn what_is_asked_for_is_not_added_up() {
    let found = check(&paused(3_333, "300us", true), SPEED);
    let [storm] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(storm.id, "pfc-storm");
    assert_eq!(number(storm, "paused_ns"), Some(999_900_000));
    assert_eq!(number(storm, "longest_ns"), Some(999_900_000));
    assert_eq!(number(storm, "longest_frames"), Some(3_333));
}

/// At 10 Gbit/s a single frame asks for 65535 × 51.2 ns = 3.355 ms, and none renews it.
#[test]
fn one_frame_is_no_storm_on_a_slow_link() {
    let found = check(&paused(1, "1ms", false), Some(10_000_000_000));
    assert_eq!(ids(&found), ["pfc-seen"]);
    assert_eq!(number(&found[0], "longest_ns"), Some(3_355_392));
    let found = check(&paused(2, "1ms", false), Some(10_000_000_000));
    assert_eq!(ids(&found), ["pfc-storm"]);
    assert_eq!(number(&found[0], "longest_ns"), Some(1_000_000 + 3_355_392));
}

/// Frames without times, or with the same time all, tell of no second: a thousand are no storm.
#[test]
fn without_times_nothing_is_known_of_seconds() {
    for time in [None, Some(5)] {
        let mut tracker = Tracker::new(Config::default());
        let frame = FlowControl::pfc(MacAddr([2, 0, 0, 0, 0, 1]), 8, [0, 0, 0, 9, 0, 0, 0, 0]);
        for number in 1..=2_000 {
            let bytes = frame.bytes();
            let frame = Frame::parse(Link::Ethernet, bytes, bytes.len(), &Ports::default());
            tracker.observe(&frame, number, time);
        }
        let found = evaluate(&tracker.finish(), &Policy::default());
        assert_eq!(ids(&found), ["pfc-seen"]);
        assert_eq!(
            (number(&found[0], "quanta"), number(&found[0], "peak_per_second")),
            (Some(18_000), None)
        );
    }
}

/// Without the speed of the link there is no time, and a storm shows all the same.
#[test]
fn without_a_speed_frames_alone_tell() {
    let found = check(&paused(3_333, "300us", true), None);
    assert_eq!(ids(&found), ["pfc-storm"]);
    assert_eq!(number(&found[0], "quanta"), Some(3_333 * 65_535));
    assert!(["paused_ns", "longest_ns"].iter().all(|name| number(&found[0], name).is_none()));
    assert_eq!(ids(&check(&paused(20, "50ms", false), None)), ["pfc-seen"]);
}

/// Frames of a port for priority 3: when, in nanoseconds, and for how many quanta.
fn pauses(frames: impl IntoIterator<Item = (u64, u16)>) -> Vec<Finding> {
    let mut tracker = Tracker::new(Config::default());
    for (number, (time, quanta)) in (1..).zip(frames) {
        let port = MacAddr([2, 0, 0, 0, 0, 1]);
        let frame = FlowControl::pfc(port, 8, [0, 0, 0, quanta, 0, 0, 0, 0]);
        let bytes = frame.bytes();
        let frame = Frame::parse(Link::Ethernet, bytes, bytes.len(), &Ports::default());
        tracker.observe(&frame, number, Some(time));
    }
    evaluate(&tracker.finish(), &Policy::default())
}

/// A thousand pauses a second, each taken back by XON so many nanoseconds later.
fn taken_back(after: u64) -> Vec<Finding> {
    let both = |n: u64| [(n * 1_000_000, 65_535), (n * 1_000_000 + after, 0)];
    pauses((0..2_001).flat_map(both))
}

/// What XON takes back at once is no storm at any speed, however many frames there are.
#[test]
fn pauses_that_are_taken_back_are_no_storm() {
    let found = taken_back(1_000);
    let [seen] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((seen.id, seen.count), ("pfc-seen", 2_001));
    assert_eq!(number(seen, "peak_per_second"), Some(1_000));
    // 2001 × 1 µs of 2000.001 ms.
    assert_eq!(number(seen, "paused_at_most_ns"), Some(2_001_000));
    assert_eq!(number(seen, "paused_at_most_percent"), Some(100));
    // 99 µs of each ms are less than a tenth, 100 µs are one.
    assert_eq!(ids(&taken_back(99_000)), ["pfc-seen"]);
    assert_eq!(ids(&taken_back(100_000)), ["pfc-storm"]);
}

/// At 1 Gbit/s, the slowest, 100 quanta are 51.2 µs, 5.12 % of each ms, and 200 twice as much.
#[test]
fn pauses_that_ask_for_little_are_no_storm() {
    let each_ms = |quanta| pauses((0..2_000).map(move |n| (n * 1_000_000, quanta)));
    assert_eq!(ids(&each_ms(100)), ["pfc-seen"]);
    assert_eq!(ids(&each_ms(200)), ["pfc-storm"]);
}

fn builtin(name: &str) -> Vec<Finding> {
    check(BUILTIN.iter().find(|one| one.name == name).unwrap().text, None)
}

/// One connection with its own name: a packet of 1000 bytes each 20 µs.
fn connection(name: &str, from: &str, to: &str, more: &str) -> String {
    format!(
        r#"
[[connection]]
name = "{name}"
from = "{from}"
to = "{to}"
{more}
[[connection.op]]
kind = "write"
size = 1000
count = 200
interval = "20us"
"#
    )
}

fn marks(connection: &str, at: &str) -> String {
    format!(
        r#"
[[event]]
kind = "ce"
connection = "{connection}"
where = "before-capture"
at = [{at}]
"#
    )
}

const ECT: &str = "dscp = 26\necn = \"ect0\"";
const NO_CNP: &str = "dscp = 26\necn = \"ect0\"\ncnp = false";

#[test]
fn the_scenarios_of_congestion() {
    for (name, wanted) in [
        ("congestion-cnp", &["congestion"][..]),
        ("ce-without-cnp", &["ce-without-cnp"]),
        ("cnp-without-ce", &["cnp-without-ce"]),
        ("ce-at-the-source", &["ce-at-source"]),
        ("pfc-storm", &["pfc-storm", "dscp-policy", "ecn-not-enabled", "pcp-policy"]),
        ("pause-classic", &["pause-in-use"]),
        ("healthy-v2", &[]),
    ] {
        assert_eq!(ids(&builtin(name)), wanted, "{name}");
    }
}

/// The scenario marks 63 of 1280 packets and answers all but one, at the receiver's own port.
#[test]
fn congestion_that_the_ends_answer_is_told() {
    let found = builtin("congestion-cnp");
    let [told] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((told.severity, told.subject.as_str()), (Severity::Info, "10.0.0.1 -> 10.0.0.2"));
    assert_eq!((told.count, number(told, "cnps")), (63, Some(62)));
    assert_eq!(number(told, "data_packets"), Some(1_280));
    // 63 of 1280 are 4.92 %.
    assert_eq!(number(told, "marked_percent"), Some(4_921));
    assert!(number(told, "cnp_delay_max_ns").is_some());
    assert_eq!(told.frames.len(), 10);
}

/// Adapters limit CNPs by the pair of hosts: one connection's answer is that of the other, too.
#[test]
fn a_notification_counts_for_all_connections_of_two_hosts() {
    let both = [
        connection("told", "client", "server", ECT),
        connection("untold", "client", "server", NO_CNP),
        marks("told", "20, 60, 100, 140"),
        marks("untold", "20, 60, 100, 140"),
    ];
    let found = check(&both.concat(), None);
    assert_eq!(ids(&found), ["congestion"]);
    assert_eq!((found[0].count, number(&found[0], "cnps")), (8, Some(4)));
    // Without the answers to the other one it is what it was.
    let alone = [connection("untold", "client", "server", NO_CNP), marks("untold", "20, 60, 100")];
    let found = check(&alone.concat(), None);
    assert_eq!(ids(&found), ["ce-without-cnp"]);
    assert_eq!((found[0].count, found[0].frames.len()), (3, 3));
}

/// A limit may be for all senders to a host: then three marks without an answer say nothing yet.
#[test]
fn a_receiver_that_notifies_others_is_given_more_time() {
    let marked = |at: &str| {
        let parts = [
            connection("told", "client", "server", ECT),
            connection("untold", "other", "server", NO_CNP),
            marks("told", "20, 60, 100"),
            marks("untold", at),
        ];
        check(&parts.concat(), None)
    };
    assert_eq!(ids(&marked("30, 70, 110")), ["congestion", "congestion"]);
    let many: Vec<_> = (1..=25).map(|n| (n * 4).to_string()).collect();
    assert_eq!(ids(&marked(&many.join(", "))), ["ce-without-cnp", "congestion"]);
}

/// Two marks, or marks at the end of the capture, may still be answered.
#[test]
fn there_must_be_time_for_an_answer() {
    for at in ["50", "50, 51", "199, 200", "200"] {
        let parts = [connection("untold", "client", "server", NO_CNP), marks("untold", at)];
        let found = check(&parts.concat(), None);
        assert_eq!(ids(&found), ["congestion"], "{at}");
        assert_eq!(number(&found[0], "cnps"), Some(0), "{at}");
    }
}

/// Data that cannot be marked is blamed where what goes the same way is marked, and only there.
#[test]
fn data_without_ecn_is_blamed_where_there_is_congestion() {
    let elsewhere = |from: &str, to: &str| {
        let parts = [
            connection("marked", "client", "server", ECT),
            connection("bare", from, to, "dscp = 26"),
            marks("marked", "20, 60, 100"),
        ];
        check(&parts.concat(), None)
    };
    assert_eq!(ids(&elsewhere("other", "server-2")), ["congestion"]);
    let found = elsewhere("other", "server");
    assert_eq!(ids(&found), ["ecn-not-enabled", "congestion"]);
    let blamed = &found[0];
    assert_eq!((blamed.count, blamed.frames.len()), (200, 1));
    let because = blamed.evidence.iter().find(|(name, _)| *name == "because").map(|(_, why)| why);
    let Some(Value::List(because)) = because else { panic!("{blamed:#?}") };
    assert_eq!(because[..], ["other data to the receiver is marked CE", "the receiver sends CNPs"]);
}

/// A pause concerns the priority that it names: DSCP 26 is priority 3 where eight are one.
#[test]
fn a_pause_of_another_priority_is_no_reason() {
    let paused = |priority: u8| {
        let pause = format!(
            r#"
[[pause]]
from = "02:00:00:00:ff:01"
priorities = [{priority}]
quanta = 1000
link = "100Gbit"
start = "1ms"
count = 3
interval = "100us"
"#
        );
        check(&[connection("bare", "client", "server", "dscp = 26"), pause].concat(), None)
    };
    let found = paused(3);
    assert_eq!(ids(&found), ["ecn-not-enabled", "pfc-seen"]);
    // The first frame of all is the first one with data.
    assert_eq!((found[0].count, &found[0].frames), (200, &vec![1]));
    assert_eq!(ids(&paused(4)), ["pfc-seen"]);
}

/// Four connections from ports p, p, q, r: −(½ log₂ ½ + 2 · ¼ log₂ ¼) = 1.5 bits of log₂ 4 = 2. Of four
/// paths 4 (1 − (3/4)³) = 2.3125 are used; q and r are alone with (3/4)² each, so that
/// 1 − ½ · 9/16 = 71.875 % share.
#[test]
fn the_spread_of_flows_is_what_the_formulas_say() {
    let text: String = [50_000, 50_000, 50_001, 50_002]
        .into_iter()
        .zip(["one", "two", "three", "four"])
        .map(|(port, name)| {
            connection(name, "client", "server", &format!("{ECT}\nudp_src_port = {port}"))
        })
        .collect();
    let spreads = Spreads::of(&play(&text, None));
    assert_eq!((spreads.pairs.len(), spreads.left_off), (2, 0));
    let there = &spreads.pairs[0];
    assert_eq!(
        (there.from.to_string(), there.to.to_string()),
        ("10.0.0.1".into(), "10.0.0.2".into())
    );
    assert_eq!((there.connections, there.flows, there.udp_src_ports), (4, 4, 3));
    assert_eq!((there.entropy_bits.0, there.possible_bits.0), (1_500, 2_000));
    let of_4 = there.expected.iter().find(|expected| expected.paths == 4).unwrap();
    // The same bytes on each, so the same part of the bytes.
    let told = [of_4.used, of_4.sharing_flows_percent, of_4.sharing_bytes_percent];
    assert_eq!(told.map(|number| number.0), [2_313, 71_875, 71_875]);
}

/// Twenty connections, one port: no bit of log₂ 20 = 4.322, and one path whatever there are.
#[test]
fn one_port_takes_one_path() {
    let found = builtin("low-entropy");
    let [low] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((low.id, number(low, "connections")), ("low-entropy", Some(20)));
    assert_eq!((number(low, "entropy_bits"), number(low, "possible_bits")), (Some(0), Some(4_322)));
    let (_, expected) = low.evidence.iter().find(|(name, _)| *name == "expected").unwrap();
    let Value::List(expected) = expected else { panic!("{low:#?}") };
    assert_eq!(expected.len(), 4);
    assert_eq!(expected[2], "1 of 8 paths used (100 % of bytes share)");
}

/// One flow has nobody to share with, and v1 has no ports.
#[test]
fn what_cannot_be_spread_is_not_told() {
    for name in ["healthy-v1", "ce-without-cnp"] {
        let text = BUILTIN.iter().find(|one| one.name == name).unwrap().text;
        assert!(Spreads::of(&play(text, None)).pairs.is_empty(), "{name}");
    }
}
