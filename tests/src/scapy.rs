//! scapy, which knows RoCE from another hand.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// What a script prints for these lines; `None`, and a line that says so, where there is no scapy.
pub fn scapy(script: &str, lines: String) -> Option<String> {
    let python = |script| {
        let mut command = Command::new("python3");
        command.args(["-c", script]);
        command
    };
    let probe = python("import scapy.contrib.roce").output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!("skipped: no scapy for python3 here");
        return None;
    }
    let mut command = python(script);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "the script failed");
    Some(String::from_utf8(output.stdout).unwrap())
}
