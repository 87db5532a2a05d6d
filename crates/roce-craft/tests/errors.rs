//! Scenarios that cannot be: what is wrong, and in which line.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may be blunt")]

use roce_craft::Scenario;

/// A whole scenario around one line of a connection.
fn with(line: &str) -> String {
    format!("[[connection]]\nfrom = \"a\"\nto = \"b\"\n{line}\n")
}

fn error(text: &str) -> String {
    match Scenario::parse(text) {
        Ok(_) => panic!("this ought to be wrong:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_error_names_its_line_and_what_would_be_right() {
    for (line, expected) in [
        ("colour = 1", "line 4, column 1: unknown field `colour`"),
        ("pmtu = 1500", "line 4, column 8: pmtu is 1500, not 256, 512, 1024, 2048 or 4096"),
        ("dscp = 64", "line 4, column 8: dscp is 64, not 0 to 63"),
        ("vlan = 4096", "line 4, column 8: vlan is 4096, not 0 to 4095"),
        ("pcp = 3", "line 4, column 7: pcp needs a vlan"),
        ("rtt = \"fast\"", "line 4, column 7: invalid value: string \"fast\", expected a time"),
        ("rate = \"0Gbit\"", "line 4, column 8: invalid value: string \"0Gbit\", expected a rate"),
        ("qpn = [0x1000000, 3]", "line 4, column 7: a qpn is 2 to 16777215"),
        ("carrier = \"v3\"", "line 4, column 11: unknown variant `v3`"),
        ("window = 0", "line 4, column 10: window is 0, not 1 to 65536"),
        ("retries = 8", "line 4, column 11: retries is 8, not 0 to 7"),
        ("repeat = 0", "line 4, column 10: repeat is 0, not 1 to 1000000"),
        ("vxlan = 0x1000000", "line 4, column 9: vxlan is 16777216, not 0 to 16777215"),
        ("srqn = 0x1000000", "line 4, column 8: srqn is 16777216, not 0 to 16777215"),
        ("[capture]\nmiss = [2, 0]", "line 5, column 12: frames are numbered from 1"),
        ("[[connection.op]]\nkind = \"steal\"", "line 5, column 8: unknown variant `steal`"),
        ("dscp = ", "line 4, column 8:"),
    ] {
        let said = error(&with(line));
        assert!(said.starts_with(expected), "{line}: {said}");
    }
}

#[test]
fn operations_must_fit_their_service() {
    for (service, op, expected) in [
        ("uc", "kind = \"read\"", "line 6, column 8: the service has no such operation"),
        ("ud", "kind = \"write\"", "line 6, column 8: the service has no such operation"),
        ("xrc", "kind = \"flush\"", "line 6, column 8: the service has no such operation"),
        ("xrc", "kind = \"send\"\nby = \"to\"", "line 6, column 8: only `from` makes requests"),
        ("ud", "kind = \"send\"\nsize = 2000", "line 7, column 8: 2000 bytes are more than 1024"),
        ("rc", "kind = \"read\"\nimmediate = true", "line 6, column 8: only SEND and WRITE"),
        ("rc", "kind = \"write\"\ninvalidate = true", "line 6, column 8: only a SEND"),
        ("rc", "kind = \"write\"\nsize = 1\nsizes = [1]", "line 7, column 8: size and sizes"),
    ] {
        let said = error(&with(&format!("service = \"{service}\"\n[[connection.op]]\n{op}")));
        assert!(said.starts_with(expected), "{service} {op}: {said}");
    }
}

#[test]
fn events_must_say_when_and_to_whom() {
    for (event, expected) in [
        ("kind = \"loss\"", "line 4, column 1: an event says when"),
        ("kind = \"loss\"\nat = [1]\nconnection = 2", "line 7, column 14: there is no such"),
        ("kind = \"loss\"\nat = [1]\nconnection = \"x\"", "line 7, column 14: there is no such"),
        ("kind = \"loss\"\nat = [0]", "line 6, column 7: packets and messages are numbered from 1"),
        ("kind = \"loss\"\nrate = 1.5", "line 6, column 8: a rate lies between 0 and 1"),
        ("kind = \"nak\"\nat = [1]", "line 4, column 1: a nak has a code: invalid-request, "),
        ("kind = \"malformed\"\nat = [1]", "line 4, column 1: a malformed packet has a what: tver"),
        ("kind = \"rnr\"\nat = [1]\nof = \"acks\"", "line 4, column 1: only requests"),
        ("kind = \"rnr\"\nrate = 1.0", "line 4, column 1: never ends: set rnr_retries"),
        ("kind = \"rnr\"\nat = [1]\ntimer = 32", "line 7, column 9: timer is 32, not 0 to 31"),
    ] {
        let said = error(&with(&format!("[[event]]\n{event}")));
        assert!(said.starts_with(expected), "{event}: {said}");
    }
}

#[test]
fn private_data_must_fit_its_message() {
    for (service, room) in [("rc", 56), ("ud", 180)] {
        let scenario = |len| {
            let data = "x".repeat(len);
            with(&format!("service = \"{service}\"\n[connection.cm]\nprivate_data = \"{data}\""))
        };
        assert!(Scenario::parse(&scenario(room)).is_ok());
        let said = error(&scenario(room + 1));
        assert_eq!(said, format!("line 6, column 16: private_data is longer than {room} bytes"));
    }
}

#[test]
fn hosts_must_be_there_once_and_differ() {
    let hosts = "[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n";
    assert!(Scenario::parse(&format!("{hosts}{}", with(""))).is_ok());
    let said = error(&format!("{hosts}[[connection]]\nfrom = \"a\"\nto = \"c\"\n"));
    assert_eq!(said, "line 7, column 6: there is no host \"c\"");
    let said = error("[[connection]]\nfrom = \"a\"\nto = \"a\"\n");
    assert_eq!(said, "line 3, column 6: a connection goes from one host to another");
    let said = error(&format!("{hosts}{hosts}{}", with("")));
    assert_eq!(said, "line 6, column 8: there are two hosts named \"a\"");
    assert_eq!(error("connection = []"), "there is no [[connection]]");
    assert!(error("").contains("missing field `connection`"));
}

#[test]
fn priorities_are_those_of_a_tag() {
    let pause =
        |list| with(&format!("[[pause]]\nfrom = \"02:00:00:00:00:01\"\npriorities = {list}"));
    assert!(Scenario::parse(&pause("[0, 7]")).is_ok());
    let said = error(&pause("[3, 8]"));
    assert_eq!(said, "line 6, column 18: priority is 8, not 0 to 7");
}
