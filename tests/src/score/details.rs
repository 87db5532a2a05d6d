//! What happened to single frames, held to the frames that prove something.

use serde_json::Value;

/// What the truth says of a frame, and the analysis with the same frame as a proof. Left out is
/// what one frame shows of another, such as a NAK of a loss, and what the truth knows of every
/// packet and the analysis of the first: why it was sent again.
const SAME: [(&str, &[&str]); 10] = [
    ("nak_sequence", &["nak_sequence"]),
    ("nak_invalid_request", &["nak_invalid_request"]),
    ("nak_remote_access", &["nak_remote_access"]),
    ("nak_remote_operational", &["nak_remote_operational"]),
    ("rnr_nak", &["rnr_nak"]),
    ("cnp", &["cnp"]),
    ("ce", &["marked_ce"]),
    ("bad_icrc", &["bad_icrc"]),
    ("out_of_order", &["out_of_order"]),
    ("duplicate_frame", &["duplicate_in_capture", "duplicate_in_network"]),
];

/// What senders do to packets themselves, so that the truth does not tell it of single ones.
const HABITS: [&str; 2] = ["ce", "bad_icrc"];

/// So many frames are kept of each kind.
const KEPT: usize = 10;

/// Tells of each kind of event that either says of a direction: its field, the frames by the truth
/// and those by the analysis.
pub(super) fn compare(
    details: &[Value],
    truth: &Value,
    found: &Value,
    tell: &mut dyn FnMut(&str, Value, Value),
) {
    for direction in ["a_to_b", "b_to_a"] {
        let proofs = found[direction]["proofs"].as_array().map_or(&[][..], Vec::as_slice);
        let own = |detail: &&Value| {
            detail["connection"] == truth["id"] && detail["direction"] == direction
        };
        let details: Vec<&Value> = details.iter().filter(own).collect();
        for (event, names) in SAME {
            let is_it = |detail: &&&Value| names.iter().any(|name| detail["event"] == *name);
            let told = frames(details.iter().filter(is_it).copied());
            let shown = frames(proofs.iter().filter(|proof| proof["event"] == event));
            let is_nothing = told.is_empty() && (shown.is_empty() || HABITS.contains(&event));
            if !is_nothing {
                tell(&format!("{direction}.proofs.{event}"), told.into(), shown.into());
            }
        }
    }
}

/// The first frames, in order.
fn frames<'v>(list: impl Iterator<Item = &'v Value>) -> Vec<u64> {
    let mut frames: Vec<u64> = list.filter_map(|value| value["frame"].as_u64()).collect();
    frames.sort_unstable();
    frames.dedup();
    frames.truncate(KEPT);
    frames
}
