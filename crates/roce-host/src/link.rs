//! Network interfaces as the kernel of this network namespace knows them, which the files of
//! `/sys` may not show: they belong to the namespace that they were mounted in. Numbers are those
//! of Linux `include/uapi/linux/{rtnetlink,if_link,if}.h`.

use netlink_packet_core::{DefaultNla, NLM_F_ACK, NLM_F_REQUEST};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::Error;
use crate::netlink::attr::Attrs;
use crate::netlink::conversation::Conversation;
use crate::netlink::message::{Family, raw_request};

const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
/// Inside of IFLA_LINKINFO.
const IFLA_INFO_KIND: u16 = 1;

const IFF_UP: u32 = 1;
const IFF_LOWER_UP: u32 = 1 << 16;

/// The longest name of an interface, in bytes (`IFNAMSIZ` with its zero).
const LONGEST_NAME: usize = 15;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetLink {
    /// Its index.
    pub index: u32,
    /// Hardware type: 1 Ethernet, 32 InfiniBand, 772 loopback.
    pub arp_type: u16,
    /// What kind of software makes it, such as `veth`, `vlan` or `bond`; absent for devices and
    /// for the loopback.
    pub kind: Option<String>,
    /// Its Ethernet address; absent when it has none of six bytes.
    pub mac: Option<[u8; 6]>,
    /// Largest packet in bytes, without the Ethernet header.
    pub mtu: Option<u32>,
    /// Whether it is switched on.
    pub up: bool,
    /// Whether something is at the other end.
    pub carrier: bool,
    /// What it has sent since it exists.
    pub sent: Option<LinkSent>,
}

impl NetLink {
    /// The hardware type of Ethernet.
    pub const ETHERNET: u16 = 1;
    /// The hardware type of the loopback.
    pub const LOOPBACK: u16 = 772;
}

/// What an interface has sent, whoever asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkSent {
    /// Frames.
    pub frames: u64,
    /// Bytes.
    pub bytes: u64,
    /// Frames lost to errors.
    pub errors: u64,
    /// Frames that it did not take.
    pub dropped: u64,
}

impl LinkSent {
    /// What was sent after `before`.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            frames: self.frames.wrapping_sub(before.frames),
            bytes: self.bytes.wrapping_sub(before.bytes),
            errors: self.errors.wrapping_sub(before.errors),
            dropped: self.dropped.wrapping_sub(before.dropped),
        }
    }
}

/// A conversation about interfaces. Needs no privilege.
#[derive(Debug)]
pub struct LinkNetlink {
    conversation: Conversation,
}

impl LinkNetlink {
    /// Opens the conversation.
    ///
    /// # Errors
    /// When the system does not open a socket.
    pub fn open() -> Result<Self, Error> {
        Ok(Self { conversation: Conversation::open(NETLINK_ROUTE, Family::Link)? })
    }

    /// The interface of a name; absent when there is none.
    ///
    /// # Errors
    /// When the conversation fails.
    pub fn link(&mut self, name: &str) -> Result<Option<NetLink>, Error> {
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Ok(None);
        }
        let bytes = link_request(self.conversation.next_sequence(), name);
        let mut found = None;
        let asked = self.conversation.ask("interface", &bytes, |kind, fixed, attrs| {
            if kind == NEW_LINK {
                found = found.take().or_else(|| link(fixed, attrs));
            }
        });
        match asked {
            Err(Error::Netlink { source, .. }) if source.raw_os_error() == Some(libc::ENODEV) => {
                Ok(None)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(found),
        }
    }
}

/// `struct ifinfomsg` with nothing in it: the name tells which.
fn link_request(sequence: u32, name: &str) -> Vec<u8> {
    let mut text = name.as_bytes().to_vec();
    text.push(0);
    let attrs = [DefaultNla::new(IFLA_IFNAME, text)];
    raw_request(GET_LINK, NLM_F_REQUEST | NLM_F_ACK, sequence, &[0; 16], &attrs)
}

/// `struct ifinfomsg`: hardware type at byte 2, index at byte 4, flags at byte 8.
fn link(fixed: &[u8], attrs: Attrs<'_>) -> Option<NetLink> {
    let arp_type = u16::from_ne_bytes(*fixed.get(2..)?.first_chunk()?);
    let index = u32::from_ne_bytes(*fixed.get(4..)?.first_chunk()?);
    let flags = u32::from_ne_bytes(*fixed.get(8..)?.first_chunk()?);
    Some(NetLink {
        index,
        arp_type,
        kind: attrs.nested(IFLA_LINKINFO).text(IFLA_INFO_KIND),
        mac: attrs.get(IFLA_ADDRESS).and_then(|bytes| <[u8; 6]>::try_from(bytes).ok()),
        mtu: attrs.u32(IFLA_MTU),
        up: flags & IFF_UP != 0,
        carrier: flags & IFF_LOWER_UP != 0,
        sent: attrs.get(IFLA_STATS64).and_then(sent),
    })
}

/// `struct rtnl_link_stats64`: 64-bit words; received and sent take turns.
fn sent(stats: &[u8]) -> Option<LinkSent> {
    let word = |index: usize| {
        let bytes = stats.get(index.checked_mul(8)?..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*bytes))
    };
    Some(LinkSent { frames: word(1)?, bytes: word(3)?, errors: word(5)?, dropped: word(7)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attr::attr;
    use crate::netlink::message::{Message, messages};
    use proptest::prelude::*;

    #[test]
    fn the_request_is_as_the_kernel_wants_it() {
        let mut expected = Vec::new();
        expected.extend(44_u32.to_ne_bytes()); // nlmsg_len
        expected.extend(18_u16.to_ne_bytes()); // RTM_GETLINK
        expected.extend(0x0005_u16.to_ne_bytes()); // request, acknowledge
        expected.extend(7_u32.to_ne_bytes());
        expected.extend([0; 4 + 16]);
        expected.extend(attr(3, b"eth10\0"));
        assert_eq!(link_request(7, "eth10"), expected);
    }

    #[test]
    fn an_answer_is_read_where_the_headers_say() {
        let mut fixed = [0; 16];
        fixed[2..4].copy_from_slice(&1_u16.to_ne_bytes());
        fixed[4..8].copy_from_slice(&5_u32.to_ne_bytes());
        fixed[8..12].copy_from_slice(&0x1_1043_u32.to_ne_bytes());
        let stats: Vec<u8> = (10_u64..34).flat_map(u64::to_ne_bytes).collect();
        let attrs = [
            attr(1, &[2, 0, 0, 0x77, 0, 2]),
            attr(3, b"va\0"),
            attr(4, &1500_u32.to_ne_bytes()),
            attr(18, &attr(1, b"veth\0")),
            attr(23, &stats),
        ]
        .concat();
        let found = link(&fixed, Attrs(&attrs)).unwrap();
        assert_eq!((found.index, found.arp_type, found.up, found.carrier), (5, 1, true, true));
        assert_eq!(found.kind.as_deref(), Some("veth"));
        assert_eq!((found.mac, found.mtu), (Some([2, 0, 0, 0x77, 0, 2]), Some(1500)));
        let sent = LinkSent { frames: 11, bytes: 13, errors: 15, dropped: 17 };
        assert_eq!(found.sent, Some(sent));
        assert_eq!(sent.since(&LinkSent { frames: 10, ..LinkSent::default() }).frames, 1);
    }

    #[test]
    fn this_machine_has_a_loopback() {
        let mut netlink = LinkNetlink::open().unwrap();
        let lo = netlink.link("lo").unwrap().unwrap();
        assert_eq!((lo.index, lo.arp_type, lo.kind), (1, NetLink::LOOPBACK, None));
        assert!(lo.sent.is_some());
        assert_eq!(netlink.link("no-such-link").unwrap(), None);
        assert_eq!(netlink.link("much-too-long-for-a-name").unwrap(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for message in messages(Family::Link, &bytes, 7) {
                if let Ok(Message::Data { fixed, attrs, .. }) = message {
                    let _ = link(fixed, attrs);
                }
            }
            let _ = link(&bytes, Attrs(&bytes));
        }
    }
}
