//! New names by a seed: what each address, queue pair and key is called in an anonymous trace.
//!
//! Names of one kind stay of that kind, so that a trace means what it meant: unicast, multicast,
//! link-local, private, loopback, unspecified and broadcast addresses stay so, the /24 of an IPv4
//! address and the /64 of an IPv6 address keep their hosts together, an IPv4 address is the same in
//! its GID, and what was made of a MAC address is made of its new name. Every rule is a
//! permutation, so no two names become one, and nothing is remembered.

mod addresses;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use roce_analyze::connections::port::of_flow_label;
use roce_wire::{Addr, Ports};

use self::addresses::{mac_in, with_mac};
use super::keyed::{Key, Memo};

/// What each permutation is of.
mod domain {
    pub(super) const MAC: u64 = 1;
    pub(super) const MAC_GROUP: u64 = 2;
    pub(super) const IPV4_NET: u64 = 3;
    pub(super) const IPV4_HOST: u64 = 4;
    pub(super) const IPV4_GROUP: u64 = 5;
    pub(super) const IPV6_NET: u64 = 6;
    pub(super) const IPV6_HOST: u64 = 7;
    pub(super) const IPV6_GROUP: u64 = 8;
    pub(super) const GUID: u64 = 9;
    pub(super) const LID: u64 = 10;
    pub(super) const QPN: u64 = 11;
    pub(super) const PORT: u64 = 12;
    pub(super) const R_KEY: u64 = 13;
    pub(super) const VIRT_ADDR: u64 = 14;
    pub(super) const Q_KEY: u64 = 15;
    pub(super) const DATA_32: u64 = 16;
    pub(super) const DATA_64: u64 = 17;
    pub(super) const PAYLOAD: u64 = 18;
}

/// The names by a seed.
pub(super) struct Hidden {
    key: Key,
    memo: Memo,
}

impl Hidden {
    pub(super) fn new(seed: &str) -> Self {
        Self { key: Key::of_seed(seed), memo: Memo::new() }
    }

    fn permute(&self, which: (u64, u64), bits: u32, value: u128) -> u128 {
        self.memo.get(which, value, || self.key.permute(which, bits, value))
    }

    fn permute_among(
        &self,
        which: (u64, u64),
        bits: u32,
        value: u128,
        belongs: impl Fn(u128) -> bool,
    ) -> u128 {
        self.memo.get(which, value, || self.key.permute_among(which, bits, value, belongs))
    }

    /// The number of an adapter; one that is made of a MAC address stays so.
    pub(super) fn guid(&self, guid: u64) -> u64 {
        let guid = u128::from(guid);
        if guid == 0 {
            return 0;
        }
        low_64(match mac_in(guid) {
            Some(mac) => with_mac(self.mac(mac)),
            None => {
                let belongs = |guid| guid != 0 && mac_in(guid).is_none();
                self.permute_among((domain::GUID, 0), 64, guid, belongs)
            }
        })
    }

    pub(super) fn lid(&self, lid: u16) -> u16 {
        let is_unicast = |lid: u128| (1..0xc000).contains(&lid);
        let new = if is_unicast(lid.into()) {
            self.permute_among((domain::LID, 0), 16, lid.into(), is_unicast)
        } else {
            lid.into()
        };
        u16::try_from(new).unwrap_or(lid)
    }

    /// One permutation for all hosts: a host may have several addresses, and connection management
    /// names queue pairs from another address than the data comes from.
    pub(super) fn qpn(&self, qpn: u32) -> u32 {
        let is_plain = |qpn: u128| !matches!(qpn, 0 | 1 | 0xff_ffff);
        if !is_plain(qpn.into()) {
            return qpn;
        }
        let new = self.permute_among((domain::QPN, 0), 24, qpn.into(), is_plain);
        u32::try_from(new).unwrap_or(qpn)
    }

    /// A UDP source port of RoCE; those that Linux makes stay in their range.
    pub(super) fn src_port(&self, port: u16, ports: &Ports) -> u16 {
        // What these mean depends on their number.
        let is_known = |port: u16| matches!(port, 0 | 4789 | 6081) || ports.contains(port);
        let is_low = |n: u128| u16::try_from(n).is_ok_and(|port| port < 0xc000 && !is_known(port));
        let number = u128::from(port);
        let new = if is_known(port) {
            number
        } else if port >= 0xc000 {
            0xc000 | self.permute((domain::PORT, 1), 14, number & 0x3fff)
        } else {
            self.permute_among((domain::PORT, 2), 16, number, is_low)
        };
        u16::try_from(new).unwrap_or(port)
    }

    /// The flow label that makes Linux take the port that the old label's port is renamed to.
    pub(super) fn flow_label(&self, label: u32, ports: &Ports) -> u32 {
        if label == 0 {
            return 0;
        }
        let new = u32::from(self.src_port(of_flow_label(label), ports)) & 0x3fff;
        // A label of 0 would mean that there is none.
        if new == 0 { 0x4001 } else { new }
    }

    /// Of a host's memory; 0 is what a request for no bytes has.
    pub(super) fn r_key(&self, host: Addr, key: u32) -> u32 {
        if key == 0 {
            return 0;
        }
        let which = (domain::R_KEY, of_host(host));
        let new = self.permute_among(which, 32, key.into(), |key| key != 0);
        u32::try_from(new).unwrap_or(key)
    }

    /// Moved by whole pages, as far as everything else of the same memory region.
    pub(super) fn virt_addr(&self, host: Addr, r_key: u32, addr: u64) -> u64 {
        let by = self.key.number([domain::VIRT_ADDR, of_host(host), r_key.into()]);
        // Addresses of processes have 47 bits: the sum has no more than 48.
        addr.wrapping_add(by & 0x7fff_ffff_f000)
    }

    /// Well-known keys, and the bit that says that the system owns it, stay.
    pub(super) fn q_key(&self, key: u32) -> u32 {
        // Of QP1, and Linux's `RDMA_UDP_QKEY`.
        let is_known = |key: u128| matches!(key, 0 | 0x8001_0000 | 0x0123_4567);
        if is_known(key.into()) {
            return key;
        }
        let (head, low) = split(key.into(), 31);
        let belongs = |low: u128| !is_known(head | low);
        let new = head | self.permute_among((domain::Q_KEY, low_64(head)), 31, low, belongs);
        u32::try_from(new).unwrap_or(key)
    }

    /// Four bytes of the application: equal ones stay equal.
    pub(super) fn data_32(&self, data: u32) -> u32 {
        let new = self.permute((domain::DATA_32, 0), 32, data.into());
        u32::try_from(new).unwrap_or(0)
    }

    /// Eight bytes of the application: equal ones stay equal, and 0 stays 0.
    pub(super) fn data_64(&self, data: u64) -> u64 {
        if data == 0 {
            return 0;
        }
        low_64(self.permute_among((domain::DATA_64, 0), 64, data.into(), |data| data != 0))
    }

    /// Fills a payload. The same packet sent again has the same.
    pub(super) fn payload(&self, dst: Addr, qpn: u32, psn: u32, out: &mut [u8]) {
        let packet = u64::from(qpn) << 24 | u64::from(psn);
        self.key.fill([domain::PAYLOAD, of_host(dst), packet], out);
    }
}
/// A number of the wire.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// The last `N` bytes of a number.
fn low_bytes<const N: usize>(number: u128) -> [u8; N] {
    let bytes = number.to_be_bytes();
    bytes.last_chunk::<N>().copied().unwrap_or([0; N])
}

fn low_64(number: u128) -> u64 {
    u64::from_be_bytes(low_bytes(number))
}

/// A number without its lower bits, and these.
fn split(number: u128, bits: u32) -> (u128, u128) {
    let mask = 1_u128.checked_shl(bits).unwrap_or(0).wrapping_sub(1);
    (number & !mask, number & mask)
}

/// A host as a number; IPv4 is the same on v1 and on v2.
fn of_host(addr: Addr) -> u64 {
    let number = match addr {
        Addr::Ip(IpAddr::V4(ip)) => ip.to_ipv6_mapped().to_bits(),
        Addr::Ip(IpAddr::V6(ip)) => ip.to_bits(),
        Addr::Lid(lid) => u128::from(lid),
    };
    low_64(number >> 64).rotate_left(32) ^ low_64(number)
}
