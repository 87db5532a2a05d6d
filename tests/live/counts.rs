//! Every frame that was sent is counted, as what it is.

use std::collections::BTreeMap;

use roce_sniff_tests::command::fixtures;
use rustix::process::Signal;
use serde_json::Value;

use crate::rig::Rig;

/// What `expected.json` says of a fixture, under these keys, added up over several.
fn expected(names: &[&str], group: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for name in names {
        let (folder, file) = name.split_once('/').unwrap();
        let text = std::fs::read_to_string(fixtures().join(folder).join("expected.json")).unwrap();
        let truth: Value = serde_json::from_str(&text).unwrap();
        for (key, count) in truth[file][group].as_object().into_iter().flatten() {
            *sums.entry(key.clone()).or_default() += count.as_u64().unwrap();
        }
    }
    sums
}

fn seen(counts: &Value) -> BTreeMap<String, u64> {
    let all = counts.as_object().unwrap().iter();
    let counts = all.map(|(key, count)| {
        let count = count.get("packets").unwrap_or(count);
        (key.clone(), count.as_u64().unwrap())
    });
    counts.filter(|(_, count)| *count > 0).collect()
}

/// v1, v2 over IPv4 and IPv6, tagged or not, PFC and PAUSE, and what is none of them.
const ALL_KINDS: &[&str] = &[
    "made/all_opcodes_v1.pcap",
    "made/all_opcodes_v2_ipv4.pcap",
    "made/all_opcodes_v2_ipv6.pcap",
    "made/cm_v2_ipv4.pcap",
    "made/cnp.pcap",
    "made/marks.pcap",
    "made/vlan.pcap",
    "made/qinq.pcap",
    "made/pfc_pause.pcap",
    "made/source_ports.pcap",
    "made/unknown_opcodes.pcap",
    "made/trailers.pcap",
];

#[test]
fn every_frame_counts_until_a_signal_ends_it() {
    let Some(rig) = Rig::new() else { return };
    for signal in [Signal::INT, Signal::TERM] {
        let running = rig.listen("far --format json");
        rig.send(ALL_KINDS);
        running.signal(signal);
        let got = running.end().json();
        let groups =
            ["versions", "opcodes", "icrc", "congestion", "ecn", "dscp", "vlans", "pcp", "cm"];
        for group in groups {
            assert_eq!(seen(&got[group]), expected(ALL_KINDS, group), "{group}");
        }
        assert_eq!(seen(&got["rejected"]["reasons"]), expected(ALL_KINDS, "rejected"));
        assert_eq!(got["verdict"], "mixed");
        assert_eq!(got["source"]["kind"], "live");
        assert_eq!(got["source"]["name"], "far");
        assert_eq!(got["source"]["dropped"], 0);
    }
}

/// The Linux kernel's own traffic, and other protocols beside it, which the filter leaves out.
#[test]
fn kernel_traffic_is_picked_out() {
    let Some(rig) = Rig::new() else { return };
    let names = ["rxe/mixed.pcap", "rxe/rping_v6.pcap", "rxe/vlan_rc_v6.pcap"];
    let running = rig.listen("far --format json");
    rig.send(&names);
    running.signal(Signal::INT);
    let got = running.end().json();
    assert_eq!(seen(&got["opcodes"]), expected(&names, "opcodes"));
    assert_eq!(got["versions"]["v2_ipv4"]["packets"], 68);
    assert_eq!(got["versions"]["v2_ipv6"]["packets"], 85 + 80);
    assert_eq!(got["vlans"]["100"], 80);
    assert_eq!(got["icrc"]["bad"], 0);
    // 163, 85 and 84 frames passed the interface.
    assert_eq!(got["source"]["interface_frames"], 163 + 85 + 84);
}

#[test]
fn tunnels_are_looked_into_on_request() {
    let Some(rig) = Rig::new() else { return };
    let names = [
        "made/vxlan.pcap",
        "made/geneve.pcap",
        "made/gre.pcap",
        "made/erspan.pcap",
        "made/mpls.pcap",
        "made/ipip.pcap",
    ];
    let without = rig.listen("far --format json");
    let with = rig.listen("far --tunnels --format json");
    rig.send(&names);
    with.signal(Signal::INT);
    without.signal(Signal::INT);
    let got = with.end().json();
    assert_eq!(seen(&got["tunnels"]), expected(&names, "tunnels"));
    assert_eq!(seen(&got["versions"]), expected(&names, "versions"));
    let got = without.end().json();
    assert_eq!(got["verdict"], "none", "{got}");
}

/// All interfaces at once: Linux cooked frames, each once.
#[test]
fn any_is_an_interface() {
    let Some(rig) = Rig::new() else { return };
    let running = rig.listen("any --format json");
    rig.send(&["rxe/rping_v4.pcap", "made/v1_plain.pcap", "rxe/rping_v6.pcap"]);
    running.signal(Signal::INT);
    let got = running.end().json();
    let counts = [("v1", 3), ("v2_ipv4", 65), ("v2_ipv6", 85)];
    assert_eq!(seen(&got["versions"]), counts.map(|(key, n)| (key.to_owned(), n)).into());
}

/// What the kernel had to drop is said: kept and dropped together are what was sent.
#[test]
fn drops_are_counted() {
    let Some(rig) = Rig::new() else { return };
    let running = rig.listen("far --buffer-size 1 --format json");
    running.signal(Signal::STOP);
    let file = fixtures().join("rxe/verbs_rc_v4.pcap");
    rig.send_file(&file, &["--preload-pcap", "--loop=200", "--pps=20000"]);
    running.signal(Signal::CONT);
    std::thread::sleep(std::time::Duration::from_secs(1));
    running.signal(Signal::INT);
    let got = running.end().json();
    let [frames, dropped] = ["frames", "dropped"].map(|key| got["source"][key].as_u64().unwrap());
    assert!(dropped > 0 && frames > 0, "{frames} kept, {dropped} dropped");
    assert_eq!(frames + dropped, 200 * 130);
}
