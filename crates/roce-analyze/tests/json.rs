//! The keys of the interface, as documented.

mod common;

use common::rxe;
use roce_analyze::connections::json::Document;
use roce_analyze::findings::{Policy, evaluate};
use serde_json::Value;

const CONNECTION: [&str; 11] = [
    "id",
    "version",
    "service",
    "a",
    "b",
    "learned_from",
    "confidence",
    "first_ns",
    "last_ns",
    "outcome",
    "a_to_b",
];

const DIRECTION: [&str; 21] = [
    "packets",
    "bytes",
    "payload_bytes",
    "goodput_bytes",
    "messages",
    "message_bytes",
    "retransmitted_packets",
    "duplicate_requests",
    "duplicate_packets",
    "out_of_order_packets",
    "missing_psns",
    "retransmissions",
    "naks",
    "rnr_naks",
    "acks",
    "cnps",
    "ecn_ce",
    "icrc_bad",
    "ack_latency_ns",
    "completion_ns",
    "udp_src_ports",
];

#[test]
fn a_connection_has_the_documented_keys() {
    let document = serde_json::to_value(Document(&rxe("rping_v4"))).unwrap();
    assert_eq!(document["schema"], "roce-sniff/connections/1");
    let connection = &document["connections"][0];
    for key in CONNECTION {
        assert!(connection.get(key).is_some(), "{key}");
    }
    for key in DIRECTION {
        assert!(connection["a_to_b"].get(key).is_some(), "{key}");
    }
    assert_eq!(connection["version"], "v2_ipv4");
    assert_eq!(connection["service"], "RC");
    assert_eq!(connection["learned_from"], "cm");
    assert_eq!(connection["confidence"], 1.0);
    assert_eq!(connection["a"]["addr"], "10.77.0.1");
    assert_eq!(connection["outcome"], "closed");
    assert_eq!(connection["cm"]["port"], 7174);
    assert_eq!(connection["b_to_a"]["messages"]["read"], 5);
    for key in ["nak_driven", "timeout_driven"] {
        assert_eq!(connection["a_to_b"]["retransmissions"][key], 0, "{key}");
    }
    for key in ["p50", "p90", "p99", "max"] {
        assert!(connection["a_to_b"]["completion_ns"][key].is_u64(), "{key}");
    }
}

#[test]
fn what_is_unknown_is_absent() {
    let document = serde_json::to_value(Document(&rxe("err_no_answer"))).unwrap();
    let connection = &document["connections"][0];
    for key in ["learned_from", "confidence", "cm", "vlan"] {
        assert!(connection.get(key).is_none(), "{key}");
    }
    assert!(connection["a"].get("qpn").is_none());
    assert!(connection["b_to_a"].get("ack_latency_ns").is_none());
    fn no_null(value: &Value) -> bool {
        match value {
            Value::Null => false,
            Value::Array(list) => list.iter().all(no_null),
            Value::Object(map) => map.values().all(no_null),
            _ => true,
        }
    }
    assert!(no_null(&document));
}

#[test]
fn a_finding_has_the_documented_keys() {
    let findings = evaluate(&rxe("loss_b"), &Policy::default());
    let findings = serde_json::to_value(findings).unwrap();
    for key in ["id", "severity", "title", "subject", "count", "frames", "evidence", "advice"] {
        assert!(findings[0].get(key).is_some(), "{key}");
    }
    assert_eq!(findings[0]["severity"], "warning");
    assert!(findings[0]["evidence"].is_object());
}
