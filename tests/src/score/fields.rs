//! One connection, field by field.

use serde_json::Value;

/// What is the scenario's own: its name for the connection, that the truth is sure, and losses
/// whether or not the capture tells them.
const NOT_COMPARED: [&str; 3] = ["name", "confidence", "lost"];

/// What the truth leaves out when the capture does not tell it: then it must not be told.
const OPTIONAL: [&str; 15] = [
    "a.qpn",
    "b.qpn",
    "a.start_psn",
    "b.start_psn",
    "learned_from",
    "pmtu",
    "cm",
    "cm.port",
    "cm.reason",
    "a_to_b.loss",
    "b_to_a.loss",
    "a_to_b.ack_latency_ns",
    "b_to_a.ack_latency_ns",
    "a_to_b.completion_ns",
    "b_to_a.completion_ns",
];

/// Told of every field: its keys, what the truth says, what the analysis says, whether that is
/// the same.
pub(super) type Tell<'t> = dyn FnMut(&str, Option<&Value>, Option<&Value>, bool) + 't;

/// Compares a connection with the one of the truth.
pub(super) fn compare(truth: &Value, analysis: &Value, tell: &mut Tell<'_>) {
    walk("", truth, analysis, tell);
    for field in OPTIONAL {
        let pointer = format!("/{}", field.replace('.', "/"));
        if truth.pointer(&pointer).is_none() {
            let told = analysis.pointer(&pointer);
            tell(field, None, told, told.is_none());
        }
    }
}

fn walk(prefix: &str, truth: &Value, analysis: &Value, tell: &mut Tell<'_>) {
    for (key, truth) in truth.as_object().into_iter().flatten() {
        if NOT_COMPARED.contains(&key.as_str()) {
            continue;
        }
        let field = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        let found = analysis.get(key);
        match (truth, found) {
            _ if field == "cm.messages" => messages(truth, analysis, tell),
            (Value::Object(_), Some(found)) => walk(&field, truth, found, tell),
            _ => tell(&field, Some(truth), found, is_same(key, truth, found)),
        }
    }
}

/// Percentiles come from a histogram, which is right within one percent.
fn is_same(key: &str, truth: &Value, analysis: Option<&Value>) -> bool {
    if !matches!(key, "p50" | "p90" | "p99") {
        return analysis == Some(truth);
    }
    let (Some(truth), Some(analysis)) = (truth.as_u64(), analysis.and_then(Value::as_u64)) else {
        return false;
    };
    truth.abs_diff(analysis) <= truth / 100
}

/// The analysis counts the messages of connection management and lists their frames.
fn messages(truth: &Value, cm: &Value, tell: &mut Tell<'_>) {
    let all = truth.as_array().map_or(&[][..], Vec::as_slice);
    let frames: Vec<Value> = all.iter().take(16).map(|message| message["frame"].clone()).collect();
    let frames = Value::from(frames);
    tell("cm.messages.frames", Some(&frames), cm.get("frames"), Some(&frames) == cm.get("frames"));
    // Requests for a datagram service are requests.
    let is = |message: &Value, name: &str| {
        message["message"].as_str().is_some_and(|m| m.strip_prefix("SIDR_").unwrap_or(m) == name)
    };
    for name in ["REQ", "MRA", "REP", "RTU", "DREQ", "DREP"] {
        let key = format!("{}s", name.to_lowercase());
        let count = all.iter().filter(|message| is(message, name)).count();
        let found = cm.get(&key);
        tell(&format!("cm.{key}"), Some(&count.into()), found, found == Some(&count.into()));
    }
}
