//! What is shown while a capture runs: on a pipe, and on a terminal.

use roce_sniff_tests::command::{program, start};
use roce_sniff_tests::have;
use rustix::process::Signal;

use crate::rig::Rig;

#[test]
fn a_pipe_gets_a_line_for_each_interval() {
    let Some(rig) = Rig::new() else { return };
    let running = rig.listen("far --interval 200ms");
    rig.send(&["rxe/rping_v4.pcap", "made/cnp.pcap"]);
    std::thread::sleep(std::time::Duration::from_millis(600));
    running.signal(Signal::INT);
    let text = running.end().well().text();
    assert!(!text.contains(['\r', '\x1b']), "{text:?}");
    let (lines, verdict) = text.split_at(text.find("Mixed: ").unwrap());
    let lines: Vec<&str> = lines.lines().collect();
    assert!(lines.len() >= 3, "{text}");
    assert!(lines[0].contains("no RoCE yet  0 packets"), "{text}");
    let last = lines.last().unwrap();
    assert!(last.contains("RoCE v1 and v2  77 packets") && last.contains("CNP 7"), "{text}");
    assert!(verdict.contains("77, ") || verdict.contains("76 packets"), "{verdict}");
    assert!(verdict.contains("0 dropped by the kernel"), "{verdict}");
}

/// Lines as they stand on the screen in the end: a carriage return goes back to the start of a
/// line, `ESC [2K` clears it; colours are left out, and anything else is refused.
fn screen(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        let line = lines.last_mut().unwrap();
        match first {
            '\n' => lines.push(String::new()),
            // What comes after it is written over the line; here a clearing always follows.
            '\r' => assert!(rest.starts_with(['\n', '\x1b', '\r']), "{rest:?}"),
            '\x1b' => {
                let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                match &rest[..=end] {
                    "[2K" => line.clear(),
                    colour => assert!(colour.ends_with('m'), "{colour}"),
                }
                rest = &rest[end + 1..];
            }
            other => line.push(other),
        }
    }
    lines
}

#[test]
fn a_terminal_is_refreshed_in_place_and_left_clean() {
    if !have("script", &["--version"]) {
        return;
    }
    let Some(rig) = Rig::new() else { return };
    let command = format!("{} far --duration 3s --interval 200ms", program().display());
    let running =
        start(rig.veth.at_far(&["script", "-qec", &command, "/dev/null"]).env("TERM", "xterm"));
    std::thread::sleep(std::time::Duration::from_millis(1200));
    rig.send(&["rxe/rping_v4.pcap"]);
    let text = running.end().well().text();
    assert!(text.matches("\r\x1b[2K").count() >= 5, "it is refreshed: {text:?}");
    assert!(text.contains("RoCE v2"), "{text:?}");
    assert!(text.contains("\x1b[1m"), "a terminal has colours: {text:?}");
    let screen = screen(&text);
    assert_eq!(screen[0], "RoCE v2 over IPv4: 65 packets between 2 hosts, both directions agree.");
    assert!(screen.iter().all(|line| line.chars().count() <= 80), "{screen:#?}");
    assert_eq!(screen.last().unwrap(), "", "the prompt has a line of its own");
    assert!(!screen.iter().any(|line| line.contains("Looking for") || line.contains("/s  ")));
}
