//! Two network namespaces, joined by a veth pair: frames go in at one end.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roce_sniff_tests::command::{Running, fixtures, program, start};
use roce_sniff_tests::have;

/// The interface `far` in the namespace of that name is the one to listen on.
pub(crate) struct Rig {
    near: String,
    far: String,
}

impl Rig {
    /// `None`, and a line that says why, where this cannot be had.
    pub(crate) fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !have("tcpreplay", &["--version"]) {
            return None;
        }
        let id = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let rig = Self { near: format!("sniff-{id}-near"), far: format!("sniff-{id}-far") };
        let Self { near, far } = &rig;
        let made = ip(&format!("netns add {near}"))
            && ip(&format!("netns add {far}"))
            && ip(&format!("-n {near} link add near mtu 9000 type veth peer far netns {far}"))
            && ip(&format!("-n {far} link set far mtu 9000"))
            // The kernel's own IPv6 frames would be counted, too.
            && ip(&format!("-n {near} link set near addrgenmode none"))
            && ip(&format!("-n {far} link set far addrgenmode none"))
            && ip(&format!("-n {near} link set near up"))
            && ip(&format!("-n {far} link set far up"));
        if !made {
            eprintln!("skipped: no network namespaces here (it takes root and iproute2)");
            return None;
        }
        Some(rig)
    }

    /// A command at the far end, not started yet.
    pub(crate) fn at_far(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.far]).args(words).env_remove("NO_COLOR");
        command
    }

    /// Starts to listen at the far end, and waits until it does.
    pub(crate) fn listen(&self, line: &str) -> Running {
        self.listen_with(program(), line)
    }

    pub(crate) fn listen_with(&self, program: &Path, line: &str) -> Running {
        let words: Vec<&str> =
            std::iter::once(program.to_str().unwrap()).chain(line.split(' ')).collect();
        let running = start(&mut self.at_far(&words));
        wait_for_socket(running.id());
        running
    }

    /// Sends the frames of a file into the near end.
    pub(crate) fn send_file(&self, file: &Path, options: &[&str]) {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.near, "tcpreplay", "-q", "-i", "near"]);
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

    /// `ip` at the near end.
    pub(crate) fn ip_near(&self, args: &str) {
        assert!(ip(&format!("-n {} {args}", self.near)), "ip {args}");
    }

    /// `ip` at the far end.
    pub(crate) fn ip_far(&self, args: &str) {
        assert!(ip(&format!("-n {} {args}", self.far)), "ip {args}");
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        ip(&format!("netns del {}", self.near));
        ip(&format!("netns del {}", self.far));
    }
}

fn ip(args: &str) -> bool {
    Command::new("ip").args(args.split(' ')).output().is_ok_and(|output| output.status.success())
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
