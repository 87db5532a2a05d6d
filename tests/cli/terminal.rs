//! What reaches a terminal: colours only where wanted, and never what a packet would say to it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use roce_sniff_tests::command::{Ended, roce_sniff, run, run_line, start};

use crate::captures::{changed, folder, repeated};

const ESCAPE: u8 = 0x1b;

fn has_colour(ended: &Ended) -> bool {
    ended.stdout.contains(&ESCAPE)
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    for command in ["made/icrc.pcap", "packets made/icrc.pcap", "packets -V made/icrc.pcap"] {
        assert!(!has_colour(&run_line(command).well()), "{command}: a pipe is no terminal");
        let always = format!("{command} --color always");
        assert!(has_colour(&run_line(&always).well()), "{always}");
        let never = format!("{command} --color never");
        assert!(!has_colour(&run_line(&never).well()), "{never}");
        // Said on the command line, it counts more than the environment.
        let words: Vec<&str> = always.split(' ').collect();
        let ended = start(roce_sniff(&words).env("NO_COLOR", "1")).end().well();
        assert!(has_colour(&ended), "{always} with NO_COLOR");
    }
    for format in ["json", "csv"] {
        for command in ["made/icrc.pcap", "packets made/icrc.pcap"] {
            let line = format!("{command} --format {format} --color always");
            assert!(!has_colour(&run_line(&line).well()), "{line}: scripts want no colour");
        }
    }
}

/// Colour changes how text looks, not what it says.
#[test]
fn colour_adds_nothing_but_colour() {
    for command in ["made/mixed_versions.pcap", "packets made/syndromes.pcap"] {
        let plain = run_line(command).well().text();
        let coloured = run_line(&format!("{command} --color always")).well().text();
        assert_eq!(without_colour(&coloured), plain);
    }
}

/// Takes out `ESC [ … m`.
fn without_colour(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('m').unwrap();
        assert!(code.starts_with('['), "{code}");
        assert!(code[1..].chars().all(|c| c.is_ascii_digit() || c == ';'), "{code}");
        plain.push_str(rest);
    }
    plain
}

/// Sets the terminal's title, recolours, clears the screen, reverses what follows, rings.
const HOSTILE: &[u8] =
    b"fine text \x1b]0;owned\x07\x1b[2J\x1b[31m\xc2\x9b31m\xe2\x80\xaetxt.exe\x08\x7f\x9bH";

#[test]
fn packets_do_not_speak_to_the_terminal() {
    let folder = folder();
    let path = folder.path().join("hostile.pcap");
    // Private data of CM messages begins 42 + 12 + 8 + 24 bytes into the frame, plus its offset;
    // all that follows the common part of the message is overwritten.
    changed("made/cm_v2_ipv4.pcap", &path, |_, data| {
        let end = data.len() - 4;
        for (to, from) in data[122..end].iter_mut().zip(HOSTILE.iter().cycle()) {
            *to = *from;
        }
    });
    let sends = folder.path().join("sends.pcap");
    changed("rxe/verbs_rc_v4.pcap", &sends, |_, data| {
        let end = data.len() - 4;
        if end > 90 {
            for (to, from) in data[82..end].iter_mut().zip(HOSTILE.iter().cycle()) {
                *to = *from;
            }
        }
    });
    for path in [&path, &sends] {
        let path = path.to_str().unwrap();
        for command in [
            "",
            "--format json",
            "--format csv",
            "packets",
            "packets -V",
            "packets -V -x",
            "packets --format json",
            "packets --format csv",
        ] {
            let ended = run_line(&format!("{command} {path}")).well();
            for text in [ended.text(), ended.errors()] {
                let wrong = text.chars().find(|c| {
                    (c.is_control() && !matches!(c, '\n' | '\t'))
                        || matches!(*c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
                });
                assert_eq!(wrong, None, "{command} {path}");
            }
        }
    }
}

/// A private message that reads as text is shown as text.
#[test]
fn readable_private_data_is_shown() {
    let text = run_line("packets -V -c 1 made/cm_v2_ipv4.pcap").well().text();
    assert!(text.contains("consumer data, 56 bytes: \"rping\", then zeros"), "{text}");
}

/// `roce-sniff packets … | head -1`
#[test]
fn a_closed_pipe_is_no_error() {
    let folder = folder();
    let path = repeated("rxe/verbs_rc_v4.pcap", 200, &folder.path().join("long.pcap"));
    let path = path.to_str().unwrap();
    for words in [
        &["packets", path][..],
        &["packets", "-V", path],
        &["packets", "--format", "json", path],
        &["generate", "bash"],
    ] {
        let mut child =
            roce_sniff(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::with_capacity(16, child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        drop(stdout);
        assert!(line.ends_with('\n'));
        let since = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{words:?}");
        assert!(since.elapsed() < Duration::from_secs(20), "{words:?}");
    }
}

/// Output that cannot be written is an error, unlike output that nobody wants.
#[test]
fn a_full_disk_under_standard_output_is_an_error() {
    for words in [&["packets", "rxe/verbs_rc_v4.pcap"][..], &["rxe/verbs_rc_v4.pcap"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = roce_sniff(words);
        let child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("space"), "{words:?}: {said}");
    }
}

/// A terminal of 80 columns is assumed where nobody knows; the text is the same on any pipe.
#[test]
fn remarks_go_to_standard_error() {
    let ended = run(&["packets", "rxe/bait.pcap"]).well();
    assert_eq!(ended.text().lines().count(), 31);
    let said = ended.errors();
    assert!(
        said.starts_with("roce-sniff: not RoCE though with its port or Ethertype: 9 frames"),
        "{said}"
    );
    for reason in ["IP fragment 1", "unknown opcode 3", "transport version not 0 1"] {
        assert!(said.contains(reason), "{said}");
    }
}
