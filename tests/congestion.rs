//! What `check` says of congestion, held to scenarios whose numbers are made by hand.

#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may be blunt")]

use roce_analyze::connections::{Config, Report, Tracker};
use roce_analyze::findings::{Finding, Policy, Severity, Value, evaluate};
use roce_craft::{Craft, Scenario};
use roce_wire::{Frame, Link, Ports};

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

/// Without the speed of the link there is no time, and a storm shows all the same.
#[test]
fn without_a_speed_frames_alone_tell() {
    let found = check(&paused(3_333, "300us", true), None);
    assert_eq!(ids(&found), ["pfc-storm"]);
    assert_eq!(number(&found[0], "quanta"), Some(3_333 * 65_535));
    assert!(["paused_ns", "longest_ns"].iter().all(|name| number(&found[0], name).is_none()));
    assert_eq!(ids(&check(&paused(20, "50ms", false), None)), ["pfc-seen"]);
}
