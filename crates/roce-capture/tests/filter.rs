//! The RoCE filter keeps RoCE, however it is wrapped, and leaves the rest.
#![cfg(feature = "libpcap")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

use roce_capture::{Error, Filter, Frame, LinkType, roce_filter, roce_filter_on};

fn frame(link_type: LinkType, data: &[u8]) -> Frame<'_> {
    let wire_len = data.len() as u32;
    Frame { number: 1, time_ns: None, link_type, wire_len, data, interface: 0 }
}

fn ethernet(tags: &[u16], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![2; 12];
    for tag in tags {
        out.extend(tag.to_be_bytes());
        out.extend([0x60, 100]);
    }
    out.extend(kind.to_be_bytes());
    out.extend(payload);
    out
}

fn udp(src: u16, dst: u16) -> Vec<u8> {
    [&src.to_be_bytes()[..], &dst.to_be_bytes(), &[0, 24, 0, 0], &[0; 16]].concat()
}

fn ipv4(protocol: u8, options: usize, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 20 + options];
    out[0] = 0x45 + (options / 4) as u8;
    out[9] = protocol;
    out.extend(payload);
    out
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 40];
    out[0] = 0x60;
    out[6] = next;
    out.extend(payload);
    out
}

fn keeps(expression: &str, bytes: &[u8]) -> bool {
    Filter::new(expression, LinkType::ETHERNET).unwrap().matches(&frame(LinkType::ETHERNET, bytes))
}

#[test]
fn roce_is_kept_behind_any_tags() {
    let plain = roce_filter(&[], false);
    for tags in
        [&[][..], &[0x8100], &[0x88a8, 0x8100], &[0x8100, 0x8100], &[0x9100, 0x8100], &[0x9100; 4]]
    {
        let kept = [
            ethernet(tags, 0x8915, &[0x60; 60]),
            ethernet(tags, 0x0800, &ipv4(17, 0, &udp(50_000, 4791))),
            ethernet(tags, 0x0800, &ipv4(17, 8, &udp(69, 4791))),
            ethernet(tags, 0x0800, &ipv4(17, 0, &udp(4791, 33_333))),
            ethernet(tags, 0x86dd, &ipv6(17, &udp(50_000, 4791))),
            ethernet(tags, 0x86dd, &ipv6(60, &[17; 40])),
        ];
        for bytes in &kept {
            assert!(keeps(&plain, bytes), "{tags:x?} {bytes:x?}");
        }
        let left = [
            ethernet(tags, 0x0806, &[0; 28]),
            ethernet(tags, 0x0800, &ipv4(6, 0, &udp(50_000, 4791))),
            ethernet(tags, 0x0800, &ipv4(17, 0, &udp(50_000, 53))),
            ethernet(tags, 0x86dd, &ipv6(17, &udp(50_000, 53))),
            ethernet(tags, 0x86dd, &ipv6(58, &[0; 40])),
            ethernet(tags, 0x0800, &ipv4(47, 0, &[0; 40])),
        ];
        // Behind more tags, everything is kept.
        for bytes in left.iter().filter(|_| tags.len() <= 2) {
            assert!(!keeps(&plain, bytes), "{tags:x?} {bytes:x?}");
        }
    }
    assert!(keeps(&plain, &ethernet(&[], 0x8808, &[1, 1, 0, 8])));
}

#[test]
fn other_ports_and_tunnels_on_request() {
    let (plain, other) = (roce_filter(&[], false), roce_filter(&[9741, 4791], false));
    let tunnels = roce_filter(&[], true);
    for tags in [&[][..], &[0x8100]] {
        let moved = ethernet(tags, 0x0800, &ipv4(17, 0, &udp(50_000, 9741)));
        assert!(keeps(&other, &moved) && !keeps(&plain, &moved));
        let tunnelled = [
            ethernet(tags, 0x0800, &ipv4(17, 0, &udp(50_000, 4789))),
            ethernet(tags, 0x86dd, &ipv6(17, &udp(50_000, 6081))),
            ethernet(tags, 0x0800, &ipv4(47, 0, &[0; 40])),
            ethernet(tags, 0x86dd, &ipv6(4, &[0; 40])),
            ethernet(tags, 0x0800, &ipv4(41, 0, &[0; 40])),
            ethernet(tags, 0x8847, &[0; 40]),
        ];
        for bytes in &tunnelled {
            assert!(keeps(&tunnels, bytes) && !keeps(&plain, bytes), "{bytes:x?}");
        }
    }
}

#[test]
fn it_compiles_for_every_link_type_that_carries_ip() {
    for link_type in [0, 1, 101, 108, 113, 228, 229, 276].map(LinkType) {
        for tunnels in [false, true] {
            let expression = roce_filter(&[4791, 4792], tunnels);
            let filter = Filter::new(&expression, link_type);
            assert!(filter.is_ok(), "{link_type}: {}", filter.err().unwrap());
            let both = format!("({expression}) and (udp)");
            assert!(Filter::new(&both, link_type).is_ok(), "{link_type}");
        }
    }
    for link_type in [242, 247, 197].map(LinkType) {
        assert_eq!(roce_filter_on(link_type, &[], false), None);
    }
    let raw = Filter::new(&roce_filter(&[], false), LinkType::RAW).unwrap();
    assert!(raw.matches(&frame(LinkType::RAW, &ipv4(17, 0, &udp(50_000, 4791)))));
    assert!(!raw.matches(&frame(LinkType::RAW, &ipv4(17, 0, &udp(50_000, 53)))));
}

/// A cooked header with its Ethertype where the link type has it.
fn cooked(link_type: LinkType, kind: u16) -> Vec<u8> {
    let kind = kind.to_be_bytes();
    match link_type {
        LinkType::LINUX_SLL => [&[0; 14][..], &kind].concat(),
        _ => [&kind[..], &[0; 18]].concat(),
    }
}

#[test]
fn cooked_frames_behind_any_tags() {
    for link_type in [LinkType::LINUX_SLL, LinkType::LINUX_SLL2] {
        let expression = roce_filter_on(link_type, &[], false).unwrap();
        let filter = Filter::new(&expression, link_type).unwrap();
        for tags in [&[][..], &[0x8100], &[0x88a8, 0x8100]] {
            let bytes = |kind: u16, payload: &[u8]| {
                let kinds: Vec<u16> = tags.iter().copied().chain([kind]).collect();
                let mut out = cooked(link_type, kinds[0]);
                for kind in &kinds[1..] {
                    out.extend([0, 100]);
                    out.extend(kind.to_be_bytes());
                }
                out.extend(payload);
                out
            };
            let keeps =
                |kind, payload: &[u8]| filter.matches(&frame(link_type, &bytes(kind, payload)));
            assert!(keeps(0x8915, &[0x60; 60]), "{link_type} {tags:x?}");
            assert!(keeps(0x0800, &ipv4(17, 4, &udp(50_000, 4791))), "{link_type} {tags:x?}");
            assert!(keeps(0x86dd, &ipv6(17, &udp(50_000, 4791))), "{link_type} {tags:x?}");
            // Tagged frames are all kept.
            let is_tagged = !tags.is_empty();
            assert_eq!(keeps(0x0800, &ipv4(17, 0, &udp(50_000, 53))), is_tagged, "{link_type}");
            assert_eq!(keeps(0x86dd, &ipv6(58, &[0; 40])), is_tagged, "{link_type}");
        }
    }
}

#[test]
fn it_stands_before_a_vlan_term() {
    let both = format!("({}) and (vlan 100)", roce_filter(&[], false));
    assert!(keeps(&both, &ethernet(&[0x8100], 0x8915, &[0x60; 60])));
    assert!(!keeps(&both, &ethernet(&[], 0x8915, &[0x60; 60])));
}

#[test]
fn a_bad_expression_is_said_to_be_one() {
    let error = Filter::new("udp prot 4791", LinkType::ETHERNET).err().unwrap();
    assert!(matches!(error, Error::Filter { .. }));
    assert!(error.to_string().starts_with("filter `udp prot 4791` on Ethernet: "), "{error}");
}
