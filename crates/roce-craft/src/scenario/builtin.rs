//! The scenarios that come with this crate.

/// A scenario by name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Builtin {
    /// Lower case with hyphens.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// All of them, in the order of their names.
pub const BUILTIN: &[Builtin] = &[
    Builtin {
        name: "capture-from-the-middle",
        text: include_str!("../../scenarios/capture-from-the-middle.toml"),
    },
    Builtin { name: "capture-loss", text: include_str!("../../scenarios/capture-loss.toml") },
    Builtin {
        name: "ce-at-the-source",
        text: include_str!("../../scenarios/ce-at-the-source.toml"),
    },
    Builtin { name: "ce-without-cnp", text: include_str!("../../scenarios/ce-without-cnp.toml") },
    Builtin {
        name: "cm-alternate-path",
        text: include_str!("../../scenarios/cm-alternate-path.toml"),
    },
    Builtin { name: "cm-connect", text: include_str!("../../scenarios/cm-connect.toml") },
    Builtin { name: "cm-datagram", text: include_str!("../../scenarios/cm-datagram.toml") },
    Builtin { name: "cm-no-drep", text: include_str!("../../scenarios/cm-no-drep.toml") },
    Builtin { name: "cm-reject", text: include_str!("../../scenarios/cm-reject.toml") },
    Builtin {
        name: "cm-reject-consumer",
        text: include_str!("../../scenarios/cm-reject-consumer.toml"),
    },
    Builtin { name: "cm-slow-server", text: include_str!("../../scenarios/cm-slow-server.toml") },
    Builtin { name: "cm-unanswered", text: include_str!("../../scenarios/cm-unanswered.toml") },
    Builtin { name: "cnp-without-ce", text: include_str!("../../scenarios/cnp-without-ce.toml") },
    Builtin { name: "congestion-cnp", text: include_str!("../../scenarios/congestion-cnp.toml") },
    Builtin {
        name: "duplicate-network",
        text: include_str!("../../scenarios/duplicate-network.toml"),
    },
    Builtin { name: "every-opcode", text: include_str!("../../scenarios/every-opcode.toml") },
    Builtin { name: "healthy-v1", text: include_str!("../../scenarios/healthy-v1.toml") },
    Builtin { name: "healthy-v2", text: include_str!("../../scenarios/healthy-v2.toml") },
    Builtin { name: "icrc-corruption", text: include_str!("../../scenarios/icrc-corruption.toml") },
    Builtin { name: "icrc-home-made", text: include_str!("../../scenarios/icrc-home-made.toml") },
    Builtin {
        name: "loss-after-capture",
        text: include_str!("../../scenarios/loss-after-capture.toml"),
    },
    Builtin {
        name: "loss-before-capture",
        text: include_str!("../../scenarios/loss-before-capture.toml"),
    },
    Builtin { name: "loss-of-acks", text: include_str!("../../scenarios/loss-of-acks.toml") },
    Builtin { name: "loss-of-reads", text: include_str!("../../scenarios/loss-of-reads.toml") },
    Builtin { name: "loss-selective", text: include_str!("../../scenarios/loss-selective.toml") },
    Builtin { name: "low-entropy", text: include_str!("../../scenarios/low-entropy.toml") },
    Builtin { name: "malformed", text: include_str!("../../scenarios/malformed.toml") },
    Builtin {
        name: "many-connections",
        text: include_str!("../../scenarios/many-connections.toml"),
    },
    Builtin {
        name: "mirror-both-ways",
        text: include_str!("../../scenarios/mirror-both-ways.toml"),
    },
    Builtin { name: "mixed-versions", text: include_str!("../../scenarios/mixed-versions.toml") },
    Builtin { name: "nak-access", text: include_str!("../../scenarios/nak-access.toml") },
    Builtin { name: "one-way", text: include_str!("../../scenarios/one-way.toml") },
    Builtin { name: "pause-classic", text: include_str!("../../scenarios/pause-classic.toml") },
    Builtin { name: "pfc-storm", text: include_str!("../../scenarios/pfc-storm.toml") },
    Builtin { name: "psn-wrap", text: include_str!("../../scenarios/psn-wrap.toml") },
    Builtin { name: "qos-unmarked", text: include_str!("../../scenarios/qos-unmarked.toml") },
    Builtin { name: "random-loss", text: include_str!("../../scenarios/random-loss.toml") },
    Builtin { name: "reorder", text: include_str!("../../scenarios/reorder.toml") },
    Builtin { name: "reorder-sprayed", text: include_str!("../../scenarios/reorder-sprayed.toml") },
    Builtin { name: "retry-exceeded", text: include_str!("../../scenarios/retry-exceeded.toml") },
    Builtin { name: "rnr", text: include_str!("../../scenarios/rnr.toml") },
    Builtin { name: "rnr-exceeded", text: include_str!("../../scenarios/rnr-exceeded.toml") },
    Builtin { name: "same-qpn", text: include_str!("../../scenarios/same-qpn.toml") },
    Builtin { name: "small-messages", text: include_str!("../../scenarios/small-messages.toml") },
    Builtin { name: "snaplen", text: include_str!("../../scenarios/snaplen.toml") },
    Builtin { name: "storage", text: include_str!("../../scenarios/storage.toml") },
    Builtin { name: "tail-loss", text: include_str!("../../scenarios/tail-loss.toml") },
    Builtin {
        name: "version-mismatch",
        text: include_str!("../../scenarios/version-mismatch.toml"),
    },
    Builtin { name: "vxlan", text: include_str!("../../scenarios/vxlan.toml") },
];

/// The one of that name.
#[must_use]
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|scenario| scenario.name == name)
}
