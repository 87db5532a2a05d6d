//! `connections` and `check`: what they say where there is less to say than was asked for.

use roce_sniff_tests::command::{roce_sniff, run, run_line, start};

use serde_json::json;

use crate::captures::{exchanged, folder, reversed};

/// A capture taken in the wrong place is not healthy: there was nothing to look at.
#[test]
fn no_roce_is_no_praise() {
    let none = run(&["check", "rxe/rping_v4.pcap", "-f", "tcp"]).well().text();
    assert_eq!(none, "No RoCE here, and no flow control: there was nothing to check.\n");
    assert_eq!(run_line("check rxe/rping_v4.pcap").well().text(), "Nothing is wrong here.\n");
    let packets = |line| run_line(line).well().json()["versions"]["v2_ipv4"]["packets"].clone();
    assert_eq!(packets("check rxe/rping_v4.pcap --format json -f tcp"), 0);
    assert_eq!(packets("check rxe/rping_v4.pcap --format json"), 65);
    assert_eq!(packets("rxe/rping_v4.pcap --format json"), 65);
}

/// The rules are the same in every format.
#[test]
fn rules_in_every_format() {
    let json = run_line("check --list --format json").well().json();
    let rules = json["rules"].as_array().unwrap();
    let csv = run_line("check --list --format csv").well().text();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("severity,id,title,when,meaning,advice"));
    assert_eq!(lines.clone().count(), rules.len());
    for (line, rule) in lines.zip(rules) {
        let word = |key: &str| rule[key].as_str().unwrap();
        assert!(line.starts_with(&format!("{},{},", word("severity"), word("id"))), "{line}");
    }
}

/// Files that are no trace in the order of time move each other's clock: that is said.
#[test]
fn files_out_of_order_are_said() {
    let order = |files: &str| run_line(&format!("connections -q {files}")).well().errors();
    // Taken one after the other, as their MANIFEST says.
    let [first, then] = ["rxe/rping_v4.pcap", "rxe/rping_v6.pcap"].map(|file| {
        let from = run(&[file, "--format", "json"]).json()["source"]["first_ns"].as_u64().unwrap();
        (from, file)
    });
    let ((_, first), (_, then)) = (first.min(then), first.max(then));
    assert_eq!(order(&format!("{first} {then}")), "");
    let said = order(&format!("{then} {first}"));
    assert!(said.starts_with(&format!("roce-sniff: {first} begins ")), "{said}");
    assert!(said.contains(&format!(" before {then} ends")), "{said}");
    // One thread reads as several do.
    assert_eq!(order(&format!("-c 1000000 {then} {first}")), said);
}

/// What follows from files in the wrong order stands behind what says so, errors too.
#[test]
fn disorder_is_told_first() {
    let begins =
        |file: &str| run(&[file, "--format", "json"]).json()["source"]["first_ns"].as_u64();
    let mut files = ["rxe/err_naks.pcap", "rxe/loss_a.pcap"];
    files.sort_by_key(|file| std::cmp::Reverse(begins(file)));
    let told =
        |format| run(&["check", "--fail-on", "never", "--format", format, files[0], files[1]]);
    let text = told("text").text();
    let first = text.split("\n\n").nth(1).unwrap();
    assert!(first.starts_with("warning capture: frames do not stand in the order"), "{text}");
    let findings = told("json").json();
    let findings = findings["findings"].as_array().unwrap();
    let severities: Vec<_> = findings.iter().map(|one| one["severity"].as_str().unwrap()).collect();
    assert!(severities.is_sorted_by_key(|one| ["error", "warning", "info"].map(|s| s != *one)));
    let first = findings.iter().find(|one| one["severity"] == "warning").unwrap();
    assert_eq!(first["id"], "capture-disorder");
    assert!(severities.contains(&"error"));
}

/// The kernel's counters beside the captures have these numbers; the names are those of Linux.
#[test]
fn the_first_line_says_how_many_of_what() {
    let check = |capture: &str, format| {
        let file = format!("rxe/{capture}.pcap");
        run(&["check", "--fail-on", "never", "--format", format, &file])
    };
    for (capture, counts, told) in [
        ("err_rnr", "RNR NAKs", "10.77.0.2: a receiver was not ready (10 RNR NAKs)"),
        ("cm_sidr_reject", "requests", "a request for a connection was refused (1 request)"),
        ("ecn_ce_v4", "packets", "and no one tells the sender (34 packets)"),
    ] {
        let text = check(capture, "text").text();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(told), "{text}");
        let findings = check(capture, "json").json();
        let all = findings["findings"].as_array().unwrap();
        assert!(all.iter().any(|finding| finding["counts"] == counts), "{findings}");
    }
    let refused = check("cm_sidr_reject", "json").json()["findings"][0]["evidence"].clone();
    assert_eq!(refused["reason"], serde_json::json!(["service id not supported"]));
}

/// Of the commands that findings advise, those of this program exist, and have the options named.
#[test]
fn advice_can_be_followed() {
    let json = run_line("check --list --format json").well().json();
    let mut commands = 0;
    for rule in json["rules"].as_array().unwrap() {
        let words = ["meaning", "advice"].map(|key| rule[key].as_str().unwrap()).join(" ");
        for quoted in words.split('`').skip(1).step_by(2) {
            let mut words = quoted.split(' ');
            if words.next() != Some("roce-sniff") {
                continue;
            }
            let help = match words.next().unwrap() {
                "IFACE" => run_line("--help"),
                command => run_line(&format!("{command} --help")),
            };
            let help = help.well().text();
            for option in words.filter(|word| word.starts_with('-')) {
                let is_there = [" ", ","].map(|end| help.contains(&format!("{option}{end}")));
                assert!(is_there.contains(&true), "{}: {quoted}", rule["id"]);
            }
            commands += 1;
        }
        let unquoted: String = words.split('`').step_by(2).collect();
        assert!(!unquoted.contains("roce-sniff"), "{unquoted}");
    }
    assert!(commands > 10, "{commands}");
}

/// However narrow the terminal, what is to be copied into a shell is in one line.
#[test]
fn commands_are_in_one_line() {
    let mut command = roce_sniff(&["check", "--fail-on", "never", "rxe/loss_write_b.pcap"]);
    let text = start(command.env("COLUMNS", "60")).end().text();
    let told = "`ethtool -S DEV | grep -E 'discard|drop'`";
    assert!(text.lines().any(|line| line.contains(told)), "{text}");
}

/// Both commands say that they forgot connections: the MANIFEST knows of two queue pairs here.
#[test]
fn forgotten_connections_are_said() {
    for command in ["connections", "check"] {
        let got = run(&[command, "rxe/atomic_cas_v4.pcap", "--max-connections", "1"]);
        let errors = got.errors();
        assert!(
            errors.contains("connections had to give way to newer ones 1 time, with 20 packets"),
            "{errors}"
        );
        let all = run(&[command, "rxe/atomic_cas_v4.pcap"]).well();
        assert_eq!(all.errors(), "", "{command}");
    }
}

/// `--id` holds for every format, and draws nothing when it is to be quiet.
#[test]
fn one_connection_in_every_format() {
    let json = run_line("connections rxe/loss_a.pcap --id 2 --format json").json();
    let connections = json["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 1);
    assert_eq!(connections[0]["id"], 2);
    // Each of its bytes lies in one millisecond, those of others in none.
    for way in ["a_to_b", "b_to_a"] {
        let bins = json["milliseconds"][way]["bytes"].as_array().unwrap();
        let sum: u64 = bins.iter().map(|bytes| bytes.as_u64().unwrap()).sum();
        assert_eq!(connections[0][way]["bytes"], sum, "{way}");
        assert_eq!(json["milliseconds"][way]["bin_ns"].as_u64().unwrap() % 1_000_000, 0);
        let most = bins.iter().map(|bytes| bytes.as_u64().unwrap()).max().unwrap();
        assert!(
            most <= sum && connections[0][way]["peak_millisecond_bytes"].as_u64() <= Some(most)
        );
    }
    let csv = run_line("connections rxe/loss_a.pcap --id 2 --format csv").well().text();
    assert!(csv.lines().skip(1).all(|line| line.starts_with("2,")), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert_eq!(run_line("connections rxe/loss_a.pcap --id 2 --quiet").well().text(), "");
    let none = run_line("connections rxe/rping_v4.pcap --id 2");
    assert_eq!(none.code(), Some(2));
    assert_eq!(none.errors(), "roce-sniff: --id 2: there is 1 connection\n");
}

/// What soft-RoCE sent again, in v1: where no IP identification tells a copy from that.
#[test]
fn what_is_sent_again_is_no_copy_in_v1_either() {
    let folder = crate::captures::folder();
    for capture in ["loss_burst_v6_b", "corrupt_b", "loss_write_b", "loss_read_a"] {
        let fixture = format!("rxe/{capture}.pcap");
        let v1 = folder.path().join(capture).display().to_string();
        run(&["rewrite", "-q", &fixture, "--convert", "v1", "-o", &v1]).well();
        let ids = |file: &str| -> Vec<String> {
            let report = run(&["check", "--format", "json", "--fail-on", "never", file]).json();
            let findings = report["findings"].as_array().unwrap();
            findings.iter().map(|finding| finding["id"].to_string()).collect()
        };
        assert!(!ids(&v1).contains(&"\"duplicated-frames\"".to_owned()), "{capture}");
        let again = |file: &str| -> u64 {
            let report = run(&["connections", "--format", "json", file]).json();
            let connections = report["connections"].as_array().unwrap();
            let both = connections.iter().flat_map(|c| ["a_to_b", "b_to_a"].map(|way| &c[way]));
            both.map(|way| way["retransmitted_packets"].as_u64().unwrap()).sum()
        };
        // The first NAK comes before v1 tells whose it is.
        assert!(again(&fixture).abs_diff(again(&v1)) <= 1, "{capture}");
    }
}

/// Who paused what for how long. By hand: priority 3 is stopped for 65535 quanta and let go on after
/// 250 µs, and stopped again for 300 quanta, which are 1536 ns at 100 Gbit/s; the capture is of 1750 µs.
#[test]
fn flow_control_is_told_by_port_and_priority() {
    let json = |line: &str| run_line(line).well().json()["congestion"].clone();
    let told = json("check made/pfc_pause.pcap --link-speed 100G --format json");
    assert_eq!(told, json("connections made/pfc_pause.pcap --link-speed 100Gbps --format json"));
    assert_eq!((&told["pfc"], &told["pause"]), (&4.into(), &2.into()));
    let [port] = &told["senders"].as_array().unwrap()[..] else { panic!("{told}") };
    assert_eq!(port["mac"], "02:00:00:00:00:0a");
    let of_3 = &port["pfc"][3];
    for (key, value) in [
        ("priority", 3),
        ("frames", 3),
        ("pauses", 2),
        ("resumes", 1),
        ("quanta", 65_835),
        ("paused_ns", 251_536),
        ("longest_pause_ns", 250_000),
    ] {
        assert_eq!(of_3[key], value, "{key}");
    }
    assert_eq!(of_3["paused_percent"], 14.373);
    assert_eq!(
        (&port["pause"]["quanta"], &port["pause"]["paused_ns"]),
        (&65_535.into(), &250_000.into())
    );
    let unknown = &json("connections made/pfc_pause.pcap --format json")["senders"][0]["pfc"][3];
    assert_eq!((&unknown["quanta"], unknown.get("paused_ns")), (&65_835.into(), None));
    let text = run_line("connections made/pfc_pause.pcap --link-speed 100G").well().text();
    let line = "Port 02:00:00:00:00:0a pauses priority 3: 2 pauses with 65,835 quanta, 1 XON,\n\
                paused 251 µs (14.373 %), at most 250 µs without a break.\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("Port 02:00:00:00:00:0a lets priority 0 go on: 1 XON.\n"), "{text}");
}

/// `ibv_srq_pingpong` has 16 queue pairs: log₂ 16 = 4 bits where each has its own port. Of 16 equal paths
/// 16 (1 − (15/16)¹⁶) = 10.303 are used then, and 1 − (15/16)¹⁵ = 62.019 % of the flows share one.
#[test]
fn the_spread_of_flows_is_in_the_document() {
    let json = run_line("check rxe/srq_pingpong_v4.pcap --format json").well().json();
    assert_eq!(json["spread"]["left_off"], 0);
    let pairs = json["spread"]["pairs"].as_array().unwrap();
    let there = pairs.iter().find(|pair| pair["from"] == "10.77.0.1").unwrap();
    for (key, value) in [("connections", 16), ("flows", 16), ("udp_src_ports", 16)] {
        assert_eq!(there[key], value, "{key}");
    }
    assert_eq!((&there["to"], &there["entropy_bits"]), (&"10.77.0.2".into(), &4.0.into()));
    let of_16 = &there["expected"][3];
    assert_eq!((&of_16["paths"], &of_16["used"]), (&16.into(), &10.303.into()));
    assert_eq!(of_16["sharing_flows_percent"], 62.019);
}

/// Short pauses are a remark: exit code 0, and no storm.
#[test]
fn flow_control_is_no_error() {
    let findings = run_line("check made/pfc_pause.pcap --format json").well().json();
    let findings = findings["findings"].as_array().unwrap();
    let seen: Vec<_> = findings.iter().filter(|one| one["id"] == "pfc-seen").collect();
    assert_eq!(seen.len(), 7);
    let of_3 =
        seen.iter().find(|one| one["subject"] == "port 02:00:00:00:00:0a priority 3").unwrap();
    assert_eq!((&of_3["severity"], &of_3["count"]), (&"info".into(), &2.into()));
    assert_eq!(of_3["frames"], serde_json::json!([1, 2, 3]));
    assert_eq!(of_3["evidence"]["paused"], "not known without --link-speed");
}

/// Numbers of the evidence are numbers in JSON; to people a time is told in a unit that fits.
#[test]
fn evidence_is_of_the_right_kind() {
    let findings = run_line("check rxe/err_rnr.pcap --format json --fail-on never").json();
    let findings = findings["findings"].as_array().unwrap();
    let rnr = findings.iter().find(|finding| finding["id"] == "rnr-nak").unwrap();
    assert!(rnr["evidence"]["timer_ns"].is_u64(), "{rnr}");
    let text = run_line("check rxe/err_rnr.pcap --fail-on never").text();
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains(" ms") && !words.contains(" ns "), "{words}");
    // Marks are lists of numbers.
    let findings = run_line("check rxe/tclass_v6.pcap --format json --fail-on never").json();
    let dscp = &findings["findings"][0];
    assert_eq!(dscp["id"], "dscp-policy");
    assert_eq!(dscp["evidence"]["wanted"], 26);
    // DSCP 26 and ECT(0) are 0x6a.
    assert_eq!(dscp["evidence"]["traffic_class"], 0x6a);
    assert!(dscp["evidence"]["seen"][0].is_u64(), "{dscp}");
    // What proves it went that way: frame 5 is the first of the other side.
    assert_eq!(dscp["subject"], "fd77::1 -> fd77::2");
    let back = &findings["findings"][1];
    assert_eq!(
        (&back["id"], &back["subject"]),
        (&"dscp-policy".into(), &"fd77::2 -> fd77::1".into())
    );
    assert_eq!((&dscp["frames"], &back["frames"]), (&json!([1]), &json!([5])));
    // A requester that gave up was silent to the end of the capture, after its last try.
    let findings = run_line("check rxe/err_rnr.pcap --format json --fail-on never").json();
    let silent = &findings["findings"][0]["evidence"]["then_silent_ns"];
    assert!(silent.as_u64() > Some(0), "{findings}");
}

/// No second has more bytes than all of them.
#[test]
fn the_busiest_second_is_no_more_than_all() {
    for capture in ["loss_b", "loss_a", "rping_v4"] {
        let report = run_line(&format!("connections rxe/{capture}.pcap --format json")).json();
        for connection in report["connections"].as_array().unwrap() {
            for way in ["a_to_b", "b_to_a"] {
                let of = |key: &str| connection[way][key].as_u64();
                assert!(of("peak_second_bytes") <= of("bytes"), "{capture} {way}");
            }
        }
    }
}

/// Two frames that changed places, as captures of several queues have them, are no trouble of the
/// network. Far from their place they make everything doubtful.
#[test]
fn frames_out_of_order_are_put_in_order() {
    let folder = folder();
    let swapped = folder.path().join("swapped.pcap");
    let places = exchanged("rxe/send_bw_v4.pcap", &swapped);
    let path = swapped.to_str().unwrap();
    for threads in [&[][..], &["-c", "1000000"]] {
        let got = run(&[&["check", path], threads].concat()).well();
        assert_eq!(got.text(), "Nothing is wrong here.\n");
        let said = got.errors();
        assert!(said.contains(&format!("{places} frames stand up to ")), "{said}");
        assert!(said.contains("followed in the order"), "{said}");
    }
    let connections = |path: &str| run(&["connections", "--format", "json", path]).well().json();
    let (a, b) = (connections("rxe/send_bw_v4.pcap"), connections(path));
    for key in ["packets", "goodput_bytes", "ack_latency_ns", "completion_ns"] {
        let of = |report: &serde_json::Value| report["connections"][0]["a_to_b"][key].clone();
        assert_eq!(of(&a), of(&b), "{key}");
    }
}

/// From the last frame to the first: what is told is that, and what the frames tell in the order of
/// their times, with the numbers that they have in the file.
#[test]
fn a_file_from_back_to_front_tells_the_same() {
    let folder = folder();
    let backward = folder.path().join("backward.pcap");
    let path = backward.to_str().unwrap();
    let check =
        |path: &str| run(&["check", "--format", "json", "--fail-on", "never", path]).well().json();
    for fixture in ["rxe/send_bw_v4.pcap", "rxe/loss_b.pcap", "rxe/err_rnr.pcap"] {
        let count = u64::try_from(reversed(fixture, &backward)).unwrap();
        let (right, found) = (check(fixture), check(path));
        let list = |found: &serde_json::Value| {
            let mut list = found["findings"].as_array().unwrap().clone();
            list.retain(|one| one["id"] != "capture-disorder");
            list.sort_by_key(|one| [&one["id"], &one["subject"]].map(ToString::to_string));
            list
        };
        let (right, found) = (list(&right), list(&found));
        let told = |one: &serde_json::Value| (one["id"].clone(), one["count"].clone());
        assert_eq!(
            found.iter().map(told).collect::<Vec<_>>(),
            right.iter().map(told).collect::<Vec<_>>(),
            "{fixture}"
        );
        for (found, right) in found.iter().zip(&right) {
            let frames = |one: &serde_json::Value| {
                one["frames"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
            };
            let there: Vec<u64> = frames(right);
            let mut there: Vec<u64> = there.iter().map(|frame| count + 1 - frame).collect();
            there.reverse();
            assert_eq!(frames(found), there, "{fixture} {}", found["id"]);
        }
    }
}
