//! What the command says about itself.

use std::process::Command;

use roce_sniff_tests::command::{run, run_line, start_with};
use roce_sniff_tests::have;

#[test]
fn help_has_examples_and_fits() {
    for line in
        ["--help", "packets --help", "devices --help", "mode --help", "generate --help", "-h"]
    {
        let ended = run_line(line).well();
        assert_eq!(ended.errors(), "", "{line}");
        let text = ended.text();
        assert!(text.contains("Usage: roce-sniff"), "{line}: {text}");
        for row in text.lines() {
            assert!(row.chars().count() <= 100, "{line}: {row}");
        }
    }
    let text = run(&["--help"]).text();
    for word in ["Examples:", "Exit codes:", "roce-sniff trace.pcapng", "--expect", "packets"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    assert!(run_line("packets --help").text().contains("Examples:"));
}

#[test]
fn the_version_is_that_of_the_package() {
    let text = run(&["--version"]).well().text();
    assert_eq!(text, concat!("roce-sniff ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(run(&["-V"]).text(), text);
}

/// The shells themselves read what is made for them, where they are installed.
#[test]
fn completions_are_sound() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["generate", shell]).well();
        let text = script.text();
        for word in ["roce-sniff", "packets", "--expect", "v2-ipv4", "--no-icrc"] {
            // fish names options without their dashes.
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(text.contains(word), "{shell}: {word}");
        }
        if have(shell, &["--version"]) {
            let mut command = Command::new(shell);
            let checked = start_with(command.arg("-n"), script.stdout.clone()).end();
            assert_eq!((checked.code(), checked.errors().as_str()), (Some(0), ""), "{shell}");
        }
    }
}

#[test]
fn the_man_page_is_sound() {
    let page = run(&["generate", "man"]).well();
    let text = page.text();
    assert!(text.contains(".TH roce\\-sniff 1") || text.contains(".TH roce-sniff 1"), "{text}");
    for word in ["Examples:", "Exit codes:", "expect"] {
        assert!(text.contains(word), "{word}");
    }
    if have("groff", &["--version"]) {
        let mut command = Command::new("groff");
        let args = ["-man", "-Tutf8", "-ww", "-z"];
        let checked = start_with(command.args(args), page.stdout.clone()).end();
        assert_eq!((checked.code(), checked.errors().as_str()), (Some(0), ""));
    }
}

/// Every subcommand and option that `--help` names is there.
#[test]
fn no_option_is_a_stub() {
    let text = run(&["--help"]).text();
    let commands = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in commands.take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().unwrap();
        assert_eq!(run(&[name, "--help"]).code(), Some(0), "{name}");
    }
}
