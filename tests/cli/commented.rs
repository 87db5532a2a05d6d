//! `check -w`: the frames with comments on those that take part in a finding.

use std::fs;
use std::path::Path;
use std::process::Command;

use roce_sniff_tests::command::{fixtures, roce_sniff, run, start_with};
use roce_sniff_tests::{have, read};

use crate::captures::folder;

/// What tshark says of each frame that has a comment: its number and the comment.
fn comments(path: &Path) -> Option<Vec<(u64, String)>> {
    if !have("tshark", &["--version"]) {
        return None;
    }
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-Y", "frame.comment", "-T", "fields"]);
    let output = command.args(["-e", "frame.number", "-e", "frame.comment"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| {
        let (number, comment) = line.split_once('\t').unwrap();
        (number.parse().unwrap(), comment.to_owned())
    });
    Some(lines.collect())
}

/// Runs `check` and returns its findings as JSON.
fn check(from: &str, to: &Path) -> serde_json::Value {
    let args = ["check", "--format", "json", "--fail-on", "never", "-w"];
    let mut command = roce_sniff(&args);
    let ended = start_with(command.arg(to).arg(from), Vec::new()).end();
    ended.json()
}

#[test]
fn each_frame_of_a_finding_has_a_comment_that_names_it() {
    let folder = folder();
    for fixture in ["rxe/loss_a.pcap", "rxe/mixed.pcap", "rxe/err_naks.pcap", "rxe/err_rnr.pcap"] {
        let to = folder.path().join("told.pcapng");
        let told = check(fixture, &to);
        let plain = run(&["check", "--format", "json", "--fail-on", "never", fixture]).json();
        assert_eq!(told, plain, "{fixture}");
        let (before, _) = read(&fixtures().join(fixture));
        let (after, damaged) = read(&to);
        assert!(!damaged && !after.is_empty());
        let mut numbers = Vec::new();
        let mut rest = before.iter();
        for frame in &after {
            let same = |old: &&roce_sniff_tests::Kept| {
                (&old.data, old.time_ns, old.wire_len)
                    == (&frame.data, frame.time_ns, frame.wire_len)
            };
            numbers.push(rest.find(same).unwrap().number);
        }
        let Some(comments) = comments(&to) else { return };
        for finding in told["findings"].as_array().unwrap() {
            let id = finding["id"].as_str().unwrap();
            for frame in finding["frames"].as_array().unwrap() {
                let wanted = |(number, comment): &(u64, String)| {
                    let at = usize::try_from(*number - 1).unwrap();
                    Some(numbers[at]) == frame.as_u64() && comment.contains(id)
                };
                assert!(comments.iter().any(wanted), "{fixture}: {id} {frame}");
            }
        }
    }
}

#[test]
fn comments_of_an_earlier_run_are_replaced() {
    let folder = folder();
    let [once, twice, thrice] = ["1.pcapng", "2.pcapng", "3.pcapng"].map(|n| folder.path().join(n));
    check("rxe/loss_a.pcap", &once);
    // Other numbers than before: what is no RoCE was left out.
    check(once.to_str().unwrap(), &twice);
    check(twice.to_str().unwrap(), &thrice);
    assert!(fs::read(&twice).unwrap() == fs::read(&thrice).unwrap());
    let Some(comments) = comments(&twice) else { return };
    assert!(comments.iter().all(|(_, comment)| !comment.contains("of the source")));
}

#[test]
fn a_stream_gives_the_same_as_a_file() {
    let folder = folder();
    let [from_file, from_stream] = ["file.pcapng", "stream.pcapng"].map(|n| folder.path().join(n));
    check("rxe/mixed.pcap", &from_file);
    let bytes = fs::read(fixtures().join("rxe/mixed.pcap")).unwrap();
    let mut command = roce_sniff(&["check", "-q", "--fail-on", "never", "-", "-w"]);
    start_with(command.arg(&from_stream), bytes).end().well();
    assert_eq!(fs::read(&from_file).unwrap(), fs::read(&from_stream).unwrap());
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn limits_hold_the_second_time_too() {
    let folder = folder();
    let to = folder.path().join("some.pcapng");
    let args = ["check", "-q", "rxe/loss_a.pcap", "-c", "30", "-f", "src host 10.77.0.1", "-w"];
    let mut command = roce_sniff(&args);
    start_with(command.arg(&to), Vec::new()).end().well();
    let (frames, _) = read(&to);
    assert!((20..=30).contains(&frames.len()), "{}", frames.len());
    let source = [10, 77, 0, 1];
    assert!(frames.iter().all(|frame| frame.data[26..30] == source || frame.data[12] != 8));
}

#[test]
fn more_frames_than_are_printed_have_a_comment() {
    let folder = folder();
    let scenario = folder.path().join("marked.pcap");
    run(&["craft", "ce-at-the-source", "-o", scenario.to_str().unwrap()]).well();
    let to = folder.path().join("told.pcapng");
    check(scenario.to_str().unwrap(), &to);
    let Some(comments) = comments(&to) else { return };
    assert!(comments.len() > 20, "{}", comments.len());
}

#[test]
fn pcap_has_no_room_for_comments() {
    let ended = run(&["check", "rxe/loss_a.pcap", "-w", "told.pcap"]);
    assert_eq!(ended.code(), Some(2));
    let said = ended.errors();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("-w told.pcap: pcap has no room for comments"), "{said}");
}

/// Whoever reads the report may stop to.
#[test]
fn a_closed_pipe_costs_no_frame() {
    let folder = folder();
    let to = folder.path().join("told.pcapng");
    let bin = roce_sniff_tests::command::program().display();
    let line = format!("{bin} check rxe/loss_a.pcap -w {} | true", to.display());
    let status = Command::new("sh").args(["-c", &line]).current_dir(fixtures()).status();
    assert!(status.unwrap().success());
    assert_eq!(read(&to).0.len(), 385);
}

/// The report is the same whether the frames are written as well or not.
#[test]
fn the_same_findings_with_a_copy_and_without() {
    let folder = folder();
    for capture in ["loss_a", "loss_b", "loss_read_b", "loss_write_a", "loss_write_b", "corrupt_b"]
    {
        let from = format!("rxe/{capture}.pcap");
        let with = check(&from, &folder.path().join("copy.pcapng"));
        let without = run(&["check", "--format", "json", "--fail-on", "never", &from]).json();
        assert_eq!(with["findings"], without["findings"], "{capture}");
    }
}
