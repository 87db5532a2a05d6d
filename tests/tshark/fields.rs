//! Which of our fields is which of tshark's.

use roce_wire::{Frame, Layer, Net};

/// How tshark prints a field.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// A number, decimal or with `0x` before it, or a truth value.
    Number,
    /// A number as bytes in hex without `0x`.
    Bytes,
    /// Bytes in hex that are no number.
    Text,
    /// An address.
    Address,
}

/// One field by both names.
pub(crate) struct Pair {
    pub(crate) header: &'static str,
    pub(crate) field: &'static str,
    pub(crate) tshark: &'static str,
    pub(crate) kind: Kind,
}

const fn number(header: &'static str, field: &'static str, tshark: &'static str) -> Pair {
    Pair { header, field, tshark, kind: Kind::Number }
}

const fn kind(kind: Kind, pair: Pair) -> Pair {
    Pair { kind, ..pair }
}

/// Fields in front of the packet; the first name says on which carrier.
pub(crate) const LAYERS: &[Pair] = &[
    kind(Kind::Address, number("v2_ipv4", "src", "ip.src")),
    kind(Kind::Address, number("v2_ipv4", "dst", "ip.dst")),
    number("v2_ipv4", "tos", "ip.dsfield"),
    number("v2_ipv4", "id", "ip.id"),
    number("v2_ipv4", "ttl", "ip.ttl"),
    kind(Kind::Address, number("v2_ipv6", "src", "ipv6.src")),
    kind(Kind::Address, number("v2_ipv6", "dst", "ipv6.dst")),
    number("v2_ipv6", "tos", "ipv6.tclass"),
    number("v2_ipv6", "flow_label", "ipv6.flow"),
    number("v2_ipv6", "ttl", "ipv6.hlim"),
    number("v2", "udp_src", "udp.srcport"),
    number("v2", "udp_dst", "udp.dstport"),
    number("v2", "udp_length", "udp.length"),
    kind(Kind::Address, number("v1", "sgid", "infiniband.grh.sgid")),
    kind(Kind::Address, number("v1", "dgid", "infiniband.grh.dgid")),
    number("v1", "tos", "infiniband.grh.tclass"),
    number("v1", "flow_label", "infiniband.grh.flowlabel"),
    number("v1", "pay_len", "infiniband.grh.paylen"),
    number("v1", "ttl", "infiniband.grh.hoplmt"),
    number("vlan", "id", "vlan.id"),
    number("vlan", "pcp", "vlan.priority"),
];

impl Pair {
    /// Our value of a field of the layers in front of the packet; `None` when they have none such.
    pub(crate) fn of_layers(&self, frame: &Frame<'_>) -> Option<String> {
        let (net, _) = frame.packet()?;
        if self.header == "vlan" {
            let tags = frame.layers().filter_map(|(_, layer)| match layer {
                Layer::Vlans(tags) => tags.last(),
                _ => None,
            });
            let tag = tags.last()?;
            let value = if self.field == "id" { tag.vlan() } else { u16::from(tag.pcp()) };
            return Some(value.to_string());
        }
        let udp = net.udp().filter(|_| self.header == "v2");
        if net.carrier().key() != self.header && udp.is_none() {
            return None;
        }
        let value = match (self.field, net) {
            ("tos", _) => net.traffic_class()?.to_string(),
            ("src", _) => net.src().to_string(),
            ("dst", _) => net.dst().to_string(),
            ("sgid", _) => net.grh()?.sgid.to_string(),
            ("dgid", _) => net.grh()?.dgid.to_string(),
            ("udp_src", _) => udp?.src_port().to_string(),
            ("udp_dst", _) => udp?.dst_port().to_string(),
            ("udp_length", _) => udp?.length().to_string(),
            ("pay_len", _) => net.grh()?.pay_len().to_string(),
            ("id", Net::V2Ipv4(ip, ..)) => ip.id().to_string(),
            ("ttl", Net::V2Ipv4(ip, ..)) => ip.ttl.to_string(),
            ("ttl", Net::V2Ipv6(ip, ..)) => ip.hop_limit.to_string(),
            ("flow_label", Net::V2Ipv6(ip, ..)) => ip.flow_label().to_string(),
            ("ttl", Net::V1(grh)) => grh.hop_limit.to_string(),
            ("flow_label", Net::V1(grh)) => grh.flow_label().to_string(),
            _ => return None,
        };
        Some(value)
    }
}

/// Fields of headers, by the names that the headers and fields have here.
pub(crate) const HEADERS: &[Pair] = &[
    number("BTH", "opcode", "infiniband.bth.opcode"),
    number("BTH", "se", "infiniband.bth.se"),
    number("BTH", "mig_req", "infiniband.bth.m"),
    number("BTH", "pad_count", "infiniband.bth.padcnt"),
    number("BTH", "tver", "infiniband.bth.tver"),
    number("BTH", "p_key", "infiniband.bth.p_key"),
    number("BTH", "dest_qp", "infiniband.bth.destqp"),
    number("BTH", "ack_req", "infiniband.bth.a"),
    number("BTH", "psn", "infiniband.bth.psn"),
    number("DETH", "q_key", "infiniband.deth.q_key"),
    number("DETH", "src_qp", "infiniband.deth.srcqp"),
    number("RETH", "va", "infiniband.reth.va"),
    number("RETH", "r_key", "infiniband.reth.r_key"),
    number("RETH", "dma_len", "infiniband.reth.dmalen"),
    number("AtomicETH", "va", "infiniband.reth.va"),
    number("AtomicETH", "r_key", "infiniband.reth.r_key"),
    number("AtomicETH", "swap_add", "infiniband.atomiceth.swapdt"),
    number("AtomicETH", "compare", "infiniband.atomiceth.cmpdt"),
    number("AETH", "syndrome", "infiniband.aeth.syndrome"),
    number("AETH", "msn", "infiniband.aeth.msn"),
    number("AtomicAckETH", "original", "infiniband.atomicacketh.origremdt"),
    kind(Kind::Bytes, number("ImmDt", "data", "infiniband.immdt")),
    kind(Kind::Bytes, number("IETH", "r_key", "infiniband.ieth")),
    number("MAD", "base_version", "infiniband.mad.baseversion"),
    number("MAD", "mgmt_class", "infiniband.mad.mgmtclass"),
    number("MAD", "class_version", "infiniband.mad.classversion"),
    number("MAD", "method", "infiniband.mad.method"),
    number("MAD", "status", "infiniband.mad.status"),
    number("MAD", "transaction_id", "infiniband.mad.transactionid"),
    number("MAD", "attribute_id", "infiniband.mad.attributeid"),
    number("MAD", "attribute_modifier", "infiniband.mad.attributemodifier"),
    number("CM REQ", "local_comm_id", "infiniband.cm.req"),
    number("CM REQ", "service_id", "infiniband.cm.req.serviceid"),
    number("CM REQ", "local_ca_guid", "infiniband.cm.req.localcaguid"),
    number("CM REQ", "local_q_key", "infiniband.cm.req.localqkey"),
    number("CM REQ", "local_qpn", "infiniband.cm.req.localqpn"),
    number("CM REQ", "responder_resources", "infiniband.cm.req.responderres"),
    number("CM REQ", "local_eecn", "infiniband.cm.req.localeecn"),
    number("CM REQ", "initiator_depth", "infiniband.cm.req.initdepth"),
    number("CM REQ", "remote_eecn", "infiniband.cm.req.remoteeecn"),
    number("CM REQ", "remote_timeout", "infiniband.cm.req.remoteresptout"),
    number("CM REQ", "transport", "infiniband.cm.req.transpsvctype"),
    number("CM REQ", "flow_control", "infiniband.cm.req.e2eflowctrl"),
    number("CM REQ", "starting_psn", "infiniband.cm.req.startpsn"),
    number("CM REQ", "local_timeout", "infiniband.cm.req.localresptout"),
    number("CM REQ", "retry_count", "infiniband.cm.req.retrcount"),
    number("CM REQ", "p_key", "infiniband.cm.req.pkey"),
    number("CM REQ", "path_mtu", "infiniband.cm.req.pppmtu"),
    number("CM REQ", "rdc_exists", "infiniband.cm.req.rdcexist"),
    number("CM REQ", "rnr_retry_count", "infiniband.cm.req.rnrretrcount"),
    number("CM REQ", "max_cm_retries", "infiniband.cm.req.maxcmretr"),
    number("CM REQ", "srq", "infiniband.cm.req.srq"),
    number("CM REQ", "extended_transport", "infiniband.cm.req.ext_transport"),
    number("CM REQ", "primary_local_lid", "infiniband.cm.req.prim_locallid"),
    number("CM REQ", "primary_remote_lid", "infiniband.cm.req.prim_remotelid"),
    // The flow label and packet rate of a path are read by tshark from one byte too early.
    number("CM REQ", "primary_traffic_class", "infiniband.cm.req.prim_tfcclass"),
    number("CM REQ", "primary_hop_limit", "infiniband.cm.req.prim_hoplim"),
    number("CM REQ", "primary_sl", "infiniband.cm.req.prim_sl"),
    number("CM REQ", "primary_subnet_local", "infiniband.cm.req.prim_subnetlocal"),
    number("CM REQ", "primary_ack_timeout", "infiniband.cm.req.prim_localacktout"),
    number("CM REQ", "alternate_local_lid", "infiniband.cm.req.alt_locallid"),
    number("CM REQ", "alternate_ack_timeout", "infiniband.cm.req.alt_localacktout"),
    number("RDMA_CM", "source_port", "infiniband.cm.req.ip_cm.sport"),
    number("CM REP", "local_comm_id", "infiniband.cm.rep"),
    number("CM REP", "remote_comm_id", "infiniband.cm.rep.remotecommid"),
    number("CM REP", "local_q_key", "infiniband.cm.rep.localqkey"),
    number("CM REP", "local_qpn", "infiniband.cm.rep.localqpn"),
    number("CM REP", "local_eecn", "infiniband.cm.rep.localeecn"),
    number("CM REP", "starting_psn", "infiniband.cm.rep.startpsn"),
    number("CM REP", "responder_resources", "infiniband.cm.rep.respres"),
    number("CM REP", "initiator_depth", "infiniband.cm.rep.initdepth"),
    number("CM REP", "target_ack_delay", "infiniband.cm.rep.tgtackdelay"),
    number("CM REP", "failover_accepted", "infiniband.cm.rep.failoveracc"),
    number("CM REP", "flow_control", "infiniband.cm.rep.e2eflowctrl"),
    number("CM REP", "rnr_retry_count", "infiniband.cm.rep.rnrretrcount"),
    number("CM REP", "srq", "infiniband.cm.rep.srq"),
    number("CM REP", "local_ca_guid", "infiniband.cm.rep.localcaguid"),
    kind(Kind::Text, number("CM REP", "private_data", "infiniband.cm.rep.private")),
    number("CM RTU", "local_comm_id", "infiniband.cm.rtu.localcommid"),
    number("CM RTU", "remote_comm_id", "infiniband.cm.rtu.remotecommid"),
    kind(Kind::Text, number("CM RTU", "private_data", "infiniband.cm.rtu.private")),
    number("CM REJ", "local_comm_id", "infiniband.cm.rej.localcommid"),
    number("CM REJ", "remote_comm_id", "infiniband.cm.rej.remotecommid"),
    number("CM REJ", "message_rejected", "infiniband.cm.rej.msgrej"),
    number("CM REJ", "info_len", "infiniband.cm.rej.rejinfolen"),
    number("CM REJ", "reason", "infiniband.cm.rej.reason"),
    kind(Kind::Text, number("CM REJ", "info", "infiniband.cm.rej.ari")),
    kind(Kind::Text, number("CM REJ", "private_data", "infiniband.cm.rej.private")),
    number("CM DREQ", "local_comm_id", "infiniband.cm.dreq.localcommid"),
    number("CM DREQ", "remote_comm_id", "infiniband.cm.dreq.remotecommid"),
    number("CM DREQ", "remote_qpn", "infiniband.cm.req.remoteqpneecn"),
    kind(Kind::Text, number("CM DREQ", "private_data", "infiniband.cm.dreq.private")),
    number("CM DREP", "local_comm_id", "infiniband.cm.drsp.localcommid"),
    number("CM DREP", "remote_comm_id", "infiniband.cm.drsp.remotecommid"),
    kind(Kind::Text, number("CM DREP", "private_data", "infiniband.cm.drsp.private")),
];
