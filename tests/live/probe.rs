//! Asking a host that has no RoCE: what its kernel says, what silence is, and that it ends.

use std::time::Instant;

use roce_sniff_tests::command::program;
use serde_json::Value;

use crate::rig::Rig;

/// Both ends with addresses, and neighbours known so that nothing waits for them.
fn rig() -> Option<Rig> {
    let rig = Rig::new()?;
    rig.veth.ip_near("addr add 10.9.0.2/24 dev near");
    rig.veth.ip_far("addr add 10.9.0.1/24 dev far");
    Some(rig)
}

fn probe(rig: &Rig, line: &str) -> (i32, String, String) {
    let words: Vec<&str> =
        std::iter::once(program().to_str().unwrap()).chain(line.split(' ')).collect();
    let output = rig.veth.at_far(&words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_kernel_without_roce_answers_with_icmp() {
    let Some(rig) = rig() else { return };
    let (code, out, err) = probe(&rig, "probe 10.9.0.2 --format json");
    assert_eq!(code, 1, "{out}{err}");
    let got: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(got["schema"], "roce-sniff/probe/1");
    assert_eq!((&got["interface"], &got["source"]), (&"far".into(), &"10.9.0.1".into()));
    let asked = &got["asked"][0];
    assert_eq!(
        (&asked["version"], &asked["answer"]),
        (&"v2_ipv4".into(), &"icmp_unreachable".into())
    );
    assert_eq!(asked["requests"], 1);
    assert!(asked["udp_src_port"].as_u64().unwrap() >= 0xc000);
    assert_eq!(got["speaks"].as_array().unwrap().len(), 0);
    assert_eq!(probe(&rig, "probe 10.9.0.2 --expect none -q"), (0, String::new(), String::new()));
    assert_eq!(probe(&rig, "ping 10.9.0.2 -c 1 -q").0, 1);
}

#[test]
fn silence_ends_when_the_tries_are_used_up() {
    let Some(rig) = rig() else { return };
    let since = Instant::now();
    let line = "probe 10.9.0.2 --mac 02:00:00:00:00:99 --v1 --tries 3 --timeout 100ms";
    let (code, out, _) = probe(&rig, line);
    assert_eq!(code, 1);
    assert_eq!(out.matches("silence, 3 requests").count(), 2, "{out}");
    assert!(since.elapsed().as_secs() < 10);
}

#[test]
fn nobody_there() {
    let Some(rig) = rig() else { return };
    let (code, out, _) = probe(&rig, "probe 10.9.0.77");
    assert_eq!(code, 1);
    assert!(
        out.starts_with("10.9.0.77 was not asked: nobody answers for 10.9.0.77 on far."),
        "{out}"
    );
}

#[test]
fn what_cannot_be_asked_is_an_error_of_one_line() {
    let Some(rig) = rig() else { return };
    for (line, why) in [
        ("probe 10.9.0.1", "an address of this host"),
        ("probe 192.0.2.1", "no route to 192.0.2.1"),
        ("probe 10.9.0.2 -i eth77", "no such interface"),
        ("probe fe80::1", "link-local"),
        ("ping 10.9.0.77", "nobody answers for 10.9.0.77"),
    ] {
        let (code, out, err) = probe(&rig, line);
        assert_eq!((code, out.as_str()), (2, ""), "{line}");
        assert!(err.contains(why) && err.lines().count() == 1, "{line}: {err}");
    }
    rig.veth.ip_near("addr add 10.8.0.1/24 dev near");
    rig.veth.ip_far("route add 10.8.0.0/24 via 10.9.0.2");
    let (code, _, err) = probe(&rig, "probe 10.8.0.2 --v1");
    assert_eq!(code, 2);
    assert!(err.contains("behind the router 10.9.0.2"), "{err}");
}
