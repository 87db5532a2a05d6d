//! Interfaces that cannot be captured from: exit code 2 and a line that says what to do.

use roce_sniff_tests::command::{Ended, nobody, program, start};

use crate::rig::Rig;

fn refusal(ended: &Ended) -> String {
    let said = ended.errors();
    assert_eq!(ended.code(), Some(2), "{said}");
    assert!(said.starts_with("roce-sniff: ") && said.lines().count() == 1, "{said}");
    assert!(ended.stdout.is_empty(), "{}", ended.text());
    said
}

#[test]
fn an_interface_that_is_down() {
    let Some(rig) = Rig::new() else { return };
    rig.veth.ip_far("link set far down");
    for words in [&["far"][..], &["packets", "-i", "far"]] {
        let words: Vec<&str> = [&[program().to_str().unwrap()], words].concat();
        let said = refusal(&start(&mut rig.veth.at_far(&words)).end());
        assert!(
            said.contains("far: the interface is down") && said.contains("ip link set far up"),
            "{said}"
        );
    }
}

#[test]
fn an_interface_that_is_not_there() {
    let Some(rig) = Rig::new() else { return };
    let said =
        refusal(&start(&mut rig.veth.at_far(&[program().to_str().unwrap(), "-i", "near"])).end());
    assert!(said.contains("near: no such interface"), "{said}");
    let names: Vec<&str> = said.trim_end().rsplit(": ").next().unwrap().split(", ").collect();
    assert!(names.contains(&"far") && names.contains(&"lo"), "{said}");
}

#[test]
fn permission_is_missing() {
    let Some(rig) = Rig::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(nobody) = nobody(folder.path()) else { return };
    let nobody: Vec<&str> = nobody.iter().map(String::as_str).collect();
    for words in [&["far"][..], &["-i", "any"], &["packets", "far"]] {
        let words = [&nobody[..], words].concat();
        let said = refusal(&start(&mut rig.veth.at_far(&words)).end());
        assert!(said.contains("no permission to capture"), "{said}");
        assert!(
            said.contains("sudo") && said.contains("setcap cap_net_raw,cap_net_admin+ep"),
            "{said}"
        );
    }
}

#[test]
fn a_filter_that_is_none() {
    let Some(rig) = Rig::new() else { return };
    let words = [program().to_str().unwrap(), "far", "-f", "udp prot 4791"];
    let said = refusal(&start(&mut rig.veth.at_far(&words)).end());
    assert!(said.contains("`udp prot 4791`"), "{said}");
}
