//! Where nobody knows how many columns there are, lines have at most 80.

use roce_sniff_tests::command::{fixtures, run, run_line};

use crate::captures::folder;

fn assert_narrow(line: &str, text: &str) {
    for printed in text.lines() {
        assert!(printed.chars().count() <= 80, "{line}: {printed}");
    }
}

#[test]
fn no_line_about_connections_is_longer() {
    let mut names: Vec<_> = std::fs::read_dir(fixtures().join("rxe"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".pcap"))
        .collect();
    names.sort();
    for name in names {
        for command in ["check", "connections", "connections --id 1"] {
            let line = format!("{command} rxe/{name}");
            assert_narrow(&line, &run_line(&line).text());
        }
    }
    assert_narrow("check --list", &run_line("check --list").text());
}

/// Addresses are evidence: they are never shortened, whatever their length.
#[test]
fn long_addresses_go_to_a_line_of_their_own() {
    let folder = folder();
    let [v6, long] = ["v6.pcap", "long.pcap"].map(|name| folder.path().join(name));
    let [v6, long] = [&v6, &long].map(|path| path.to_str().unwrap());
    run(&["rewrite", "-q", "rxe/loss_a.pcap", "--convert", "v2-ipv6", "-o", v6]).well();
    let to_long =
        |last: &str| format!("fd00::a4d:{last}=fd77:ffff:eeee:dddd:cccc:bbbb:aaaa:999{last}");
    let maps = [to_long("1"), to_long("2")];
    let args = ["rewrite", "-q", v6, "--map-ip", &maps[0], "--map-ip", &maps[1], "-o", long];
    run(&args).well();
    for args in [vec!["check"], vec!["connections"], vec!["connections", "--id", "2"]] {
        let args = [args, vec![long]].concat();
        let text = run(&args).text();
        assert_narrow(&args.join(" "), &text);
        for last in [1, 2] {
            let address = format!("fd77:ffff:eeee:dddd:cccc:bbbb:aaaa:999{last}");
            assert!(text.contains(&address), "{args:?}");
        }
    }
}
