//! Names, marks and payloads; what was right stays right, what was wrong stays wrong.

use roce_wire::mad::Management;
use roce_wire::mad::cm::CmMessage;
use roce_wire::{Addr, IcrcFault, Qpn};

use crate::common::{Kept, Place, fixture, fixtures, icrcs, read, said};

const MAPS: &str = "--map-ip 10.77.0.0/24=198.19.7.0/24,fd77::/64=3fff:77::/64,10.0.0.1=198.19.8.9 \
     --map-mac 02:00:00:77:00:01=02:aa:bb:cc:dd:01 --map-qpn 0x11=0xabcd,10.0.0.2:0x12=0x99 \
     --map-vlan 100=101 --map-udp-port 51141=60001 --map-cm-port 7174=27174 --map-r-key 0x1234=0x4321 \
     --map-lid 1=77";
const BACK: &str = "--map-ip 198.19.7.0/24=10.77.0.0/24,3fff:77::/64=fd77::/64,198.19.8.9=10.0.0.1 \
     --map-mac 02:aa:bb:cc:dd:01=02:00:00:77:00:01 --map-qpn 0xabcd=0x11,10.0.0.2:0x99=0x12 \
     --map-vlan 101=100 --map-udp-port 60001=51141 --map-cm-port 27174=7174 --map-r-key 0x4321=0x1234 \
     --map-lid 77=1";

#[test]
fn nothing_asked_for_is_nothing_changed() {
    let place = Place::new();
    for path in fixtures() {
        let copy = place.rewrite(&path, "copy", "");
        assert!(
            std::fs::read(&copy).unwrap() == std::fs::read(&path).unwrap(),
            "{}",
            path.display()
        );
    }
}

#[test]
fn maps_there_and_back_change_nothing() {
    let place = Place::new();
    let mut changed = 0;
    for path in fixtures() {
        // There the wire itself broke headers, and a checksum is mended.
        if path.ends_with("corrupt_b.pcap") {
            continue;
        }
        let there = place.rewrite(&path, "there", MAPS);
        let back = place.rewrite(&there, "back", BACK);
        let original = std::fs::read(&path).unwrap();
        changed += usize::from(std::fs::read(&there).unwrap() != original);
        assert!(std::fs::read(&back).unwrap() == original, "{}", path.display());
    }
    assert!(changed > 60, "{changed}");
}

#[test]
fn icrcs_keep_their_state_and_their_faults() {
    let place = Place::new();
    let faults = |frames: &[Kept]| -> Vec<Option<IcrcFault>> {
        frames.iter().map(|kept| IcrcFault::of(&kept.parse())).collect()
    };
    let mut wrong = 0;
    for path in fixtures() {
        let before = read(&path);
        for options in [MAPS, "--dscp 26 --ecn ect0", "--payload zero", "--anonymize seed"] {
            let after = read(&place.rewrite(&path, "out", options));
            assert_eq!(icrcs(&after), icrcs(&before), "{} {options}", path.display());
            let is_roce = |kept: &&Kept| kept.parse().is_roce();
            let roce = |frames: &[Kept]| frames.iter().filter(is_roce).cloned().collect::<Vec<_>>();
            assert_eq!(faults(&roce(&after)), faults(&roce(&before)), "{}", path.display());
        }
        wrong += icrcs(&before)[1];
        let fixed = read(&place.rewrite(&path, "fixed", "--fix-icrc --map-qpn 0x11=0x12"));
        let missing = faults(&before).into_iter().filter(|f| *f == Some(IcrcFault::Missing));
        // Where there is no room for an ICRC, none can be made.
        assert!(icrcs(&fixed)[1] <= missing.count(), "{}", path.display());
    }
    assert!(wrong > 20, "{wrong}");
}

#[test]
fn a_wrong_icrc_is_made_right_on_demand_alone() {
    let place = Place::new();
    let path = fixture("rxe/verbs_flush.pcap");
    assert_eq!(icrcs(&read(&path))[1], 6);
    assert_eq!(icrcs(&read(&place.rewrite(&path, "fixed", "--fix-icrc")))[1], 0);
}

#[test]
fn marks_are_on_every_roce_packet() {
    let place = Place::new();
    for name in ["made/marks.pcap", "made/vxlan.pcap", "made/vlan.pcap", "rxe/vlan_rping_v4.pcap"] {
        let path = place.rewrite(&fixture(name), "marked", "--dscp 46 --ecn ce --pcp 5");
        let verdict = said(&[], &path);
        let packets: u64 = ["v1", "v2_ipv4", "v2_ipv6"]
            .map(|version| verdict["versions"][version]["packets"].as_u64().unwrap())
            .iter()
            .sum();
        assert!(packets > 0);
        assert_eq!(verdict["dscp"]["46"], packets, "{name}");
        assert_eq!(verdict["ecn"]["ce"], packets, "{name}");
        let pcp = verdict["pcp"].as_object().unwrap();
        assert!(pcp.keys().all(|priority| priority == "5"), "{name} {pcp:?}");
        assert_eq!(verdict["icrc"]["bad"], 0);
    }
}

/// The messages of connection management in a capture, with who sent them.
fn managed(frames: &[Kept], mut look: impl FnMut(Addr, Addr, &CmMessage<'_>)) {
    for kept in frames {
        let frame = kept.parse();
        let Some((net, packet)) = frame.packet() else { continue };
        if packet.bth.dest_qp() == Qpn::GSI
            && let Ok(Management { message: Some(message), .. }) = Management::parse(packet.payload)
        {
            look(net.src(), net.dst(), &message);
        }
    }
}

#[test]
fn connection_management_follows_the_maps() {
    let place = Place::new();
    let options =
        "--map-ip 10.77.0.0/24=192.0.2.0/24 --map-qpn 0x11=0xabcd --map-cm-port 7174=7175";
    let frames = read(&place.rewrite(&fixture("rxe/rping_v4.pcap"), "out", options));
    let mut reqs = 0;
    managed(&frames, |src, _, message| {
        let CmMessage::Req(req) = message else { return };
        reqs += 1;
        let gid = req.primary.local_gid.ipv4().unwrap();
        assert_eq!((gid.to_string().as_str(), src), ("192.0.2.1", Addr::Ip(gid.into())));
        assert_eq!(req.primary.remote_gid.ipv4().unwrap().to_string(), "192.0.2.2");
        assert_eq!(req.local_qpn(), Qpn::new(0xabcd));
        assert_eq!(req.service_id.port(), Some(7175));
        let (header, _) = req.rdma_cm().unwrap();
        assert_eq!(header.source_ip().unwrap().to_string(), "192.0.2.1");
        assert_eq!(header.destination_ip().unwrap().to_string(), "192.0.2.2");
    });
    assert!(reqs > 0);
    let to_new = frames.iter().filter(|kept| {
        kept.parse().packet().is_some_and(|(_, packet)| packet.bth.dest_qp().get() == 0xabcd)
    });
    assert!(to_new.count() > 3);
}

#[test]
fn payloads_are_replaced_and_sent_again_are_the_same() {
    let place = Place::new();
    for path in fixtures() {
        let before = read(&path);
        let after = read(&place.rewrite(&path, "zero", "--payload zero"));
        let pattern = read(&place.rewrite(&path, "pattern", "--payload pattern"));
        for ((before, after), pattern) in before.iter().zip(&after).zip(&pattern) {
            let (old, new, made) = (before.parse(), after.parse(), pattern.parse());
            let Some((_, packet)) = old.packet().filter(|_| old.is_roce()) else {
                assert_eq!(before, after);
                continue;
            };
            let (_, zeroed) = new.packet().unwrap();
            let (_, filled) = made.packet().unwrap();
            assert_eq!(
                (zeroed.payload.len(), filled.payload.len()),
                (packet.payload.len(), packet.payload.len())
            );
            let is_management = packet.deth.is_some() && packet.bth.dest_qp().get() <= 1;
            if is_management || packet.lacks_headers() {
                assert_eq!(zeroed.payload, packet.payload);
            } else {
                assert!(zeroed.payload.iter().all(|byte| *byte == 0));
                assert!(
                    packet.payload.len() < 8
                        || filled.payload != packet.payload
                        || packet.payload[..8] == [0; 8]
                );
            }
        }
    }
    // soft-RoCE lost packets here and sent them again.
    let frames =
        read(&place.rewrite(&fixture("rxe/loss_write_a.pcap"), "again", "--payload pattern"));
    let mut seen = std::collections::HashMap::new();
    let mut again = 0;
    for kept in &frames {
        let frame = kept.parse();
        let Some((net, packet)) = frame.packet() else { continue };
        let key = (
            format!("{}", net.dst()),
            packet.bth.dest_qp().get(),
            packet.bth.psn().get(),
            packet.bth.opcode.0,
        );
        if let Some(before) = seen.insert(key, packet.payload.to_vec()) {
            again += usize::from(!packet.payload.is_empty());
            assert_eq!(before, packet.payload);
        }
    }
    println!("{again} sent again");
}
