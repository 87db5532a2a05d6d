//! Captures from an interface for some seconds and says how many frames came and were lost.
//!
//! `live INTERFACE SECONDS [block|immediate] [all|roce|tunnels] [FILTER]`

use std::time::{Duration, Instant};

use roce_capture::{LiveCapture, LiveOptions, Next, RoceOnly};

fn main() {
    if let Err(e) = run() {
        eprintln!("{e}");
        std::process::exit(2);
    }
}

fn run() -> Result<(), roce_capture::Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let word = |n: usize| args.get(n).map(String::as_str);
    let mut options = LiveOptions::new(word(0).unwrap_or("lo"));
    let seconds = word(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    options.immediate = word(2) == Some("immediate");
    let tunnels = word(3) == Some("tunnels");
    let roce_only = RoceOnly { ports: Vec::new(), tunnels };
    options.roce_only = (tunnels || word(3) == Some("roce")).then_some(roce_only);
    options.filter = word(4).map(str::to_owned);
    let mut live = LiveCapture::open(&options)?;
    println!("{}", live.link_type());
    let started = Instant::now();
    let (mut frames, mut bytes, mut longest) = (0_u64, 0_u64, Duration::ZERO);
    let mut last = started;
    // The clock is looked at when nothing comes, and every so often when much does.
    loop {
        let look;
        match live.next_frame()? {
            Next::Frame(frame) => {
                frames = frames.saturating_add(1);
                bytes = bytes.saturating_add(frame.wire_len.into());
                look = frames.is_multiple_of(1024);
            }
            Next::Timeout => {
                longest = longest.max(last.elapsed());
                look = true;
            }
            Next::End => break,
        }
        if look {
            last = Instant::now();
            if started.elapsed() > Duration::from_secs(seconds) {
                break;
            }
        }
    }
    println!("{frames} frames, {bytes} bytes, {:?}, longest wait {longest:?}", live.stats());
    Ok(())
}
