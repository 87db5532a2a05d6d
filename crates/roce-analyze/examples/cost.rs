//! What a packet costs the tracker, and a connection: `cargo run --release --example cost`.
//!
//! SENDs and their acknowledgements, round robin over 1 to 100 thousand connections, which is the
//! worst order for the caches. All that a packet costs is timed but reading it and its ICRC.
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "an example; the allocator counts bytes"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use roce_analyze::connections::{Config, Tracker};
use roce_wire::{Link, Ports};

const PACKETS: u32 = 4_000_000;

/// Ethernet, IPv4, UDP, BTH of a SEND Only with 16 bytes, ICRC.
const SEND: [u8; 74] = frame(0x04, 60, 40);
/// The same of an Acknowledge.
const ACK: [u8; 74] = frame(0x11, 48, 28);

const fn frame(opcode: u8, ip_len: u8, udp_len: u8) -> [u8; 74] {
    let mut f = [0; 74];
    (f[12], f[14], f[17], f[23]) = (0x08, 0x45, ip_len, 17);
    (f[34], f[36], f[37], f[39]) = (0xc0, 0x12, 0xb7, udp_len);
    (f[42], f[44], f[45], f[50], f[54]) = (opcode, 0xff, 0xff, 0x80, 0x1f);
    f
}

/// The frame of packet `n`: even ones are requests, odd ones their answers.
fn packet(n: u32, connections: u32) -> ([u8; 74], usize) {
    let (turn, is_ack) = (n / 2, n % 2 == 1);
    let (connection, psn) = (turn % connections, turn / connections);
    let (mut f, len) = if is_ack { (ACK, 62) } else { (SEND, 74) };
    // Sixteen hosts on either side.
    let hosts = [connection as u8 & 15, connection as u8 >> 4 & 15 | 16];
    let [src, dst] = if is_ack { [hosts[1], hosts[0]] } else { hosts };
    (f[26], f[29], f[30], f[33]) = (10, src, 10, dst);
    let qpn = (connection + 2) << 1 | u32::from(is_ack);
    let product = u64::from((connection + 2) << 1) * u64::from((connection + 2) << 1 | 1);
    let folded = product ^ product >> 20;
    let folded = (folded ^ folded >> 40) as u32 & 0xf_ffff;
    let port = (folded & 0x3fff ^ folded >> 14) as u16 | 0xc000;
    f[34..36].copy_from_slice(&port.to_be_bytes());
    f[47..50].copy_from_slice(&qpn.to_be_bytes()[1..]);
    f[51..54].copy_from_slice(&psn.to_be_bytes()[1..]);
    f[18..20].copy_from_slice(&(n as u16).to_be_bytes());
    (f, len)
}

fn main() {
    let ports = Ports::default();
    for connections in [1u32, 10, 100, 1_000, 10_000, 100_000] {
        let frames: Vec<_> = (0..PACKETS.min(connections * 40).max(200_000))
            .map(|n| packet(n, connections))
            .collect();
        let mut all = f64::MAX;
        let mut used = 0;
        let mut count = 0;
        for _ in 0..3 {
            let before = USED.load(Ordering::Relaxed);
            let config = Config::default().with_check_icrc(false).with_max_histograms(0);
            let mut tracker = Tracker::new(config);
            // The first half makes the connections, the second is timed.
            let (warm, timed) = frames.split_at(frames.len() / 2);
            let mut number = 0u64;
            let mut feed = |frames: &[([u8; 74], usize)]| {
                for (bytes, len) in frames {
                    number += 1;
                    let bytes = (Link::Ethernet, &bytes[..*len], *len);
                    assert!(tracker.observe_plain(bytes, &ports, number, Some(number * 1000)));
                }
            };
            feed(warm);
            let start = Instant::now();
            feed(timed);
            all = all.min(start.elapsed().as_nanos() as f64 / timed.len() as f64);
            used = USED.load(Ordering::Relaxed).saturating_sub(before) / connections as usize;
            count = tracker.finish().connections.len();
        }
        println!(
            "{connections:>7} connections ({count} found): {all:.0} ns a packet; {used} bytes a \
             connection"
        );
    }
}

static USED: AtomicUsize = AtomicUsize::new(0);

/// Counts what is allocated.
struct Counting;

// SAFETY: it calls the system's allocator with what it was given and keeps a sum beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        USED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
