//! All rules: their stable names, how bad what they find is, and what to do.

use super::Severity::{self, Error, Info, Warning};

/// A rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The stable name.
    pub id: &'static str,
    /// How bad what it finds is.
    pub severity: Severity,
    /// What it finds, in one line.
    pub title: &'static str,
    /// When it speaks.
    pub when: &'static str,
    /// What that means, in one sentence.
    pub meaning: &'static str,
    /// What to do, with the command that does it.
    pub advice: &'static str,
}

impl Rule {
    /// Why no frame proves what it finds; `None` for the others, which name frames.
    #[must_use]
    pub fn why_no_frames(&self) -> Option<&'static str> {
        match self.id {
            "capture-drops" => Some("frames that were dropped have no number"),
            "capture-damaged" => Some("where the file is damaged there is no frame"),
            _ => None,
        }
    }
}

/// The rule of that name.
pub(super) fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// All rules, by name.
pub const RULES: &[Rule] = &[
    Rule {
        id: "ack-timeout",
        severity: Warning,
        title: "requests were sent again after a timeout",
        when: "a request is sent again that no NAK and no gap in responses asked for",
        meaning: "The requester heard nothing for its whole ACK timeout, which stops the connection for that long.",
        advice: "Look for loss on the path of the requests and of their answers: ethtool -S DEV | grep -E 'discard|drop|pause' on hosts and switch ports.",
    },
    Rule {
        id: "bad-icrc",
        severity: Error,
        title: "packets have a wrong ICRC",
        when: "the ICRC of a whole packet is not the one its bytes give",
        meaning: "Receivers drop these packets silently: something changed them on the way, or their sender computes the ICRC wrongly.",
        advice: "Look at `faults`: with a known mistake mend the sender; with `rewritten` take NAT or the load balancer off this path; else look for damaged links: ethtool -S DEV | grep -iE 'crc|symbol|fec'.",
    },
    Rule {
        id: "capture-damaged",
        severity: Warning,
        title: "the capture file is damaged",
        when: "the reader had to stop or skip",
        meaning: "What is behind the damage is not part of this analysis.",
        advice: "Take the capture again, or mend the file: editcap IN OUT.",
    },
    Rule {
        id: "capture-disorder",
        severity: Warning,
        title: "frames do not stand in the order of time",
        when: "a frame stands more than 10 ms behind a later one",
        meaning: "The clock was set meanwhile, or files are not in the order of time: what is told of loss, timeouts and durations is doubtful.",
        advice: "Put the frames in order and look again: reordercap IN OUT; name files in the order of time.",
    },
    Rule {
        id: "capture-drops",
        severity: Warning,
        title: "frames were dropped before they could be captured",
        when: "the source of the capture counts drops",
        meaning: "Counts are too low, and packets that are missing here may have arrived.",
        advice: "Capture with a filter, a larger buffer, or fewer bytes a frame: roce-sniff IFACE -f 'udp port 4791'.",
    },
    Rule {
        id: "capture-loss",
        severity: Warning,
        title: "the capture misses packets that arrived",
        when: "a receiver acknowledges packets that were never captured",
        meaning: "The network delivered them; only the capture has lost them.",
        advice: "Do not take these gaps for loss; capture with a filter or on a faster machine, or mirror less to the port.",
    },
    Rule {
        id: "capture-truncated",
        severity: Info,
        title: "frames were cut by the capture",
        when: "the capture holds fewer bytes than the frame had",
        meaning: "The ICRC of these packets cannot be checked, and what is in them is known in part.",
        advice: "Capture whole frames: tcpdump -s 0.",
    },
    Rule {
        id: "ce-at-source",
        severity: Warning,
        title: "nearly all data says that it met congestion",
        when: "at least 95 of 100 packets with data, and at least 20, are marked CE",
        meaning: "A queue never marks everything: the sender sets the mark itself, or a switch marks from an empty queue on.",
        advice: "Check the traffic class of the application (its last two bits must be 10), and the ECN thresholds of the switches.",
    },
    Rule {
        id: "ce-without-cnp",
        severity: Warning,
        title: "congestion is marked, and no one tells the sender",
        when: "three packets with data or more from one host to another are marked CE (20 where the receiver notifies others), the way back is captured and time enough, and no CNP comes back",
        meaning: "The receiver sends no congestion notifications, so the sender never slows down; or they take another path than the answers that are captured.",
        advice: "Enable the notification point on the receiver: echo 1 > /sys/class/net/DEV/ecn/roce_np/enable/PRIO (mlx5); soft-RoCE has none.",
    },
    Rule {
        id: "cnp-unprioritised",
        severity: Warning,
        title: "congestion notifications are not marked as the policy wants",
        when: "a CNP has another DSCP or VLAN priority than the policy",
        meaning: "Notifications queue behind the data they are about, and come too late.",
        advice: "Set DSCP 48 and priority 6 for CNPs: /sys/kernel/debug/mlx5/PCI/cc_params/np_cnp_dscp and np_cnp_prio; give the class strict priority on the switches.",
    },
    Rule {
        id: "cnp-without-ce",
        severity: Info,
        title: "congestion notifications without a mark in the capture",
        when: "CNPs go to a host, and no data from it to their sender was captured with CE",
        meaning: "The queue that marks is behind the capture point, towards the receiver.",
        advice: "Look for the congested port between here and the receiver.",
    },
    Rule {
        id: "congestion",
        severity: Info,
        title: "data met congestion on its way",
        when: "a queue marks packets with data CE, fewer than 95 of 100, and CNPs answer or may still come",
        meaning: "A switch on the way has more to send than its port can take and marks what waits; notifications tell the sender to slow down: `cnp_reaction` of roce-sniff connections --format json.",
        advice: "Look for the port where ways of several senders meet: ethtool -S DEV | grep -iE 'ecn|discard' and the switch's queue depths; see roce-sniff connections --sort ce.",
    },
    Rule {
        id: "connection-rejected",
        severity: Error,
        title: "a request for a connection was refused",
        when: "CM REJ or a SIDR_REP with a status",
        meaning: "The versions agree, or there would be no answer; the other side does not want this connection.",
        advice: "Look at `reason`: invalid service id means that nobody listens on that port (rdma resource show cm_id there); consumer-defined comes from the application.",
    },
    Rule {
        id: "dscp-policy",
        severity: Warning,
        title: "data is not marked as the policy wants",
        when: "packets with data have another DSCP than the policy, and someone has marked them",
        meaning: "Switches put this traffic into another class than the one that is kept lossless.",
        advice: "Set the traffic class: echo 106 > /sys/kernel/config/rdma_cm/DEV/ports/1/default_roce_tos, or in the application; trust DSCP on the switch ports.",
    },
    Rule {
        id: "duplicated-frames",
        severity: Info,
        title: "frames were captured twice",
        when: "the same frame, not one that was sent again, is there twice",
        meaning: "The network or the mirror doubles frames; retransmissions are counted apart.",
        advice: "When nearly all are double, mirror one side of the port only.",
    },
    Rule {
        id: "ecn-not-enabled",
        severity: Warning,
        title: "data cannot be marked although there is congestion",
        when: "packets with data are Not-ECT, and other data to the same host is marked CE, that host sends CNPs, or PFC pauses their priority",
        meaning: "Switches drop or pause where they could have marked.",
        advice: "Set ECT(0) in the traffic class (DSCP 26: 106, not 104) and enable ECN on the reaction point: echo 1 > /sys/class/net/DEV/ecn/roce_rp/enable/PRIO (mlx5).",
    },
    Rule {
        id: "fatal-nak",
        severity: Error,
        title: "a NAK ended a connection",
        when: "a NAK with invalid request, remote access error or remote operational error",
        meaning: "Both queue pairs are in the error state now; no retransmission helps.",
        advice: "Look at `code`: remote access error is a wrong key, address or permission of the requester; invalid request a wrong length or operation; operational error a fault of the responder.",
    },
    Rule {
        id: "gid-link-local",
        severity: Info,
        title: "a connection uses link-local GIDs",
        when: "an address of a reliable or unreliable connection is in fe80::/10",
        meaning: "It works on this link only, and the version of a link-local GID is easily the wrong one.",
        advice: "Choose a GID with a routable address: show_gids, then the index of type RoCE v2.",
    },
    Rule {
        id: "icrc-flush",
        severity: Info,
        title: "FLUSH requests have the ICRC of soft-RoCE",
        when: "every wrong ICRC of a host is that of a FLUSH as Linux soft-RoCE computes it",
        meaning: "Another soft-RoCE takes these packets; hardware drops them.",
        advice: "Do not use FLUSH between soft-RoCE and hardware.",
    },
    Rule {
        id: "length-error",
        severity: Error,
        title: "packets have a length that no receiver takes",
        when: "First or Middle is not the path MTU, Last is empty, or one is longer than the path MTU",
        meaning: "The two ends do not agree on the path MTU, or the sender is broken.",
        advice: "Compare the path MTU of both ends: ibv_devinfo -v | grep active_mtu, and that of the application.",
    },
    Rule {
        id: "lost-or-late",
        severity: Warning,
        title: "packets were lost, or only late",
        when: "a receiver asks for packets where packets overtake each other",
        meaning: "A receiver that goes back to the last packet in order asks for late packets, too, and they are sent again as if they were lost; this capture cannot tell which of them were.",
        advice: "Capture on both hosts at once and compare, or send over IPv4 from a NIC that counts the IP identification: that tells the copies apart. Then see `reordering`.",
    },
    Rule {
        id: "low-entropy",
        severity: Warning,
        title: "many connections share few UDP source ports",
        when: "eight or more connections between two hosts have at most a quarter as many source ports",
        meaning: "Switches spread flows by the source port: these take few of the equal paths.",
        advice: "Set flow labels or QP-based source ports: ibv_modify_qp_udp_sport, or NCCL_IB_QPS_PER_CONNECTION with NCCL_IB_SPLIT_DATA_ON_QPS; check the NIC's setting.",
    },
    Rule {
        id: "malformed-packet",
        severity: Warning,
        title: "packets that no receiver takes",
        when: "a packet to the RoCE port ends inside its headers, or one of a known connection has a transport version other than 0 or an impossible length, or a reserved opcode where its PSN is missing",
        meaning: "Receivers throw them away, so what is missing for that was not lost; datagrams too short for their headers and ICRC have crashed soft-RoCE from afar.",
        advice: "Find the sender and report it to the maker of its stack; keep soft-RoCE hosts up to date and port 4791 closed to strangers.",
    },
    Rule {
        id: "mixed-versions",
        severity: Warning,
        title: "hosts speak both RoCE v1 and v2",
        when: "packets of both versions between the same hosts, or by one host to different ones",
        meaning: "Their default modes differ. Client v1 with server v1 or v2 connects, and v2 with v2; client v2 with a server that has v1 only does not; newer documents call every mix unsupported and advise v1 on both.",
        advice: "Set both to the same version: roce-sniff mode DEVICE --set v1 (or v2) on both; programs without RDMA_CM choose it by the index of the GID: show_gids, then NCCL_IB_GID_INDEX, or -x of perftest.",
    },
    Rule {
        id: "no-answer",
        severity: Warning,
        title: "a request was sent again and again, and no answer was captured",
        when: "a requester repeats itself, and nothing of the other host is in the capture",
        meaning: "Either the other end does not answer, and the requester gives up (IBV_WC_RETRY_EXC_ERR), or its answers go around the capture point.",
        advice: "Ask the other end itself: roce-sniff probe HOST; capture both directions on the requester's host: roce-sniff IFACE.",
    },
    Rule {
        id: "one-way",
        severity: Warning,
        title: "only one direction of connections was captured",
        when: "a reliable connection has at least 8 packets one way and none the other way, and no flow the other way between its hosts lacks a partner, over 0.2 s and more",
        meaning: "The other direction takes another path than the one that is captured, or does not arrive.",
        advice: "Mirror both directions of the port; else check the route back: ip route get ADDR.",
    },
    Rule {
        id: "opcode-sequence",
        severity: Error,
        title: "opcodes do not follow one another",
        when: "Middle or Last without First, or First inside a message, with nothing missing before it",
        meaning: "The sender breaks the protocol; the responder answers with a fatal NAK.",
        advice: "Report it to the maker of the sender's stack or firmware.",
    },
    Rule {
        id: "p-key-mismatch",
        severity: Error,
        title: "the partitions of a connection differ",
        when: "packets of one connection have different P_Keys",
        meaning: "A receiver drops packets of another partition silently.",
        advice: "Use the default P_Key 0xffff on RoCE; check pkey_index of the application.",
    },
    Rule {
        id: "packet-loss-downstream",
        severity: Warning,
        title: "packets were lost behind the capture point",
        when: "a packet was captured, and then asked for by a NAK or sent again in vain",
        meaning: "Between here and the receiver packets are dropped.",
        advice: "Look at the ports from here towards the receiver: ethtool -S DEV | grep -E 'discard|drop|out_of_buffer' and the switch's queue drops.",
    },
    Rule {
        id: "packet-loss-unplaced",
        severity: Warning,
        title: "packets are missing",
        when: "PSNs were passed over and nothing shows what became of them",
        meaning: "They were lost before the capture point, or the capture missed them.",
        advice: "Compare with the counters of the sender's port and of the capture.",
    },
    Rule {
        id: "packet-loss-upstream",
        severity: Warning,
        title: "packets were lost before the capture point",
        when: "a packet is missing here, and was asked for by a NAK or sent again",
        meaning: "Between the sender and here packets are dropped.",
        advice: "Look at the ports from the sender to here: ethtool -S DEV | grep -E 'discard|drop' and the switch's queue drops.",
    },
    Rule {
        id: "pause-in-use",
        severity: Warning,
        title: "802.3x PAUSE is in use",
        when: "a PAUSE frame; the subject is the port that sends it",
        meaning: "It stops all priorities of a link, not only the lossless one.",
        advice: "Use priority flow control instead: ethtool -A DEV rx off tx off; mlnx_qos -i DEV --pfc 0,0,0,1,0,0,0,0.",
    },
    Rule {
        id: "pcp-policy",
        severity: Warning,
        title: "tagged data has not the priority that the policy wants",
        when: "packets with data in a VLAN have another priority than the policy, and not 0 alone",
        meaning: "Switches that trust the VLAN priority put this traffic into another class.",
        advice: "Map the traffic: ip link set DEV.VLAN type vlan egress 0:3, or set the service level of the connection.",
    },
    Rule {
        id: "pfc-seen",
        severity: Info,
        title: "a port pauses its neighbour",
        when: "a frame of priority flow control pauses a priority, and it is no storm",
        meaning: "Its queue is full, and what is sent to it on this priority waits: short pauses keep a class lossless, long ones slow all that passes.",
        advice: "Compare with what the neighbour counts: ethtool -S DEV | grep -E 'prio[0-9]_pause'. Look behind the port for what fills its queue.",
    },
    Rule {
        id: "pfc-storm",
        severity: Error,
        title: "a port pauses its neighbour for too long",
        when: "a priority is paused without a break, or of a second, for longer than the policy allows; without --link-speed: more often in a second, unless XON or short times keep it below that on any link, or again and again before 100 Gbit/s would let it go on",
        meaning: "A receiver or switch holds up everything behind it; pauses spread through the network.",
        advice: "Find the port by its MAC address (ip link on hosts, the interface list of switches): the cause is there or behind it. Enable the PFC watchdog on its neighbour.",
    },
    Rule {
        id: "pmtu-mismatch",
        severity: Warning,
        title: "packets do not have the path MTU that was agreed",
        when: "packets of a connection show another path MTU than its connection request",
        meaning: "One end uses another path MTU than the other expects.",
        advice: "Compare the MTU of both interfaces and of the switches: ip link show DEV.",
    },
    Rule {
        id: "pmtu-small",
        severity: Info,
        title: "a connection uses a smaller path MTU than the path allows",
        when: "another connection between the same hosts uses a larger one",
        meaning: "More packets and headers than necessary.",
        advice: "Ask for path MTU 4096 in the application, with an interface MTU of 4200 or more.",
    },
    Rule {
        id: "q-key-mismatch",
        severity: Error,
        title: "datagrams have a wrong Q_Key",
        when: "a datagram to queue pair 1 with another Q_Key than 0x80010000, to a service with another than its SIDR_REP told, or to a queue pair with another than the first one from the same sender",
        meaning: "The receiver drops it.",
        advice: "Send with the Q_Key that the service told (ud.qkey of RDMA_CM's event); of queue pair 1, report it to the maker of the sender's stack.",
    },
    Rule {
        id: "reordering",
        severity: Warning,
        title: "packets arrive out of order",
        when: "a packet comes behind one that was sent later",
        meaning: "Receivers that go back to the last packet in order take it for loss.",
        advice: "Keep each flow on one path: no per-packet load balancing for RoCE, unless both NICs can reorder.",
    },
    Rule {
        id: "request-unanswered",
        severity: Error,
        title: "a request for a connection was not answered",
        when: "CM REQ or SIDR_REQ without any answer: sent again, refused by ICMP, or waiting for 4.3 s",
        meaning: "It did not arrive, its answer did not, or the other side does not speak this version of RoCE.",
        advice: "Ask the host in both versions: roce-sniff probe HOST; check that UDP port 4791 passes firewalls.",
    },
    Rule {
        id: "reserved-opcode",
        severity: Info,
        title: "packets have a reserved opcode",
        when: "a packet to the RoCE port with a whole BTH, transport version 0, and an opcode that nobody has defined",
        meaning: "It is not RoCE, or meant to harm: such packets have crashed stacks.",
        advice: "Find the sender; keep soft-RoCE hosts up to date and port 4791 closed to strangers.",
    },
    Rule {
        id: "retry-exceeded",
        severity: Error,
        title: "a requester gave up",
        when: "the same request was sent three times or more without success, and then nothing",
        meaning: "The queue pair is in the error state; the application sees IBV_WC_RETRY_EXC_ERR or IBV_WC_RNR_RETRY_EXC_ERR.",
        advice: "Check that the other end is alive (rdma resource show qp) and the path both ways; for RNR post receives earlier.",
    },
    Rule {
        id: "rnr-nak",
        severity: Info,
        title: "a receiver was not ready",
        when: "an RNR NAK",
        meaning: "The receiver had no buffer posted; the sender waits and sends again.",
        advice: "Post more receives, or earlier.",
    },
    Rule {
        id: "rnr-storm",
        severity: Warning,
        title: "a receiver is not ready again and again",
        when: "at least 10 RNR NAKs on a connection, and more for a hundred messages than the policy allows",
        meaning: "The receiver posts buffers more slowly than the sender sends.",
        advice: "Post more receives; check that the receiver's process gets CPU time: pidstat -p PID 1.",
    },
    Rule {
        id: "stalled",
        severity: Warning,
        title: "requests wait for an answer",
        when: "a request that calls for an answer has none for more than a second up to the end of the capture, or the capture ends when it is sent for the third time or more",
        meaning: "The connection hangs, or its answers are not captured.",
        advice: "Check the other end: rdma resource show qp; check that both directions are captured.",
    },
    Rule {
        id: "unpaired-flows",
        severity: Info,
        title: "flows could not be paired into connections",
        when: "between two hosts there are reliable flows both ways, one with at least 8 packets, of which nothing says which two are one connection",
        meaning: "Both directions may well be there: packets name one queue pair only, and neither PSNs nor UDP source ports tell the flows apart. What needs both directions, such as loss and latency, is not known of them.",
        advice: "Capture the beginning of the connections, the connection manager's exchange included, or longer; see roce-sniff connections FILE.",
    },
    Rule {
        id: "version-mismatch",
        severity: Error,
        title: "two hosts do not speak the same version of RoCE",
        when: "v2 requests for a connection go unanswered, and the host sends v1 or says that port 4791 is unreachable; or one host sends v1 only and the other v2 only, again and again and without any answer",
        meaning: "One does not take what the other sends: a v2 client does not connect to a server that has v1 only. Client v1 with server v1 or v2 connects, and v2 with v2 (RHEL 7); newer documents call every mix unsupported and advise v1 on both.",
        advice: "Set both hosts to the same version: roce-sniff mode DEVICE --set v1 on both (or v2 where both have it). Programs without RDMA_CM choose it by the index of the GID: show_gids or ibv_devinfo -v, then NCCL_IB_GID_INDEX, or -x of perftest, of the same type on both.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_slugs_and_said_once() {
        let mut ids: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
        assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        assert!(ids.is_sorted(), "a rule is not at its place");
        ids.dedup();
        assert_eq!(ids.len(), RULES.len());
    }
}
