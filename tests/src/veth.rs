//! Two network namespaces, joined by a veth pair: what goes in at one end comes out at the other.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The interface `near` in one namespace and `far` in the other.
pub struct Veth {
    near: String,
    far: String,
}

impl Veth {
    /// `None`, and a line that says why, where namespaces cannot be made.
    pub fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let id = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let veth = Self { near: format!("roce-{id}-near"), far: format!("roce-{id}-far") };
        let Self { near, far } = &veth;
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
        }
        made.then_some(veth)
    }

    /// A command at the near end, not started yet.
    pub fn at_near(&self, words: &[&str]) -> Command {
        at(&self.near, words)
    }

    /// A command at the far end, not started yet.
    pub fn at_far(&self, words: &[&str]) -> Command {
        at(&self.far, words)
    }

    /// `ip` at the near end.
    pub fn ip_near(&self, args: &str) {
        assert!(ip(&format!("-n {} {args}", self.near)), "ip {args}");
    }

    /// `ip` at the far end.
    pub fn ip_far(&self, args: &str) {
        assert!(ip(&format!("-n {} {args}", self.far)), "ip {args}");
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        ip(&format!("netns del {}", self.near));
        ip(&format!("netns del {}", self.far));
    }
}

fn at(namespace: &str, words: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).args(words).env_remove("NO_COLOR");
    command
}

fn ip(args: &str) -> bool {
    Command::new("ip").args(args.split(' ')).output().is_ok_and(|output| output.status.success())
}
