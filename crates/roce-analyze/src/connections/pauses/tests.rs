use roce_wire::{FlowControl as Frames, Link, Ports};

use super::*;

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;
const PORT: MacAddr = MacAddr([2, 0xaa, 0, 0, 0, 1]);
const SPEED: Option<u64> = Some(100_000_000_000);

/// Frames for priority 3: when, and for how many quanta.
fn follow(speed: Option<u64>, frames: &[(u64, u16)], end: u64) -> FlowControl {
    let mut control = FlowControl::new(speed, 10);
    for (number, (time, quanta)) in (1..).zip(frames) {
        let made = Frames::pfc(PORT, 1 << 3, [0, 0, 0, *quanta, 0, 0, 0, 0]);
        take(&mut control, made.bytes(), number, Some(*time));
    }
    control.end(Some((0, end)));
    control
}

fn take(control: &mut FlowControl, bytes: &[u8], number: u64, time: Option<u64>) {
    let frame = Frame::parse(Link::Ethernet, bytes, bytes.len(), &Ports::default());
    match frame.content {
        roce_wire::Content::Pfc(pfc) => control.pfc(pfc, &frame, number, time),
        roce_wire::Content::Pause(pause) => control.pause(pause, &frame, number, time),
        _ => panic!("no flow control"),
    }
}

fn priority_3(control: &FlowControl) -> (&Pauses, Option<PausedTime>) {
    let pauses = &control.senders[0].priorities[3];
    (pauses, control.paused(pauses))
}

/// By hand, at 100 Gbit/s: a quantum is 512 / 100e9 s = 5.12 ns, 65535 of them 335.5392 µs.
#[test]
fn a_new_frame_overwrites_what_is_left() {
    let frames = [
        (MILLI, 1_000),
        (5 * MILLI, 65_535),
        (5 * MILLI + 100 * MICRO, 65_535),
        (10 * MILLI, 65_535),
        (10 * MILLI + 50 * MICRO, 0),
    ];
    let control = follow(SPEED, &frames, 20 * MILLI);
    let (pauses, paused) = priority_3(&control);
    assert_eq!((pauses.pauses, pauses.resumes), (4, 1));
    assert_eq!((pauses.quanta, control.peak_per_second(pauses)), (197_605, Some(4)));
    assert_eq!(pauses.frames, [1, 2, 3, 4, 5]);
    // 5.12 µs, 100 + 335.539 µs, and 50 µs until XON.
    let (total_ns, longest_ns) = (5_120 + 435_539 + 50_000, 435_539);
    let told = PausedTime { total_ns, longest_ns, longest_frames: 2, peak_second_ns: total_ns };
    assert_eq!(paused, Some(told));
    assert_eq!((control.senders[0].mac, control.senders[0].vlan), (Some(PORT), None));
}

#[test]
fn a_link_that_is_paused_half_of_the_time_is_not_paused_without_end() {
    let frames: Vec<_> = (0..1_490).map(|n| (n * 670 * MICRO, 65_535)).collect();
    let paused = priority_3(&follow(SPEED, &frames, 1_000 * MILLI)).1.unwrap();
    assert_eq!((paused.longest_ns, paused.longest_frames), (335_539, 1));
    // 1490 × 335.539 µs of 998.3 ms.
    assert_eq!(paused.total_ns, 499_953_110);
    // At 25 Gbit/s a pause takes four times as long: 1342 µs, which the next one renews.
    let slow = priority_3(&follow(Some(25_000_000_000), &frames, 2_000 * MILLI)).1.unwrap();
    assert_eq!(slow.longest_ns, 1_489 * 670 * MICRO + 1_342_156);
    assert_eq!((slow.total_ns, slow.longest_frames), (slow.longest_ns, 1_490));
}

#[test]
fn what_is_renewed_in_time_is_one_pause_up_to_the_end_of_the_capture() {
    let frames: Vec<_> = (0..3_334).map(|n| (n * 300 * MICRO, 65_535)).collect();
    let paused = priority_3(&follow(SPEED, &frames, 1_000 * MILLI)).1.unwrap();
    // The last frame comes 100 µs before the end.
    assert_eq!((paused.total_ns, paused.longest_ns), (1_000 * MILLI, 1_000 * MILLI));
    assert_eq!((paused.longest_frames, paused.peak_second_ns), (3_334, 1_000 * MILLI));
}

#[test]
fn a_pause_counts_for_the_seconds_it_lies_in() {
    // 65535 quanta at 10 Mbit/s: 3.355392 s.
    let control = follow(Some(10_000_000), &[(500 * MILLI, 65_535)], 9_000 * MILLI);
    let paused = priority_3(&control).1.unwrap();
    assert_eq!((paused.total_ns, paused.peak_second_ns), (3_355_392_000, 1_000 * MILLI));
}

#[test]
fn what_is_not_known_is_absent() {
    let frames = [(MILLI, 1_000), (2 * MILLI, 1_000)];
    let control = follow(None, &frames, 20 * MILLI);
    assert_eq!((priority_3(&control).1, priority_3(&control).0.quanta), (None, 2_000));
    assert_eq!(priority_3(&follow(Some(0), &frames, 20 * MILLI)).1, None);
    let same = follow(SPEED, &frames, 0);
    let (pauses, paused) = priority_3(&same);
    assert_eq!((paused, same.peak_per_second(pauses)), (None, None));
    let mut control = FlowControl::new(SPEED, 10);
    take(&mut control, Frames::pause(PORT, 9).bytes(), 1, None);
    control.end(Some((0, MILLI)));
    assert_eq!(control.paused(&control.senders[0].link), None);
    assert_eq!(control.senders[0].link.quanta, 9);
}

#[test]
fn ports_are_told_apart_up_to_a_bound() {
    let mut control = FlowControl::new(SPEED, 10);
    for number in 0..100 {
        let port = MacAddr([2, 0, 0, 0, 0, number]);
        let made = Frames::pfc(port, 1 << 3 | 1, [u16::from(number); 8]);
        let time = Some(u64::from(number));
        take(&mut control, made.bytes(), u64::from(number), time);
    }
    assert_eq!((control.senders.len(), control.other_frames), (64, 36));
    let last = &control.senders[63].priorities;
    assert_eq!((last[0].quanta, last[1].quanta, last[3].quanta), (63, 0, 63));
    let listed: usize = control
        .senders
        .iter()
        .flat_map(|sender| &*sender.priorities)
        .map(|pauses| pauses.frames.len())
        .sum();
    assert_eq!(listed, 128);
}
