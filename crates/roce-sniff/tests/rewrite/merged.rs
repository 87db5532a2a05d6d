//! Names that maps make one are told.

use crate::common::{Place, fixture, run};

/// What is said of a rewriting with these maps, without the line that counts frames.
fn told(capture: &str, maps: &[&str]) -> Vec<String> {
    let (place, input) = (Place::new(), fixture(capture));
    let out = place.path("out.pcap");
    let mut args = vec!["rewrite", input.to_str().unwrap(), "-o", out.to_str().unwrap()];
    args.extend(maps);
    let ended = run(&args);
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{errors}");
    assert!(errors.lines().all(|line| line.chars().count() <= 80 || line.contains("out.pcap")));
    let mut lines: Vec<String> = errors.lines().map(str::to_owned).collect();
    assert!(lines.remove(0).ends_with(" changed"));
    lines.sort();
    lines
}

#[test]
fn hosts_that_become_one() {
    const RPING: &str = "rxe/rping_v4.pcap";
    let one = ["roce-sniff: --map-ip: 10.77.0.1 and 10.77.0.2 are both 10.9.9.9 now"];
    assert_eq!(told(RPING, &["--map-ip", "10.77.0.1=10.9.9.9,10.77.0.2=10.9.9.9"]), one);
    // Onto one that is there already.
    let one = ["roce-sniff: --map-ip: 10.77.0.1 and 10.77.0.2 are both 10.77.0.2 now"];
    assert_eq!(told(RPING, &["--map-ip", "10.77.0.1=10.77.0.2"]), one);
    // Not by exchanging names, nor by a name that nobody has.
    for maps in ["10.77.0.1=10.77.0.2,10.77.0.2=10.77.0.1", "10.77.0.1=10.9.9.9,10.1.1.1=10.9.9.9"]
    {
        assert!(told(RPING, &["--map-ip", maps]).is_empty(), "{maps}");
    }
    assert!(told(RPING, &["--anonymize", "seed"]).is_empty());
}

#[test]
fn other_names_that_become_one() {
    let vlan = ["roce-sniff: --map-vlan: 200 and 100 are both 7 now"];
    assert_eq!(told("made/qinq.pcap", &["--map-vlan", "100=7,200=7"]), vlan);
}
