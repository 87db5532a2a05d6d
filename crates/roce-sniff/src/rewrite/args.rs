//! What can be typed.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use roce_wire::MacAddr;

use super::maps::{self, Ends, IpMap, Map, QpnMap};
use super::select::{FrameRange, Moment};
use super::vxlan::Outer;

#[derive(Args, Debug)]
#[command(after_help = "\
Maps are OLD=NEW, repeated or divided by commas; the first that fits counts. Addresses, GIDs and
queue pairs inside connection management follow them. Lengths, checksums and ICRC are mended in
what was changed; a packet whose ICRC was wrong keeps a wrong one, made by the same mistake where
that is known. A pcap file made of pcap, and pcapng of pcapng, keeps times, interfaces, comments
and all else byte for byte; from pcapng to pcap, only frames and times survive.

Examples:
  roce-sniff rewrite in.pcapng -o out.pcapng --anonymize \"$(openssl rand -hex 16)\"
  roce-sniff rewrite in.pcap -o out.pcap --map-ip 10.0.0.0/8=192.0.0.0/8 --map-qpn 0x11=0x12
  roce-sniff rewrite in.pcap -o one.pcap --connection 10.0.0.1:0x11-10.0.0.2:0x12
  roce-sniff rewrite in.pcap -o v1.pcap --convert v1
  roce-sniff rewrite in.pcap -o small.pcap --headers-only --frames 1-1000")]
pub(crate) struct RewriteArgs {
    /// The capture to read: a file, or `-` for standard input
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,
    /// The capture to write: pcap when it ends in .pcap, else pcapng; `-` for standard output
    #[arg(short = 'o', long, value_name = "OUT")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) select: SelectArgs,
    #[command(flatten)]
    pub(super) maps: MapArgs,
    #[command(flatten)]
    pub(super) change: ChangeArgs,
    /// Take another UDP destination port for RoCE v2 as well; repeatable
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: Vec<u16>,
    /// Say nothing but errors
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Which frames")]
pub(super) struct SelectArgs {
    /// Only frames that match a BPF expression, as tcpdump takes it
    #[arg(short = 'f', long, value_name = "EXPR")]
    pub(super) filter: Option<String>,
    /// Only packets between two ends, and the connection management of their queue pairs;
    /// without a queue pair, all of the host
    #[arg(long, value_name = "A[:QPN]-B[:QPN]")]
    pub(super) connection: Vec<Ends>,
    /// Only frames with these numbers, such as 10-20,30,100-
    #[arg(long, value_name = "RANGES", value_delimiter = ',')]
    pub(super) frames: Vec<FrameRange>,
    /// Not before this time, in seconds: since the epoch, or since the first frame if below 10^8
    #[arg(long, value_name = "TIME")]
    pub(super) from: Option<Moment>,
    /// Not after this time
    #[arg(long, value_name = "TIME")]
    pub(super) to: Option<Moment>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Names")]
pub(super) struct MapArgs {
    /// IP addresses and GIDs, or prefixes such as 10.0.0.0/8=192.0.0.0/8
    #[arg(long, alias = "map-gid", value_name = "OLD=NEW", value_delimiter = ',')]
    pub(super) map_ip: Vec<IpMap>,
    /// MAC addresses; those of IP multicast follow their group
    #[arg(long, value_name = "OLD=NEW", value_delimiter = ',', value_parser = maps::mac)]
    pub(super) map_mac: Vec<Map<MacAddr>>,
    /// LIDs of native InfiniBand
    #[arg(long, value_name = "OLD=NEW", value_delimiter = ',', value_parser = maps::word)]
    pub(super) map_lid: Vec<Map<u16>>,
    /// VLAN ids
    #[arg(long, value_name = "OLD=NEW", value_delimiter = ',', value_parser = maps::vlan)]
    pub(super) map_vlan: Vec<Map<u16>>,
    /// Queue pairs, of one host or of all
    #[arg(long, value_name = "[HOST:]OLD=NEW", value_delimiter = ',')]
    pub(super) map_qpn: Vec<QpnMap>,
    /// UDP ports of RoCE v2, source and destination
    #[arg(long, value_name = "OLD=NEW", value_delimiter = ',', value_parser = maps::word)]
    pub(super) map_udp_port: Vec<Map<u16>>,
    /// Ports of RDMA_CM, of services and of who asks
    #[arg(long, value_name = "OLD=NEW", value_delimiter = ',', value_parser = maps::word)]
    pub(super) map_cm_port: Vec<Map<u16>>,
    /// R_Keys
    #[arg(long, value_name = "OLD=NEW", value_delimiter = ',', value_parser = maps::r_key)]
    pub(super) map_r_key: Vec<Map<u32>>,
    /// Rename every address, queue pair and key by a seed, replace payloads, blank out whatever
    /// else may name somebody, frames that are not RoCE included; who knows the seed can undo
    /// the names
    #[arg(long, value_name = "SEED", value_parser = NonEmptyStringValueParser::new())]
    pub(super) anonymize: Option<String>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "What to change")]
pub(super) struct ChangeArgs {
    /// The DSCP of all RoCE packets
    #[arg(long, value_name = "0-63", value_parser = clap::value_parser!(u8).range(..64))]
    pub(super) dscp: Option<u8>,
    /// The ECN field of all RoCE packets
    #[arg(long, value_enum)]
    pub(super) ecn: Option<EcnMark>,
    /// The priority in all VLAN tags
    #[arg(long, value_name = "0-7", value_parser = clap::value_parser!(u8).range(..8))]
    pub(super) pcp: Option<u8>,
    /// Carry RoCE packets another way. IPv4 addresses become fd00::/96 in IPv6 and back; other
    /// IPv6 addresses become 198.18.0.1 and so on, in the order in which they come
    #[arg(long, value_name = "WAY", value_enum)]
    pub(super) convert: Option<Way>,
    /// Remove the VLAN tags of the outermost Ethernet header
    #[arg(long)]
    pub(super) strip_vlan: bool,
    /// Put a VLAN tag behind the outermost Ethernet header
    #[arg(long, value_name = "ID[:PCP]", value_parser = parse_vlan)]
    pub(super) add_vlan: Option<(u16, u8)>,
    /// Take frames out of VXLAN, Geneve, GRE, ERSPAN, MPLS and IP-in-IP
    #[arg(long)]
    pub(super) strip_tunnel: bool,
    /// Put every Ethernet frame into VXLAN between two addresses
    #[arg(long, value_name = "VNI:FROM-TO")]
    pub(super) add_vxlan: Option<Outer>,
    /// Replace the payloads of RoCE packets; those of connection management stay
    #[arg(long, value_enum)]
    pub(super) payload: Option<Fill>,
    /// Cut frames behind their headers, as a small snap length does; ICRCs cannot be checked then.
    /// Connection management is kept whole
    #[arg(long)]
    pub(super) headers_only: bool,
    /// Make all ICRCs of RoCE packets right, those that were wrong as well
    #[arg(long)]
    pub(super) fix_icrc: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(super) enum EcnMark {
    NotEct,
    Ect0,
    Ect1,
    Ce,
}

/// How RoCE is carried.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(super) enum Way {
    /// RoCE v1
    V1,
    /// RoCE v2, over IPv4 where both GIDs are IPv4 addresses, else over IPv6
    V2,
    /// RoCE v2 over IPv4
    V2Ipv4,
    /// RoCE v2 over IPv6
    V2Ipv6,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(super) enum Fill {
    /// Zeros
    Zero,
    /// Bytes made of the seed, the queue pair and the PSN: a packet sent again has the same
    Pattern,
}

fn parse_vlan(text: &str) -> Result<(u16, u8), String> {
    let (id, pcp) = text.split_once(':').unwrap_or((text, "0"));
    match (id.parse(), pcp.parse()) {
        (Ok(id @ 0..4096), Ok(pcp @ 0..8)) => Ok((id, pcp)),
        _ => Err("expected an id below 4096, and perhaps a priority: 100:3".to_owned()),
    }
}

impl MapArgs {
    /// Whether any name is to change.
    pub(super) const fn is_any(&self) -> bool {
        let Self { map_ip, map_mac, map_lid, map_vlan, map_qpn, .. } = self;
        let Self { map_udp_port, map_cm_port, map_r_key, anonymize, .. } = self;
        !(map_ip.is_empty()
            && map_mac.is_empty()
            && map_lid.is_empty()
            && map_vlan.is_empty()
            && map_qpn.is_empty()
            && map_udp_port.is_empty()
            && map_cm_port.is_empty()
            && map_r_key.is_empty()
            && anonymize.is_none())
    }
}

impl ChangeArgs {
    /// Whether anything but names is to change.
    pub(super) const fn is_any(&self) -> bool {
        let Self { dscp, ecn, pcp, convert, add_vlan, add_vxlan, payload, .. } = self;
        let Self { strip_vlan, strip_tunnel, headers_only, fix_icrc, .. } = self;
        dscp.is_some()
            || ecn.is_some()
            || pcp.is_some()
            || convert.is_some()
            || add_vlan.is_some()
            || add_vxlan.is_some()
            || payload.is_some()
            || *strip_vlan
            || *strip_tunnel
            || *headers_only
            || *fix_icrc
    }
}
