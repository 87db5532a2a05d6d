//! Trees of a host's files for tests, made from listings: `PATH = TEXT`, `PATH -> TARGET` for a
//! link, `PATH !` for a file that cannot be read, `A..B` at the end for a run of numbers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use roce_host::Host;
use tempfile::TempDir;

pub(crate) struct Tree {
    dir: TempDir,
}

impl Tree {
    pub(crate) fn new(listing: &str) -> Self {
        let tree = Self { dir: tempfile::tempdir().unwrap() };
        tree.add(listing);
        tree
    }

    /// A soft-RoCE host, without its thousand empty GID slots.
    pub(crate) fn soft_roce_small() -> Self {
        let listing = include_str!("../../roce-host/fixtures/trees/rxe-6.12.txt");
        let lines: Vec<_> = listing.lines().filter(|line| !line.contains("..")).collect();
        Self::new(&lines.join("\n"))
    }

    /// A host with three adapters.
    pub(crate) fn adapters() -> Self {
        Self::new(include_str!("../../roce-host/fixtures/trees/adapters.txt"))
    }

    pub(crate) fn add(&self, listing: &str) {
        for line in listing.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some((path, target)) = line.split_once(" -> ") {
                symlink(target, self.prepare(path)).unwrap();
            } else if let Some(path) = line.strip_suffix(" !") {
                // A directory in its place cannot be read either, by root included.
                each(path, |path| fs::create_dir(self.prepare(path)).unwrap());
            } else {
                let (path, text) = line.split_once(" =").unwrap();
                let text = format!("{}\n", text.trim());
                each(path, |path| fs::write(self.prepare(path), &text).unwrap());
            }
        }
    }

    pub(crate) fn host(&self) -> Host {
        Host::at(self.dir.path())
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    fn prepare(&self, relative: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }
}

fn each(path: &str, mut visit: impl FnMut(&str)) {
    let name = Path::new(path).file_name().unwrap().to_str().unwrap();
    let run = name.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let Some((first, last)) = run else { return visit(path) };
    let first: u32 = first;
    for number in first..=last {
        visit(&format!("{}{number}", path.strip_suffix(name).unwrap()));
    }
}
