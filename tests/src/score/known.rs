//! Where the analysis may differ from the truth, and why.

use super::Off;

/// Fields of one connection that are off for a reason.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The scenario.
    pub scenario: &'static str,
    /// The connection's number in the truth; 0 for the whole capture.
    pub connection: u64,
    /// Its fields.
    pub fields: &'static [&'static str],
    /// Why no observer can know it, or what the analysis does wrong.
    pub why: &'static str,
}

impl Known {
    /// Whether it speaks of this difference.
    #[must_use]
    pub fn covers(&self, scenario: &str, off: &Off) -> bool {
        self.scenario == scenario
            && self.connection == off.connection
            && self.fields.contains(&off.field.as_str())
    }
}

/// All of them.
pub const KNOWN: &[Known] = &[
    Known {
        scenario: "capture-from-the-middle",
        connection: 1,
        fields: &["cm.port"],
        why: "only the REQ names the port, and the capture began after it",
    },
    Known {
        scenario: "icrc-home-made",
        connection: 3,
        fields: &["a_to_b.message_bytes"],
        why: "without an ICRC the last four bytes of a packet are taken for it, and not for payload",
    },
    Known {
        scenario: "many-connections",
        connection: 200,
        fields: &["a_to_b.loss.after_capture"],
        why: "of two packets lost in a row behind the capture point the NAK tells the first only",
    },
    Known {
        scenario: "one-way",
        connection: 1,
        fields: &["b_to_a.loss.before_capture"],
        why: "no frame of this direction was captured: whether anything was sent cannot be seen",
    },
    Known {
        scenario: "small-messages",
        connection: 1,
        fields: &["a_to_b.ack_latency_ns", "a_to_b.completion_ns"],
        why: "the truth keeps 4096 durations of a connection and says nothing when there are more",
    },
    Known {
        scenario: "random-loss",
        connection: 1,
        fields: &["a_to_b.loss.after_capture"],
        why: "six of nine were lost behind another loss of their round, and nothing shows; fault of \
              the analysis: it does not count the READ 6177780, for which a NAK asks after it was \
              made again",
    },
    Known {
        scenario: "random-loss",
        connection: 1,
        fields: &[
            "a_to_b.loss.before_capture",
            "b_to_a.loss.after_capture",
            "b_to_a.loss.before_capture",
        ],
        why: "of what was lost behind the first loss of a round nothing shows: all of it is sent again",
    },
];
