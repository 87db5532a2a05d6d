//! What is found does not depend on how many processors there are.

use std::process::Command;

use roce_sniff_tests::command::{program, run, start};
use roce_sniff_tests::{Kept, folder as fixtures, have, read};

use crate::captures::folder;

/// A capture of many batches: with its end cut off, with a filter, without the ICRC.
#[test]
fn connections_are_the_same_with_one_thread_and_with_several() {
    // It leaves a command one processor.
    if !have("taskset", &["--version"]) {
        return;
    }
    let folder = folder();
    let path = folder.path().join("many.pcap");
    let path = path.to_str().unwrap();
    assert_eq!(run(&["craft", "many-connections", "-o", path]).code(), Some(0));
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() - 100]).unwrap();
    for options in [&[][..], &["-f", "host 10.0.0.1"], &["--no-icrc"], &["--duration", "1ms"]] {
        is_the_same(&[&[path], options].concat());
    }
}

/// Files that are not in the order of time, and no end of the second is read.
#[test]
fn so_is_what_is_said_of_their_times() {
    if !have("taskset", &["--version"]) {
        return;
    }
    let whole = fixtures("rxe").join("mixed.pcap");
    let folder = folder();
    let half = folder.path().join("half.pcap");
    let [from, to] = [&whole, &half].map(|path| path.to_str().unwrap());
    let made = run(&["-q", "-c", "81", "-w", to, from]);
    assert_eq!(made.code(), Some(0), "{}", made.errors());
    let [half, whole] = [&half, &whole].map(|path| read(path).0);
    let time = |frame: Option<&Kept>| frame.unwrap().time_ns.unwrap();
    let ends = time(half.last()).midpoint(time(whole.last()));
    let limit = format!("{}us", (ends - time(half.first())) / 1_000);
    let said = is_the_same(&[to, from, "--duration", &limit]);
    assert!(said.contains("mixed.pcap begins"), "{said}");
}

/// Runs it with one thread and with several; what both say on standard error.
fn is_the_same(options: &[&str]) -> String {
    let arguments = [&["connections", "--format", "json"], options].concat();
    let several = run(&arguments);
    let mut one = Command::new("taskset");
    one.args(["-c", "0"]).arg(program()).args(&arguments);
    let one = start(&mut one).end();
    assert_eq!((one.code(), one.errors()), (several.code(), several.errors()), "{options:?}");
    assert!(one.stdout == several.stdout, "{options:?}");
    several.errors().to_string()
}
