//! The built command, and the captures it is run on.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use roce_capture::FileReader;
use roce_wire::{Frame, IcrcState, Link, Ports};
use serde_json::Value;
use tempfile::TempDir;

/// A frame out of a file, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) time_ns: Option<u64>,
    pub(crate) link: Link,
    pub(crate) wire_len: usize,
    pub(crate) data: Vec<u8>,
}

impl Kept {
    pub(crate) fn parse(&self) -> Frame<'_> {
        Frame::parse(self.link, &self.data, self.wire_len, &Ports::default())
    }
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// All captures of the fixtures that are plain and whole.
pub(crate) fn fixtures() -> Vec<PathBuf> {
    let folders = ["made", "rxe"].map(|name| std::fs::read_dir(fixture(name)).unwrap());
    let paths = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let is_whole = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        (name.ends_with(".pcap") || name.ends_with(".pcapng")) && !name.starts_with("cut_")
    };
    let mut paths: Vec<PathBuf> = paths.filter(is_whole).collect();
    paths.sort();
    assert!(paths.len() > 100);
    paths
}

pub(crate) fn read(path: &Path) -> Vec<Kept> {
    let mut reader = FileReader::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(Kept {
            time_ns: frame.time_ns,
            link: Link::from_linktype(frame.link_type.0),
            wire_len: usize::try_from(frame.wire_len).unwrap(),
            data: frame.data.to_vec(),
        });
    }
    assert!(reader.damaged().is_none(), "{}: {:?}", path.display(), reader.damaged());
    frames
}

/// How many ICRCs are right, wrong, and not to be checked, in RoCE.
pub(crate) fn icrcs(frames: &[Kept]) -> [usize; 3] {
    let states: Vec<_> =
        frames.iter().map(Kept::parse).filter(Frame::is_roce).map(|f| f.icrc_state()).collect();
    [IcrcState::Ok, IcrcState::Bad, IcrcState::Unchecked]
        .map(|wanted| states.iter().filter(|state| **state == Some(wanted)).count())
}

pub(crate) fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roce-sniff")).args(args).output().unwrap()
}

/// A folder to write into.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Rewrites a capture into a file of the same kind; one without RoCE, in which there is nothing
    /// to change, comes out as it is.
    pub(crate) fn rewrite(&self, input: &Path, name: &str, options: &str) -> PathBuf {
        let output = self.path(name).with_extension(input.extension().unwrap());
        let mut args = vec!["rewrite", "-q", input.to_str().unwrap()];
        args.extend(["-o", output.to_str().unwrap()]);
        args.extend(options.split_whitespace());
        let ended = run(&args);
        let errors = String::from_utf8_lossy(&ended.stderr);
        if errors.contains("nothing in it is RoCE") {
            assert_eq!(said(&[], input)["verdict"], "none", "{}", input.display());
            std::fs::copy(input, &output).unwrap();
        } else {
            assert!(ended.status.success(), "{} {options}: {errors}", input.display());
        }
        output
    }

    /// What is in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// What a command says of a capture, as JSON.
pub(crate) fn said(command: &[&str], path: &Path) -> Value {
    let mut args = command.to_vec();
    args.extend(["-r", path.to_str().unwrap(), "--format", "json"]);
    let ended = run(&args);
    serde_json::from_slice(&ended.stdout)
        .unwrap_or_else(|e| panic!("{}: {e}: {:?}", path.display(), ended))
}

/// What `tshark` finds malformed in a capture; `None` where it is not installed.
pub(crate) fn malformed(path: &Path) -> Option<Vec<String>> {
    let ended = Command::new("tshark")
        .args(["-n", "-r", path.to_str().unwrap(), "-Y", "_ws.malformed", "-T", "fields"])
        .args(["-e", "frame.number"])
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&ended.stdout).lines().map(str::to_owned).collect())
}
