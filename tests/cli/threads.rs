//! What is found does not depend on how many processors there are.

use std::process::Command;

use roce_sniff_tests::command::{program, run, start};
use roce_sniff_tests::have;

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
        let mut arguments = vec!["connections", "--format", "json", path];
        arguments.extend(options);
        let several = run(&arguments);
        let mut one = Command::new("taskset");
        one.args(["-c", "0"]).arg(program()).args(&arguments);
        let one = start(&mut one).end();
        assert_eq!((one.code(), one.errors()), (several.code(), several.errors()), "{options:?}");
        assert!(one.stdout == several.stdout, "{options:?}");
    }
}
