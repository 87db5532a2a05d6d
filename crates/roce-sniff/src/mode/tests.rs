//! Showing and setting on trees of files.

use std::fs;

use clap::Parser as _;

use super::*;
use crate::test_tree::Tree;

const MOUNTED: &str = "proc/self/mounts = configfs /sys/kernel/config configfs rw,relatime 0 0";
const MODE: &str = "sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_mode";
const TOS: &str = "sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos";

/// A tree in which the device's directory was made, as plain files.
fn opened() -> Tree {
    let tree = Tree::soft_roce_small();
    tree.add(&format!("{MODE} = RoCE v2\n{TOS} = 0"));
    tree
}

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: ModeArgs,
}

fn args(tree: &Tree, line: &str) -> ModeArgs {
    let root = tree.path("");
    let words = ["mode", "--root", root.to_str().unwrap()];
    Line::parse_from(words.into_iter().chain(line.split_whitespace())).args
}

/// What is printed, without colour.
fn text(tree: &Tree, line: &str) -> String {
    let args = args(tree, line);
    let host = tree.host();
    let mut out = Vec::new();
    let ports = ports(&host, args.target.as_ref()).unwrap();
    let report = Report {
        ports: ports.into_iter().map(|port| State::of(&host, port).unwrap()).collect(),
        steps: Vec::new(),
        wants_change: args.set.is_some(),
        dry_run: args.dry_run,
    };
    text::write(&mut out, &report, 80).unwrap();
    anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
}

fn read(tree: &Tree, file: &str) -> String {
    fs::read_to_string(tree.path(file)).unwrap().trim_end().to_owned()
}

#[test]
fn the_mode_is_the_first_line() {
    let text = text(&opened(), "rxe0");
    assert!(text.starts_with("rxe0/1: RDMA_CM opens new connections with RoCE v2, ToS 0.\n"));
    assert!(text.contains("::ffff:10.77.0.1"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_hidden_mode_is_said_to_be_hidden_and_nothing_is_made() {
    let tree = Tree::soft_roce_small();
    tree.add(MOUNTED);
    fs::create_dir_all(tree.path("sys/kernel/config/rdma_cm")).unwrap();
    let text = text(&tree, "");
    assert!(text.starts_with("rxe0/1: RoCE v2, the kernel's default, unless"), "{text}");
    assert!(text.contains("mkdir"), "{text}");
    assert!(!tree.path("sys/kernel/config/rdma_cm/rxe0").exists());
}

#[test]
fn a_mode_without_a_gid_of_its_type_is_noted() {
    let tree = opened();
    fs::write(tree.path(MODE), "IB/RoCE v1\n").unwrap();
    assert!(text(&tree, "rxe0").contains("no GID of type RoCE v1"));
}

#[test]
fn set_writes_what_the_kernel_takes_and_reads_back() {
    let tree = opened();
    run(&args(&tree, "rxe0/1 --set v1 --set-tos 0x68 -q")).unwrap();
    assert_eq!((read(&tree, MODE).as_str(), read(&tree, TOS).as_str()), ("IB/RoCE v1", "104"));
    // The only port need not be named.
    run(&args(&tree, "--set v2 -q")).unwrap();
    assert_eq!(read(&tree, MODE), "RoCE v2");
}

#[test]
fn a_dry_run_changes_nothing() {
    let tree = opened();
    run(&args(&tree, "rxe0 --set v1 --dry-run --persist -q")).unwrap();
    assert_eq!(read(&tree, MODE), "RoCE v2");
    assert!(!tree.path("etc").exists());
}

#[test]
fn a_failure_changes_nothing_and_says_so() {
    let tree = opened();
    // A ToS file that cannot be written: a directory stands in its place.
    fs::remove_file(tree.path(TOS)).unwrap();
    fs::create_dir(tree.path(TOS)).unwrap();
    let error = run(&args(&tree, "rxe0 --set v1 --set-tos 8 -q")).unwrap_err().to_string();
    assert!(error.ends_with("nothing was changed"), "{error}");
    assert_eq!(read(&tree, MODE), "RoCE v2");
}

#[test]
fn persist_writes_a_unit_and_enables_it() {
    let tree = opened();
    run(&args(&tree, "rxe0 --set v2 --persist -q")).unwrap();
    let unit = read(&tree, "etc/systemd/system/roce-sniff-mode-rxe0.service");
    assert!(unit.contains(" mode rxe0 --set v2\n"), "{unit}");
    let wants = "etc/systemd/system/multi-user.target.wants/roce-sniff-mode-rxe0.service";
    assert!(tree.path(wants).exists());
}

#[test]
fn what_cannot_be() {
    let error = |tree: &Tree, line: &str| run(&args(tree, line)).unwrap_err().to_string();
    let none = Tree::new("sys/class/net/eth0/ifindex = 2");
    assert!(error(&none, "").contains("no RDMA device"));
    let adapters = Tree::adapters();
    assert!(error(&adapters, "mlx5_3 --set v1").contains("mlx5_0"));
    assert!(error(&adapters, "rocep2s0f0").contains("iWARP"));
    assert!(error(&adapters, "mlx5_0 --set v1").contains("configfs"));
    assert!(error(&opened(), "rxe0 --persist").contains("--set"));
    assert!(error(&opened(), "rxe0/7").contains("no port 7"));
}

#[test]
fn json_and_csv() {
    let tree = opened();
    let state = State::of(&tree.host(), PortRef { device: "rxe0".to_owned(), port: 1 }).unwrap();
    let report =
        Report { ports: vec![state], steps: Vec::new(), wants_change: false, dry_run: false };
    let mut out = Vec::new();
    json::write(&mut out, &report).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(value["schema"], "roce-sniff/mode/1");
    assert_eq!(value["ports"][0]["mode"], "v2");
    assert_eq!(value["ports"][0]["default_roce_tos"], 0);
    assert_eq!(value["changed"], false);
    out.clear();
    write_csv(&mut out, &report).unwrap();
    assert_eq!(out, b"device,port,mode,tos,kernel_default\nrxe0,1,v2,0,v2\n");
}
