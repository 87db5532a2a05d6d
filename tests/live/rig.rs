//! The command at the far end of a veth pair: frames go in at the near one.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use roce_sniff_tests::command::{Running, fixtures, program, start};
use roce_sniff_tests::have;
use roce_sniff_tests::veth::Veth;

/// The interface `far` in the namespace of that name is the one to listen on.
pub(crate) struct Rig {
    pub(crate) veth: Veth,
}

impl Rig {
    /// `None`, and a line that says why, where this cannot be had.
    pub(crate) fn new() -> Option<Self> {
        if !have("tcpreplay", &["--version"]) {
            return None;
        }
        Some(Self { veth: Veth::new()? })
    }

    /// Starts to listen at the far end, and waits until it does.
    pub(crate) fn listen(&self, line: &str) -> Running {
        self.listen_with(program(), line)
    }

    pub(crate) fn listen_with(&self, program: &Path, line: &str) -> Running {
        let words: Vec<&str> =
            std::iter::once(program.to_str().unwrap()).chain(line.split(' ')).collect();
        let running = start(&mut self.veth.at_far(&words));
        wait_for_socket(running.id());
        running
    }

    /// Sends the frames of a file into the near end.
    pub(crate) fn send_file(&self, file: &Path, options: &[&str]) {
        let mut command = self.veth.at_near(&["tcpreplay", "-q", "-i", "near"]);
        let sent = command.args(options).arg(file).output().unwrap();
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    }

    /// Sends the frames of fixtures, and waits until they must have arrived.
    pub(crate) fn send(&self, names: &[&str]) {
        for name in names {
            self.send_file(&fixtures().join(name), &["--pps=5000"]);
        }
        sleep(Duration::from_millis(400));
    }
}

/// Waits until the process has a packet socket that is running.
fn wait_for_socket(id: u32) {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(20) {
        let sockets = std::fs::read_to_string(format!("/proc/{id}/net/packet")).unwrap_or_default();
        // sk RefCnt Type Proto Iface R Rmem User Inode
        let is_running = |line: &str| line.split_whitespace().nth(5) == Some("1");
        // Until it is in its namespace, the sockets are those of others.
        let is_there =
            std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| !exe.ends_with("ip"));
        if is_there && sockets.lines().skip(1).any(is_running) {
            // The filter follows the socket.
            sleep(Duration::from_millis(200));
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("it does not listen");
}
