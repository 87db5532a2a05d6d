//! RDMA_CM's mode and ToS: reading, planning, doing and undoing, on trees of files.

use std::fs;
use std::path::Path;

use crate::tree::Tree;
use roce_host::{Change, Error, Host, ModeStatus, Obstacle, PortRef, RoceMode, Step, Target, Unit};

const MOUNTED: &str = "proc/self/mounts = configfs /sys/kernel/config configfs rw,relatime 0 0";
const CM: &str = "sys/kernel/config/rdma_cm";

fn port(device: &str) -> PortRef {
    PortRef { device: device.to_owned(), port: 1 }
}

fn hidden(host: &Host) -> Obstacle {
    match host.mode(&port("rxe0")).unwrap() {
        ModeStatus::Hidden(obstacle) => obstacle,
        known @ ModeStatus::Known { .. } => panic!("{known:?}"),
    }
}

fn plan(tree: &Tree, target: &str, mode: Option<RoceMode>) -> Result<Vec<String>, Error> {
    let target: Target = target.parse().unwrap();
    let plan = tree.host().plan(&target, &Change { mode, ..Change::default() })?;
    let root = format!("{}/", tree.host().root().display());
    Ok(plan.steps.iter().map(|step| step.to_string().replace(&root, "/")).collect())
}

/// A tree in which the device's directory was made, as plain files.
fn opened(mode: &str) -> Tree {
    let tree = Tree::soft_roce_small();
    tree.add(&format!(
        "{CM}/rxe0/ports/1/default_roce_mode = {mode}\n{CM}/rxe0/ports/1/default_roce_tos = 0"
    ));
    tree
}

#[test]
fn each_obstacle_is_named() {
    let tree = Tree::soft_roce_small();
    assert!(matches!(hidden(&tree.host()), Obstacle::NoConfigfs { .. }));

    fs::create_dir_all(tree.path("sys/kernel/config")).unwrap();
    let obstacle = hidden(&tree.host());
    assert!(matches!(obstacle, Obstacle::NotMounted { .. }));
    assert!(obstacle.to_string().contains("mount -t configfs none"), "{obstacle}");

    tree.add(MOUNTED);
    assert_eq!(hidden(&tree.host()), Obstacle::NotLoaded);

    fs::create_dir_all(tree.path("sys/module/rdma_cm")).unwrap();
    assert_eq!(hidden(&tree.host()), Obstacle::NotBuilt);

    fs::create_dir_all(tree.path(CM)).unwrap();
    assert_eq!(hidden(&tree.host()), Obstacle::NotMade { dir: tree.path(CM).join("rxe0") });
    // Looking changed nothing.
    assert!(!tree.path(CM).join("rxe0").exists());
}

#[test]
fn configfs_mounted_elsewhere() {
    let tree = Tree::soft_roce_small();
    tree.add("proc/self/mounts = configfs /config configfs rw 0 0");
    tree.add("config/rdma_cm/rxe0/ports/1/default_roce_mode = RoCE v2");
    let status = tree.host().mode(&port("rxe0")).unwrap();
    assert!(matches!(status, ModeStatus::Known { mode: Some(RoceMode::V2), tos: None, .. }));
}

#[test]
fn the_mode_is_read() {
    for (text, mode) in [
        ("IB/RoCE v1", Some(RoceMode::V1)),
        ("RoCE v1", Some(RoceMode::V1)),
        ("RoCE v2", Some(RoceMode::V2)),
        ("RoCE v3", None),
    ] {
        assert_eq!(
            opened(text).host().mode(&port("rxe0")).unwrap(),
            ModeStatus::Known { mode, text: Some(text.to_owned()), tos: Some(0) }
        );
    }
}

/// The documented procedure, word for word.
#[test]
fn the_steps_are_the_documented_ones() {
    let tree = Tree::adapters();
    fs::create_dir_all(tree.path("sys/kernel/config")).unwrap();
    assert_eq!(
        plan(&tree, "mlx5_0", Some(RoceMode::V1)).unwrap(),
        [
            "mount -t configfs none /sys/kernel/config",
            "test -d /sys/kernel/config/rdma_cm   # else: modprobe rdma_cm",
            "mkdir /sys/kernel/config/rdma_cm/mlx5_0",
            "echo \"IB/RoCE v1\" > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode",
            "cat /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode   # must say IB/RoCE v1",
        ]
    );
    tree.add(MOUNTED);
    fs::create_dir_all(tree.path(CM)).unwrap();
    assert_eq!(plan(&tree, "mlx5_0/1", None).unwrap(), ["mkdir /sys/kernel/config/rdma_cm/mlx5_0"]);
}

#[test]
fn plans_that_cannot_be() {
    let tree = Tree::adapters();
    tree.add(MOUNTED);
    let v2 = Some(RoceMode::V2);
    let error = |target: &str| plan(&tree, target, v2).unwrap_err();
    assert!(matches!(error("mlx5_0"), Error::Obstacle(Obstacle::NotLoaded)));
    assert!(matches!(error("mlx5_0/2"), Error::NoSuchPort { .. }));
    assert!(matches!(error("mlx5_3"), Error::NoSuchDevice { .. }));
    assert!(error("mlx5_10").to_string().contains("link layer InfiniBand"));
    assert!(error("rocep2s0f0").to_string().contains("iWARP"));
    let roce = tree.host().all_roce_ports().unwrap();
    assert_eq!(roce, [port("mlx5_0")]);
    let none = Tree::new(MOUNTED);
    assert!(matches!(none.host().all_roce_ports(), Err(Error::NoRdmaDevice { .. })));
    assert!(matches!(plan(&none, "mlx5_0", v2), Err(Error::NoRdmaDevice { .. })));
}

#[test]
fn applying_writes_and_reads_back() {
    let tree = opened("IB/RoCE v1");
    let change = Change { mode: Some(RoceMode::V2), tos: Some(104), persist: None };
    let plan = tree.host().plan(&"rxe0".parse().unwrap(), &change).unwrap();
    let mut seen = 0;
    let applied = plan.apply(&mut |_| seen += 1).unwrap();
    assert_eq!(seen, plan.steps.len());
    let (mode, tos) = (
        format!("{CM}/rxe0/ports/1/default_roce_mode"),
        format!("{CM}/rxe0/ports/1/default_roce_tos"),
    );
    assert_eq!((tree.text(&mode).as_str(), tree.text(&tos).as_str()), ("RoCE v2", "104"));
    assert!(applied.undo().is_empty());
    assert_eq!((tree.text(&mode).as_str(), tree.text(&tos).as_str()), ("IB/RoCE v1", "0"));
}

/// `/proc/self/oom_score_adj` refuses words with EINVAL, as the kernel refuses a mode.
#[test]
fn a_refusal_is_explained_and_changes_nothing() {
    let tree = opened("RoCE v2");
    let file = tree.path(CM).join("rxe0/ports/1/default_roce_mode");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/proc/self/oom_score_adj", &file).unwrap();
    let change = Change { mode: Some(RoceMode::V1), ..Change::default() };
    let plan = tree.host().plan(&"rxe0/1".parse().unwrap(), &change).unwrap();
    let failed = plan.apply(&mut |_| ()).unwrap_err();
    assert!(matches!(failed.step, Step::WriteMode { .. }));
    assert!(matches!(failed.error, Error::ModeRefused { mode: RoceMode::V1, .. }));
    assert_eq!(
        failed.to_string(),
        "the kernel refuses RoCE v1 on rxe0/1: the port has no GID of that type, only RoCE v2; \
         soft-RoCE and some adapters know v2 alone; nothing was changed"
    );
}

/// The second write fails (`/dev/full`): the first is taken back, and so are directories.
#[test]
fn a_failure_takes_everything_back() {
    let tree = opened("IB/RoCE v1");
    let tos = tree.path(CM).join("rxe0/ports/1/default_roce_tos");
    fs::remove_file(&tos).unwrap();
    std::os::unix::fs::symlink("/dev/full", &tos).unwrap();
    let change = Change { mode: Some(RoceMode::V2), tos: Some(96), persist: None };
    let plan = tree.host().plan(&"rxe0".parse().unwrap(), &change).unwrap();
    let failed = plan.apply(&mut |_| ()).unwrap_err();
    assert!(matches!(failed.step, Step::WriteTos { tos: 96, .. }), "{failed}");
    assert_eq!(tree.text(&format!("{CM}/rxe0/ports/1/default_roce_mode")), "IB/RoCE v1");

    // A device's directory that stays empty: this is not configfs.
    let tree = Tree::soft_roce_small();
    fs::create_dir_all(tree.path(CM)).unwrap();
    let plan = tree.host().plan(&"rxe0".parse().unwrap(), &change).unwrap();
    assert!(plan.apply(&mut |_| ()).unwrap_err().left.is_empty());
    assert!(!tree.path(CM).join("rxe0").exists());
}

#[test]
fn a_value_that_does_not_stick_is_reported() {
    let tree = opened("RoCE v2");
    let file = tree.path(CM).join("rxe0/ports/1/default_roce_mode");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/null", &file).unwrap();
    let change = Change { mode: Some(RoceMode::V1), ..Change::default() };
    let plan = tree.host().plan(&"rxe0".parse().unwrap(), &change).unwrap();
    let failed = plan.apply(&mut |_| ()).unwrap_err();
    assert!(matches!(failed.error, Error::NotVerified { .. }), "{failed}");
}

#[test]
fn the_unit_is_installed_and_taken_back() {
    let tree = opened("RoCE v2");
    let target: Target = "rxe0".parse().unwrap();
    let mode = Some(RoceMode::V2);
    let unit = Unit::new(Path::new("/usr/bin/roce-sniff"), &target, mode, None);
    let change = Change { mode, tos: None, persist: Some(unit) };
    let plan = tree.host().plan(&target, &change).unwrap();
    let first = plan.apply(&mut |_| ()).unwrap();
    let wants = "etc/systemd/system/multi-user.target.wants/roce-sniff-mode-rxe0.service";
    // Reading through the link shows that it leads to the unit.
    assert!(tree.text(wants).contains("ExecStart=/usr/bin/roce-sniff mode rxe0 --set v2"));
    // Doing it again is fine, and undoing the second leaves the first.
    assert!(plan.apply(&mut |_| ()).unwrap().undo().is_empty());
    assert!(tree.text(wants).contains("ExecStart="));
    assert!(first.undo().is_empty());
    assert!(!tree.path("etc").exists());
}
