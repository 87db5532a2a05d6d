//! Whose adapter it is, by the first three bytes of its GUID (IEEE registry of OUIs).
//!
//! The makers of RDMA adapters; of Intel's several hundred numbers those of its server adapters.

use roce_wire::MacAddr;
use roce_wire::mad::cm::Guid;

/// A maker and its numbers.
const MAKERS: [(&str, &[u32]); 7] = [
    (
        "NVIDIA (Mellanox)",
        &[
            0x00_02c9, 0x00_044b, 0x00_258b, 0x04_3f72, 0x08_c0eb, 0x0c_42a1, 0x10_70fd, 0x1c_34da,
            0x24_8a07, 0x2c_5eab, 0x3c_6d66, 0x48_b02d, 0x50_6b4b, 0x58_a2e1, 0x5c_2573, 0x7c_fe90,
            0x90_0a84, 0x94_6dae, 0x98_039b, 0x9c_0591, 0x9c_63c0, 0xa0_88c2, 0xb0_cf0e, 0xb8_3fd2,
            0xb8_599f, 0xb8_cef6, 0xb8_e924, 0xc4_70bd, 0xe0_9d73, 0xe4_1d2d, 0xe8_ebd3, 0xec_0d9a,
            0xf4_5214, 0xfc_6a1c,
        ],
    ),
    (
        "Broadcom",
        &[
            0x00_05b5, 0x00_0af7, 0x00_0db6, 0x00_1018, 0x00_1be9, 0x00_620b, 0x04_3201, 0x14_23f2,
            0x14_23f3, 0x18_c086, 0x38_bab0, 0x48_57d2, 0x5c_6f69, 0x6c_92cf, 0x70_b7e4, 0x84_160c,
            0x8c_8474, 0x9c_2183, 0xb0_2628, 0xbc_97e1, 0xd4_0129, 0xd4_04e6, 0xe0_3e44, 0xe4_3d1a,
        ],
    ),
    ("Chelsio", &[0x00_0743]),
    ("AMD (Xilinx)", &[0x00_0a35, 0x00_5d03]),
    (
        "Marvell (QLogic)",
        &[0x00_0e1e, 0x00_0fb7, 0x00_1b32, 0x00_24ff, 0x00_c0dd, 0x00_e08b, 0x34_800d, 0xf4_e9d4],
    ),
    ("AMD (Pensando)", &[0x00_aecd, 0x04_9081]),
    (
        "Intel",
        &[
            0x30_3ea7, 0xf8_f21e, 0x3c_fdfe, 0x40_a6b7, 0x50_7c6f, 0x68_05ca, 0x6c_fe54, 0x90_e2ba,
            0xa0_369f, 0xb4_8351, 0xb4_9691,
        ],
    ),
];

/// What a GUID says of its adapter, in words; `None` when its maker is not known here.
pub(crate) fn of(guid: Guid) -> Option<String> {
    match mac_of(guid) {
        // The bit for local administration: such addresses are made up by software.
        Some(mac) if mac.0[0] & 2 != 0 => Some(format!("made from the local MAC {mac}")),
        Some(mac) => Some(match maker(oui(mac.0)) {
            Some(maker) => format!("{maker}, MAC {mac}"),
            None => format!("made from the MAC {mac}"),
        }),
        None => {
            let [a, b, c, ..] = guid.get().to_be_bytes();
            maker(oui([a, b, c, 0, 0, 0])).map(str::to_owned)
        }
    }
}

/// The MAC that an EUI-64 was made from: `ff:fe` in its middle, the local bit flipped.
fn mac_of(guid: Guid) -> Option<MacAddr> {
    match guid.get().to_be_bytes() {
        [a, b, c, 0xff, 0xfe, d, e, g] => Some(MacAddr([a ^ 2, b, c, d, e, g])),
        _ => None,
    }
}

fn oui(mac: [u8; 6]) -> u32 {
    u32::from_be_bytes([0, mac[0], mac[1], mac[2]])
}

fn maker(oui: u32) -> Option<&'static str> {
    let mut makers = MAKERS.iter().filter(|(_, numbers)| numbers.contains(&oui));
    makers.next().map(|(maker, _)| *maker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_name_their_makers() {
        let of = |guid| super::of(Guid::new(guid)).unwrap_or_default();
        assert_eq!(of(0xb8ce_f603_0000_0001), "NVIDIA (Mellanox)");
        assert_eq!(of(0x0000_00ff_fe77_0002), "made from the local MAC 02:00:00:77:00:02");
        assert_eq!(of(0x42a6_b7ff_fe01_0203), "Intel, MAC 40:a6:b7:01:02:03");
        assert_eq!(of(0x1234_5678_9abc_def0), "");
    }
}
