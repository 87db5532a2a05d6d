//! What is worth saying beside the counts: disagreements, causes, and why nothing was seen.

use roce_wire::{Addr, Carrier};

use super::{FAULT_SAMPLE, Pair, TrafficKind, Verdict};

/// A remark with a stable name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Which remark.
    pub id: NoteId,
    /// One or two sentences for a person.
    pub text: String,
}

macro_rules! note_ids {
    ($($(#[$doc:meta])* $name:ident = $key:literal,)*) => {
        /// The names of remarks.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum NoteId {
            $($(#[$doc])* $name,)*
        }

        impl NoteId {
            /// The name used in machine-readable output.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$name => $key,)*
                }
            }
        }
    };
}

note_ids! {
    /// Two hosts are not of one mind about the version or the IP family.
    Disagreement = "versions-disagree",
    /// One host asks and nothing comes back.
    OneWay = "one-way",
    /// Connections are asked for and nobody answers.
    Unanswered = "req-unanswered",
    /// RoCE v2 between link-local addresses, which no router forwards.
    LinkLocal = "link-local",
    /// Why ICRCs are wrong.
    IcrcFault = "icrc-fault",
    /// Not one ICRC is right.
    NoGoodIcrc = "icrc-never-right",
    /// Lengths contradict each other.
    OddLengths = "odd-lengths",
    /// Frames were cut by the capture.
    Truncated = "truncated",
    /// Nearly everything is marked as having met congestion.
    AllCe = "all-ce",
    /// There were more pairs than are told apart.
    MorePairs = "more-pairs",
    /// The capture is of a link type in which RoCE is not looked for.
    LinkType = "link-type",
    /// RDMA of this NIC may not pass through the kernel.
    KernelBypass = "kernel-bypass",
    /// Soft-RoCE that talks to itself never reaches an interface.
    SoftRoceLoopback = "soft-roce-loopback",
    /// A mirror or a switch CPU may not see RDMA.
    Mirror = "switch-mirror",
    /// What is there is ordinary TCP.
    PlainTcp = "plain-tcp",
    /// perftest exchanged its queue pairs here; its RDMA did not follow.
    Perftest = "perftest-handshake",
}

pub(super) fn notes(verdict: &Verdict) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut say = |id, text: String| notes.push(Note { id, text });
    if verdict.roce_packets() == 0 && verdict.carrier(Carrier::InfiniBand).packets == 0 {
        nothing(verdict, &mut say);
    }
    connecting(verdict, &mut say);
    pairs(verdict, &mut say);
    icrc(verdict, &mut say);
    marks(verdict, &mut say);
    notes
}

/// Why a capture may show no RoCE although there is some.
fn nothing(verdict: &Verdict, say: &mut impl FnMut(NoteId, String)) {
    let traffic = &verdict.traffic;
    if traffic.count(TrafficKind::IpOverInfiniBand) > 0 {
        say(
            NoteId::LinkType,
            "The capture holds IP over InfiniBand: the RDMA packets under it \
             are not in it."
                .to_owned(),
        );
        return;
    }
    if traffic.count(TrafficKind::OtherLink) > 0 {
        say(NoteId::LinkType, "RoCE is not looked for in this link type.".to_owned());
        return;
    }
    if traffic.perftest() > 0 {
        say(
            NoteId::Perftest,
            "perftest exchanged its queue pairs over TCP port 18515 here, so \
             RDMA did run, out of sight of this capture."
                .to_owned(),
        );
    }
    say(
        NoteId::KernelBypass,
        "RDMA of most NICs bypasses the kernel: capture on the RDMA device \
         instead of the interface, such as `roce-sniff -i mlx5_0` (`rdma link` lists them)."
            .to_owned(),
    );
    say(
        NoteId::SoftRoceLoopback,
        "Soft-RoCE that talks to an address of its own host never \
         reaches an interface."
            .to_owned(),
    );
    say(
        NoteId::Mirror,
        "A switch's own CPU sees no forwarded RDMA: use a mirror port or ERSPAN, \
         and see that it mirrors RDMA (live, --tunnels looks into encapsulated ones)."
            .to_owned(),
    );
    if traffic.count(TrafficKind::Tcp) > 0 {
        say(NoteId::PlainTcp, "The application may be speaking plain TCP.".to_owned());
    }
}

/// The sign of a v2 client and a server that has v1 alone: REQs, and nothing that answers them.
fn connecting(verdict: &Verdict, say: &mut impl FnMut(NoteId, String)) {
    let [req, mra, rej, rep, ..] = verdict.cm;
    if req > 0 && mra == 0 && rej == 0 && rep == 0 {
        say(
            NoteId::Unanswered,
            format!(
                "Connection requests (REQ {req}) and no answer: the server is not reached, does not listen to RDMA_CM, or does \
                 not speak this version (a v2 client does not connect to a server that has v1 \
                 alone); or the capture sees one direction only."
            ),
        );
    }
}

fn pairs(verdict: &Verdict, say: &mut impl FnMut(NoteId, String)) {
    let pairs = &verdict.pairs;
    let mut disagreeing = pairs.iter().filter(|pair| pair.disagrees());
    if let Some(pair) = disagreeing.next() {
        let others = match disagreeing.count() {
            0 => String::new(),
            1 => " So does 1 other pair.".to_owned(),
            n => format!(" So do {n} other pairs."),
        };
        say(NoteId::Disagreement, format!("{}.{others}", disagreement(pair)));
    }
    // Where pairs did not fit, the answers may be among what is not listed.
    let is_complete = pairs.unlisted() == 0;
    let mut silent = pairs.iter().filter(|_| is_complete).filter_map(unanswered);
    if let Some((from, to, requests)) = silent.next() {
        let others = match silent.count() {
            0 => String::new(),
            1 => " The same holds for 1 other direction.".to_owned(),
            n => format!(" The same holds for {n} other directions."),
        };
        let requests = many(requests, "request");
        say(
            NoteId::OneWay,
            format!(
                "{from} sent {requests} to {to} and not one packet came back: the other end \
             does not answer, or the capture sees one direction only.{others}"
            ),
        );
    }
    if verdict.pairs.unlisted() > 0 {
        say(
            NoteId::MorePairs,
            format!(
                "There are more than {} pairs of hosts; {} packets of the others are counted but not \
             listed.",
                pairs.len(),
                verdict.pairs.unlisted()
            ),
        );
    }
}

fn disagreement(pair: &Pair) -> String {
    let name = |packets: [u64; 4]| {
        let names = ["v1", "v2/IPv4", "v2/IPv6", "InfiniBand"];
        let there = names.into_iter().zip(packets).filter(|(_, count)| *count > 0);
        there.map(|(name, _)| name).collect::<Vec<_>>().join(" and ")
    };
    format!(
        "{} sends {} to {}, which sends {} back",
        pair.a,
        name(pair.a_to_b.packets),
        pair.b,
        name(pair.b_to_a.packets)
    )
}

/// The direction of a pair that asks and is not answered, if there is one.
fn unanswered(pair: &Pair) -> Option<(Addr, Addr, u64)> {
    if pair.a == pair.b {
        return None;
    }
    match (pair.a_to_b.requests, pair.b_to_a.requests) {
        (n, _) if n > 0 && pair.b_to_a.total() == 0 => Some((pair.a, pair.b, n)),
        (_, n) if n > 0 && pair.a_to_b.total() == 0 => Some((pair.b, pair.a, n)),
        _ => None,
    }
}

fn icrc(verdict: &Verdict, say: &mut impl FnMut(NoteId, String)) {
    let faults = verdict.icrc_faults.iter();
    let faults: Vec<String> = faults.map(|(fault, count)| format!("{count} {fault}")).collect();
    if !faults.is_empty() {
        let sample: u64 = verdict.icrc_faults.values().fold(0, |sum, n| sum.saturating_add(*n));
        let of = if sample < verdict.icrc_bad {
            format!("Of the wrong ICRCs among the first {FAULT_SAMPLE} frames")
        } else {
            "Of the wrong ICRCs".to_owned()
        };
        say(NoteId::IcrcFault, format!("{of}: {}.", faults.join(", ")));
    }
    if verdict.icrc_bad > 0 && verdict.icrc_ok == 0 {
        say(
            NoteId::NoGoodIcrc,
            "Not one ICRC is right: the sender does not make it, the capture \
             was taken before it is filled in, or this is not RoCE."
                .to_owned(),
        );
    }
}

fn marks(verdict: &Verdict, say: &mut impl FnMut(NoteId, String)) {
    let [not_ect, ect1, ect0, ce] = verdict.ecn;
    let others = not_ect.saturating_add(ect0).saturating_add(ect1);
    if ce >= 20 && ce / 20 > others {
        say(
            NoteId::AllCe,
            format!(
                "{ce} of {} packets carry CE: the sender may set both ECN bits itself.",
                ce.saturating_add(others)
            ),
        );
    }
    if verdict.link_local > 0 {
        say(
            NoteId::LinkLocal,
            match verdict.link_local {
                1 => "1 RoCE v2 packet comes from a link-local address, which no router forwards."
                    .to_owned(),
                n => format!(
                    "{n} RoCE v2 packets come from link-local addresses, which no router forwards."
                ),
            },
        );
    }
    if verdict.odd_lengths > 0 {
        say(
            NoteId::OddLengths,
            match verdict.odd_lengths {
                1 => "1 packet has lengths or headers that contradict each other; it is shown as \
                      far as it is sound."
                    .to_owned(),
                n => format!(
                    "{n} packets have lengths or headers that contradict each other; they are \
                     shown as far as they are sound."
                ),
            },
        );
    }
    if verdict.truncated > 0 {
        say(
            NoteId::Truncated,
            match verdict.truncated {
                1 => "1 frame was cut by the capture: its ICRC cannot be checked.".to_owned(),
                n => {
                    format!("{n} frames were cut by the capture: their ICRC cannot be checked.")
                }
            },
        );
    }
}

/// `1 request`, `2 requests`.
fn many(count: u64, one: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {one}{s}")
}
