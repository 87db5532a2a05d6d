//! Attributes: type-length-value, nested, 4-byte aligned, in the host's byte order.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netlink_packet_core::{NlaBuffer, NlasIterator};

pub(crate) const DEV_INDEX: u16 = 1;
pub(crate) const DEV_NAME: u16 = 2;
pub(crate) const PORT_INDEX: u16 = 3;
pub(crate) const FW_VERSION: u16 = 5;
pub(crate) const NODE_GUID: u16 = 6;
pub(crate) const PORT_STATE: u16 = 12;
pub(crate) const PORT_PHYS_STATE: u16 = 13;
pub(crate) const RES_QP: u16 = 19;
pub(crate) const RES_QP_ENTRY: u16 = 20;
pub(crate) const RES_LQPN: u16 = 21;
pub(crate) const RES_RQPN: u16 = 22;
pub(crate) const RES_RQ_PSN: u16 = 23;
pub(crate) const RES_SQ_PSN: u16 = 24;
pub(crate) const RES_TYPE: u16 = 26;
pub(crate) const RES_STATE: u16 = 27;
pub(crate) const RES_PID: u16 = 28;
pub(crate) const RES_KERN_NAME: u16 = 29;
pub(crate) const RES_CM_ID: u16 = 30;
pub(crate) const RES_CM_ID_ENTRY: u16 = 31;
pub(crate) const RES_PS: u16 = 32;
pub(crate) const RES_SRC_ADDR: u16 = 33;
pub(crate) const RES_DST_ADDR: u16 = 34;
pub(crate) const NDEV_INDEX: u16 = 50;
pub(crate) const NDEV_NAME: u16 = 51;
pub(crate) const RES_CM_IDN: u16 = 63;
pub(crate) const DEV_PROTOCOL: u16 = 67;
pub(crate) const STAT_HWCOUNTERS: u16 = 80;
pub(crate) const STAT_HWCOUNTER_ENTRY: u16 = 81;
pub(crate) const STAT_HWCOUNTER_ENTRY_NAME: u16 = 82;
pub(crate) const STAT_HWCOUNTER_ENTRY_VALUE: u16 = 83;

/// The attributes that hold attributes. The kernel does not mark all of them as nested.
const TABLES: [u16; 6] =
    [RES_QP, RES_QP_ENTRY, RES_CM_ID, RES_CM_ID_ENTRY, STAT_HWCOUNTERS, STAT_HWCOUNTER_ENTRY];

/// A run of attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attrs<'a>(pub(crate) &'a [u8]);

impl<'a> Attrs<'a> {
    /// The attributes in order: type and value. Ends at the first that is damaged, which
    /// [`Attrs::check`] reports.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        NlasIterator::new(self.0).map_while(Result::ok).map(|nla| (nla.kind(), value(nla)))
    }

    /// Says what is wrong with the first damaged attribute of this run, or of the tables in it down
    /// to `depth`.
    pub(crate) fn check(self, depth: u8) -> Result<(), String> {
        for nla in NlasIterator::new(self.0) {
            let nla = nla.map_err(|error| error.to_string())?;
            if TABLES.contains(&nla.kind()) && depth > 0 {
                Attrs(value(nla)).check(depth.saturating_sub(1))?;
            }
        }
        Ok(())
    }

    /// The first attribute of a type.
    pub(crate) fn get(self, kind: u16) -> Option<&'a [u8]> {
        self.iter().find(|(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// The attributes inside the first attribute of a type; none when it is not there.
    pub(crate) fn nested(self, kind: u16) -> Attrs<'a> {
        Attrs(self.get(kind).unwrap_or_default())
    }

    /// The contents of all attributes of a type.
    pub(crate) fn all(self, kind: u16) -> impl Iterator<Item = Attrs<'a>> {
        self.iter().filter(move |(found, _)| *found == kind).map(|(_, value)| Attrs(value))
    }

    pub(crate) fn u8(self, kind: u16) -> Option<u8> {
        self.get(kind)?.first().copied()
    }

    pub(crate) fn u32(self, kind: u16) -> Option<u32> {
        Some(u32::from_ne_bytes(*self.get(kind)?.first_chunk()?))
    }

    pub(crate) fn u64(self, kind: u16) -> Option<u64> {
        Some(u64::from_ne_bytes(*self.get(kind)?.first_chunk()?))
    }

    /// Text up to its zero byte.
    pub(crate) fn text(self, kind: u16) -> Option<String> {
        let bytes = self.get(kind)?.split(|byte| *byte == 0).next()?;
        let text = String::from_utf8_lossy(bytes);
        Some(text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect())
    }

    /// A `sockaddr` of IPv4 or IPv6. Native InfiniBand addresses are passed over.
    pub(crate) fn socket_addr(self, kind: u16) -> Option<SocketAddr> {
        let bytes = self.get(kind)?;
        let (family, rest) = bytes.split_first_chunk::<2>()?;
        let (port, rest) = rest.split_first_chunk::<2>()?;
        let ip = match i32::from(u16::from_ne_bytes(*family)) {
            libc::AF_INET => IpAddr::V4(Ipv4Addr::from(*rest.first_chunk::<4>()?)),
            libc::AF_INET6 => {
                let (_flow, rest) = rest.split_first_chunk::<4>()?;
                IpAddr::V6(Ipv6Addr::from(*rest.first_chunk::<16>()?))
            }
            _ => return None,
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes(*port)))
    }
}

/// The value of an attribute, whose length the iterator has checked.
fn value(nla: NlaBuffer<&[u8]>) -> &[u8] {
    let length = usize::from(nla.length());
    nla.into_inner().get(netlink_packet_core::NLA_HEADER_SIZE..length).unwrap_or_default()
}

/// For tests, an attribute: length, type, value, filled up to four bytes.
#[cfg(test)]
pub(crate) fn attr(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap();
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
