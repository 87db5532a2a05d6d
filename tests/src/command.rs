//! The built command, as users and scripts run it.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// No run of the command may take longer than this.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The command as it is released. `ROCE_SNIFF_BIN` names one that is built already.
pub fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| match std::env::var_os("ROCE_SNIFF_BIN") {
        Some(path) => PathBuf::from(path),
        None => build("with-libpcap", &[]),
    })
}

/// The command built without libpcap.
pub fn program_without_libpcap() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("without-libpcap", &["--no-default-features"]))
}

/// Builds the command into the folder that this test was built in, and keeps a copy under `name`:
/// a build with other features takes the same place.
fn build(name: &str, features: &[&str]) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap();
    let test = std::env::current_exe().unwrap();
    // TARGET/PROFILE/deps/TEST
    let target = test.ancestors().nth(3).unwrap();
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--package=roce-sniff", "--locked", "--message-format=json"])
        .args(features)
        .arg("--target-dir")
        .arg(target)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo build failed");
    let messages = String::from_utf8(output.stdout).unwrap();
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .unwrap();
    let folder = target.join("e2e").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let (copy, draft) = (folder.join("roce-sniff"), folder.join(format!("{}", std::process::id())));
    std::fs::copy(executable, &draft).unwrap();
    std::fs::rename(&draft, &copy).unwrap();
    drop(guard);
    copy
}

/// The folder of all fixtures; the command runs in it, so that its output names short paths.
#[must_use]
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").canonicalize().unwrap()
}

/// Runs the command in the folder of fixtures.
#[must_use]
pub fn run<S: AsRef<OsStr>>(args: &[S]) -> Ended {
    start(&mut roce_sniff(args)).end()
}

/// Runs the command with these words, split at spaces.
#[must_use]
pub fn run_line(line: &str) -> Ended {
    run(&line.split_whitespace().collect::<Vec<_>>())
}

/// The command in the folder of fixtures, not started yet.
#[must_use]
pub fn roce_sniff<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(program());
    command.args(args).current_dir(fixtures()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// The words that run the command as user nobody, without privileges; `None`, and a line that says
/// why, where that cannot be had.
#[must_use]
pub fn nobody(folder: &Path) -> Option<Vec<String>> {
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"];
    if !crate::have(nobody[0], &[&nobody[1..], &["true"]].concat()) {
        return None;
    }
    // What this was built in may be closed to others. Copied by a process of its own: a file that is
    // open for writing when another thread forks is busy until that child runs something else.
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let copy = folder.join("roce-sniff");
    if !copy.exists() {
        assert!(Command::new("cp").arg(program()).arg(&copy).status().unwrap().success());
    }
    Some(nobody.into_iter().chain(copy.to_str()).map(str::to_owned).collect())
}

/// The command as user nobody runs it, not started yet.
#[must_use]
pub fn as_nobody(folder: &Path) -> Option<Command> {
    let words = nobody(folder)?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    Some(command)
}

/// Starts a command; its output is read as it comes.
#[must_use]
pub fn start(command: &mut Command) -> Running {
    start_with(command, Vec::new())
}

/// Starts a command that is given these bytes on its standard input.
#[must_use]
pub fn start_with(command: &mut Command, input: Vec<u8>) -> Running {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    thread::spawn(move || {
        // Whoever has heard enough may close it.
        let _ = stdin.write_all(&input);
    });
    let stdout = drain(child.stdout.take().unwrap());
    let stderr = drain(child.stderr.take().unwrap());
    Running { child: Held(child), stdout, stderr, since: Instant::now() }
}

fn drain(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// A process that does not outlive the test that started it.
#[derive(Debug)]
struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command at work.
#[derive(Debug)]
pub struct Running {
    child: Held,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
    since: Instant,
}

impl Running {
    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits for its end; kills it when it takes too long.
    #[must_use]
    pub fn end(mut self) -> Ended {
        let status = loop {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                break status;
            }
            assert!(self.since.elapsed() < PATIENCE, "still running after {PATIENCE:?}");
            thread::sleep(Duration::from_millis(2));
        };
        Ended {
            status,
            stdout: self.stdout.join().unwrap(),
            stderr: self.stderr.join().unwrap(),
            took: self.since.elapsed(),
        }
    }
}

/// What a command left behind.
#[derive(Debug)]
pub struct Ended {
    status: ExitStatus,
    /// What it printed.
    pub stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// How long it took.
    pub took: Duration,
}

impl Ended {
    /// What it printed, as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// What it printed to standard error.
    #[must_use]
    pub fn errors(&self) -> String {
        String::from_utf8(self.stderr.clone()).unwrap()
    }

    /// The exit code; none when a signal ended it.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The same, if it ended well.
    #[allow(clippy::must_use_candidate, reason = "some are run for what they do")]
    pub fn well(self) -> Self {
        assert_eq!(self.code(), Some(0), "{}", self.errors());
        self
    }

    /// What it printed, if it ended well and was read as one JSON document.
    #[must_use]
    pub fn json(self) -> Value {
        let ended = self.well();
        serde_json::from_slice(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {}", ended.text()))
    }
}
