//! Headers that come and go: versions, families, tags, tunnels, cuts.

use roce_wire::{Carrier, Content, Frame};

use crate::common::{Kept, Place, fixture, fixtures, icrcs, malformed, read};

fn carriers(frames: &[Kept]) -> Vec<Carrier> {
    let carrier = |frame: &Frame<'_>| match &frame.content {
        Content::Packet(net, _) => Some(net.carrier()),
        _ => None,
    };
    frames.iter().map(Kept::parse).filter(Frame::is_roce).filter_map(|f| carrier(&f)).collect()
}

#[test]
fn v1_as_v2_as_v1_is_what_it_was() {
    let place = Place::new();
    // Flow labels below 2^14; any through IPv6.
    for (name, ways) in [
        ("made/v1_plain.pcap", &["v2", "v2-ipv6"][..]),
        ("made/all_opcodes_v1.pcap", &["v2", "v2-ipv6"]),
        ("made/cm_v1.pcap", &["v2"]),
        ("made/mode_mismatch_v1.pcap", &["v2"]),
    ] {
        let path = fixture(name);
        for way in ways {
            let v2 = place.rewrite(&path, "v2", &format!("--convert {way}"));
            let carriers = carriers(&read(&v2));
            let v2_carriers = [Carrier::V2Ipv4, Carrier::V2Ipv6];
            assert!(!carriers.is_empty());
            assert!(carriers.iter().all(|c| v2_carriers.contains(c)), "{name} {way}");
            assert_eq!(icrcs(&read(&v2)), icrcs(&read(&path)), "{name} {way}");
            let back = place.rewrite(&v2, "back", "--convert v1");
            let (before, after) = (read(&path), read(&back));
            if *way == "v2" {
                assert_eq!(after, before, "{name}");
            }
        }
    }
}

#[test]
fn ipv4_as_ipv6_as_ipv4_keeps_hosts_and_icrcs() {
    let place = Place::new();
    for path in fixtures() {
        let before = read(&path);
        for way in ["v1", "v2", "v2-ipv4", "v2-ipv6"] {
            let out = place.rewrite(&path, "out", &format!("--convert {way}"));
            let after = read(&out);
            assert_eq!(after.len(), before.len());
            assert_eq!(icrcs(&after), icrcs(&before), "{} {way}", path.display());
        }
    }
    let path = fixture("rxe/rping_v4.pcap");
    let v6 = place.rewrite(&path, "v6", "--convert v2-ipv6");
    assert!(carriers(&read(&v6)).iter().all(|carrier| *carrier == Carrier::V2Ipv6));
    let v4 = read(&place.rewrite(&v6, "v4", "--convert v2-ipv4"));
    for (before, after) in read(&path).iter().zip(&v4) {
        // The identification of IPv4 has no place in IPv6, and with it the ICRC is another.
        assert_eq!(before.data[..18], after.data[..18]);
        let end = before.data.len() - 4;
        assert_eq!(before.data[26..end], after.data[26..end]);
    }
}

#[test]
fn converted_packets_are_read_by_tshark() {
    let place = Place::new();
    for name in ["rxe/rping_v4.pcap", "made/cm_v1.pcap", "made/vxlan.pcap", "made/sll.pcap"] {
        let Some(before) = malformed(&fixture(name)) else { return };
        for way in ["v1", "v2", "v2-ipv4", "v2-ipv6"] {
            let out = place.rewrite(&fixture(name), "out", &format!("--convert {way}"));
            let new: Vec<_> =
                malformed(&out).unwrap().into_iter().filter(|f| !before.contains(f)).collect();
            assert!(new.is_empty(), "{name} {way} {new:?}");
        }
    }
}

#[test]
fn a_tag_or_tunnel_put_on_comes_off_again() {
    let place = Place::new();
    for (name, on, off) in [
        ("rxe/rping_v4.pcap", "--add-vlan 7:3", "--strip-vlan"),
        ("made/v1_plain.pcap", "--add-vlan 4095", "--strip-vlan"),
        ("made/decoys.pcap", "--add-vlan 1", "--strip-vlan"),
        ("rxe/rping_v4.pcap", "--add-vxlan 5:192.0.2.1-192.0.2.2", "--strip-tunnel"),
        ("made/snaplen.pcap", "--add-vxlan 5:2001:db8::1-2001:db8::2", "--strip-tunnel"),
        ("made/pfc_pause.pcap", "--add-vxlan 5:192.0.2.1-192.0.2.2", "--strip-tunnel"),
    ] {
        let path = fixture(name);
        let wrapped = place.rewrite(&path, "wrapped", on);
        assert_ne!(read(&wrapped), read(&path));
        assert_eq!(icrcs(&read(&wrapped)), icrcs(&read(&path)), "{name} {on}");
        assert_eq!(read(&place.rewrite(&wrapped, "back", off)), read(&path), "{name} {on}");
    }
}

#[test]
fn what_was_tunnelled_is_found_without_its_tunnel() {
    let place = Place::new();
    for name in ["vxlan", "geneve", "gre", "erspan", "mpls", "ipip"] {
        let path = fixture(&format!("made/{name}.pcap"));
        let before = read(&path);
        let after = read(&place.rewrite(&path, "out", "--strip-tunnel"));
        assert_eq!(icrcs(&after), icrcs(&before), "{name}");
        let left = after.iter().filter(|kept| !kept.parse().tunnels.is_empty()).count();
        assert_eq!(left, 0, "{name}");
    }
}

#[test]
fn what_is_cut_keeps_its_length_on_the_wire() {
    let place = Place::new();
    for path in fixtures() {
        let before = read(&path);
        let after = read(&place.rewrite(&path, "cut", "--headers-only"));
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(after.wire_len, before.wire_len);
            // A simple packet of pcapng that cannot say how much of it is there gets a time.
            assert!(before.time_ns.is_none() || after.time_ns == before.time_ns);
            if before.link != roce_wire::Link::Erf {
                assert!(before.data.starts_with(&after.data));
            }
            let (old, new) = (before.parse(), after.parse());
            assert_eq!(new.is_roce(), old.is_roce(), "{}", path.display());
            if let (Some((_, old)), Some((_, new))) = (old.packet(), new.packet()) {
                assert_eq!(old.payload_wire_len(), new.payload_wire_len());
                assert_eq!(old.header_len(), new.header_len());
            }
        }
    }
}
