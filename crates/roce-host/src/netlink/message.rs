//! Netlink messages: splitting a datagram, building a request.

use netlink_packet_core::{
    DefaultNla, Emitable, NLA_ALIGNTO, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE,
    NLMSG_ERROR, NetlinkBuffer, NetlinkHeader,
};

use super::attr::Attrs;

/// Which part of the kernel is spoken to; the messages of each begin in their own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// RDMA devices: nothing but attributes.
    Rdma,
    /// Routes and neighbours: 12 bytes in front of the attributes (`struct rtmsg`, `struct ndmsg`).
    Route,
    /// Interfaces: 16 bytes in front of the attributes (`struct ifinfomsg`).
    Link,
}

impl Family {
    /// How many bytes stand in front of the attributes.
    const fn fixed(self) -> usize {
        match self {
            Self::Rdma => 0,
            Self::Route => 12,
            Self::Link => 16,
        }
    }

    /// How deep attributes hold attributes that are read.
    const fn depth(self) -> u8 {
        match self {
            Self::Rdma => 2,
            Self::Route | Self::Link => 0,
        }
    }
}

/// The commands of the RDMA device client, and their words for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Devices,
    Ports,
    QueuePairs,
    CmIds,
    Counters,
}

impl Command {
    /// The message type: the client number (RDMA_NL_NLDEV) above ten bits of command.
    pub(crate) const fn kind(self) -> u16 {
        const NLDEV: u16 = 5;
        (NLDEV << 10)
            | match self {
                Self::Devices => 1,
                Self::Ports => 5,
                Self::QueuePairs => 10,
                Self::CmIds => 11,
                Self::Counters => 17,
            }
    }

    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Devices => "list of devices",
            Self::Ports => "list of ports",
            Self::QueuePairs => "list of queue pairs",
            Self::CmIds => "list of CM ids",
            Self::Counters => "hardware counters",
        }
    }

    /// Counters are asked for one port; everything else is a dump.
    const fn flags(self) -> u16 {
        match self {
            Self::Counters => NLM_F_REQUEST | NLM_F_ACK,
            _ => NLM_F_REQUEST | NLM_F_DUMP,
        }
    }
}

/// A request of RDMA devices with attributes of 32 bits.
pub(crate) fn request(command: Command, sequence: u32, attrs: &[(u16, u32)]) -> Vec<u8> {
    let attrs: Vec<_> = attrs
        .iter()
        .map(|(kind, value)| DefaultNla::new(*kind, value.to_ne_bytes().to_vec()))
        .collect();
    raw_request(command.kind(), command.flags(), sequence, &[], &attrs)
}

/// Any request: `fixed` stands in front of the attributes and fills whole words.
pub(crate) fn raw_request(
    kind: u16,
    flags: u16,
    sequence: u32,
    fixed: &[u8],
    attrs: &[DefaultNla],
) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    let before = header.buffer_len().saturating_add(fixed.len());
    let length = before.saturating_add(attrs.buffer_len());
    header.length = u32::try_from(length).unwrap_or(u32::MAX);
    header.message_type = kind;
    header.flags = flags;
    header.sequence_number = sequence;
    let mut bytes = vec![0; length];
    let (head, tail) = bytes.split_at_mut(before);
    let (head, middle) = head.split_at_mut(header.buffer_len());
    header.emit(head);
    middle.copy_from_slice(fixed);
    attrs.emit(tail);
    bytes
}

/// Types below this one are netlink's own (`NLMSG_MIN_TYPE`).
const FIRST_OF_FAMILY: u16 = 16;

/// One message of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message<'a> {
    /// An answer: its type, the bytes in front of the attributes, the attributes.
    Data { kind: u16, fixed: &'a [u8], attrs: Attrs<'a> },
    /// The end of the answers: 0, or the number of an error.
    End { errno: i32 },
    /// Another message, or one with another sequence number.
    Other,
}

/// A datagram that cannot be split: where, in bytes, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damaged {
    pub(crate) offset: usize,
    pub(crate) detail: String,
}

/// The messages of a datagram.
pub(crate) fn messages(
    family: Family,
    datagram: &[u8],
    sequence: u32,
) -> impl Iterator<Item = Result<Message<'_>, Damaged>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let offset = datagram.len().saturating_sub(rest.len());
        match NetlinkBuffer::new_checked(rest) {
            Ok(buffer) => {
                // At least a header long, so that this ends.
                let length = usize::try_from(buffer.length()).unwrap_or(usize::MAX);
                let next = length.checked_next_multiple_of(NLA_ALIGNTO).unwrap_or(usize::MAX);
                rest = rest.get(next..).unwrap_or_default();
                Some(classify(family, &buffer, sequence, offset))
            }
            Err(error) => {
                rest = &[];
                Some(Err(Damaged { offset, detail: error.to_string() }))
            }
        }
    })
}

fn classify<'a>(
    family: Family,
    buffer: &NetlinkBuffer<&'a [u8]>,
    sequence: u32,
    offset: usize,
) -> Result<Message<'a>, Damaged> {
    if buffer.sequence_number() != sequence {
        return Ok(Message::Other);
    }
    let payload = buffer.payload();
    match buffer.message_type() {
        NLMSG_DONE | NLMSG_ERROR => {
            // The end of a dump says 0 or nothing; errors are negative.
            let code = payload.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
            Ok(Message::End { errno: code.checked_neg().unwrap_or(libc::EIO).max(0) })
        }
        kind if kind >= FIRST_OF_FAMILY => {
            let damaged = |detail| Damaged { offset, detail };
            let (fixed, attrs) = payload
                .split_at_checked(family.fixed())
                .ok_or_else(|| damaged("too short".to_owned()))?;
            let attrs = Attrs(attrs);
            attrs.check(family.depth()).map_err(damaged)?;
            Ok(Message::Data { kind, fixed, attrs })
        }
        _ => Ok(Message::Other),
    }
}
