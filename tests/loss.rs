//! Scenarios with random losses and frames of scenarios at random: what the analysis says then.

#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may be blunt")]

use std::convert::Infallible;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use roce_analyze::connections::{Config, Loss, Report, Tracker};
use roce_analyze::findings::{Policy, evaluate};
use roce_craft::truth::Lost;
use roce_craft::{BUILTIN, Craft, Scenario, Truth};
use roce_wire::{Frame, Link, Ports};

struct Held {
    time: u64,
    bytes: Vec<u8>,
    wire_len: usize,
}

fn play(scenario: &Scenario) -> (Vec<Held>, Truth) {
    let mut held = Vec::new();
    let Ok(truth) = Craft::new(scenario).run(|frame| -> Result<(), Infallible> {
        let (time, wire_len) = (frame.time_ns, frame.wire_len);
        held.push(Held { time, bytes: frame.bytes.to_vec(), wire_len });
        Ok(())
    });
    (held, truth)
}

fn analyze<'h>(held: impl IntoIterator<Item = &'h Held>, config: Config) -> Report {
    let (mut tracker, ports) = (Tracker::new(config), Ports::default());
    for (number, held) in (1..).zip(held) {
        let frame = Frame::parse(Link::Ethernet, &held.bytes, held.wire_len, &ports);
        tracker.observe(&frame, number, Some(held.time));
    }
    tracker.finish()
}

/// An operation of either end, and losses of both ends on both sides of the capture point.
fn lossy() -> impl Strategy<Value = String> {
    // The timeout is longer than what may be late where no IP identification tells, 10 ms.
    // What requesters throw away of responses behind a missing one looks like loss now and then.
    let kinds = &["write", "send"][..];
    (
        prop::sample::select(kinds),
        prop::sample::select(&["v1", "v2-ipv4", "v2-ipv6"][..]),
        prop::collection::vec(0u32..30, 4),
        prop::sample::select(&[256u32, 1024, 4096][..]),
        0u32..9000,
        1u32..20,
        any::<u32>(),
    )
        .prop_map(|(kind, carrier, rates, pmtu, size, depth, seed)| {
            let mut text = format!(
                "seed = {seed}\n[capture]\nat = \"middle\"\n[[connection]]\nfrom = \"a\"\n\
                 to = \"b\"\ncarrier = \"{carrier}\"\npmtu = {pmtu}\ntimeout = 12\npsn = [16777100, 16777150]\n\
                 [[connection.op]]\nkind = \"{kind}\"\nsize = {size}\ncount = 60\ndepth = {depth}\n"
            );
            let ways = [("from", "before"), ("from", "after"), ("to", "before"), ("to", "after")];
            for ((from, place), rate) in ways.into_iter().zip(rates) {
                text.push_str(&format!(
                    "[[event]]\nkind = \"loss\"\nof = \"any\"\nfrom = \"{from}\"\n\
                     where = \"{place}-capture\"\nrate = {}\n",
                    f64::from(rate) / 1000.0
                ));
            }
            text
        })
}

/// Of both directions on one side of the capture point: nobody can always tell a request that was
/// lost from its answer.
fn sides(a: (u64, u64), b: (u64, u64)) -> [u64; 2] {
    let ((a_before, a_after), (b_before, b_after)) = (a, b);
    [a_before + b_after, a_after + b_before]
}

proptest! {
    // The same scenarios each time: one in a thousand others has answers and requests lost in such a
    // way that nothing tells them from what was lost elsewhere.
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::with_cases(300)
    })]

    #[test]
    fn no_more_is_lost_than_was(text in lossy()) {
        let (held, truth) = play(&Scenario::parse(&text).unwrap());
        let report = analyze(&held, Config::default());
        prop_assert!(report.totals.is_conserved());
        let [truth] = &truth.connections[..] else { return Ok(()) };
        let [found] = &report.connections[..] else { panic!("{}", report.connections.len()) };
        let told = |loss: Option<Loss>| {
            let loss = loss.unwrap_or_default();
            (loss.before_capture, loss.after_capture)
        };
        let lost = |lost: Lost| (lost.before_capture, lost.after_capture);
        let told = sides(told(found.a_to_b.loss), told(found.b_to_a.loss));
        let lost = sides(lost(truth.a_to_b.lost), lost(truth.b_to_a.lost));
        for (told, lost) in told.into_iter().zip(lost) {
            prop_assert!(told <= lost, "{told} of {lost}\n{:?}\n{:?}", found.a_to_b, found.b_to_a);
        }
    }

    #[test]
    fn frames_of_scenarios_in_any_order(
        scenario in 0..BUILTIN.len(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..300),
        max in 1usize..6,
    ) {
        let scenario = Scenario::parse(BUILTIN[scenario].text).unwrap();
        let (held, _) = play(&scenario.with_connections(3).with_packets(400));
        let picked: Vec<&Held> = picks.iter().map(|index| index.get(&held)).collect();
        for config in [Config::default(), Config::default().with_max_connections(max)] {
            let report = analyze(picked.iter().copied(), config);
            let totals = &report.totals;
            prop_assert!(totals.is_conserved() && totals.frames == picked.len() as u64);
            let packets: u64 = report.connections.iter().map(|c| c.packets()).sum();
            prop_assert_eq!(packets + report.evicted.packets, totals.connection_packets);
            prop_assert!(report.connections.len() <= config.max_connections);
            let _ = evaluate(&report, &Policy::default());
        }
    }
}

/// Every operation both ways, over every carrier, with and without IP identifications.
fn healthy(capture: &str) -> impl Iterator<Item = (String, Report)> {
    let carriers = ["v1", "v2-ipv4", "v2-ipv6"];
    let all = carriers.into_iter().flat_map(|carrier| ["count", "zero"].map(|id| (carrier, id)));
    all.map(move |(carrier, id)| {
        let mut text = format!(
            "[capture]\n{capture}\n[[connection]]\nfrom = \"a\"\nto = \"b\"\ncarrier = \
             \"{carrier}\"\nip_id = \"{id}\"\nvlan = 10\npcp = 3\ndscp = 26\necn = \"ect0\"\n\
             psn = [16777210, 16777205]\n"
        );
        for (kind, by) in [("send", "from"), ("write", "from"), ("read", "from"), ("send", "to")] {
            text.push_str(&format!(
                "[[connection.op]]\nkind = \"{kind}\"\nsize = 20487\ncount = 20\nby = \"{by}\"\n"
            ));
        }
        let (held, _) = play(&Scenario::parse(&text).unwrap());
        (format!("{capture} {carrier} {id}"), analyze(&held, Config::default()))
    })
}

#[test]
fn late_pairing_and_mirrors_are_no_loss() {
    // PSNs that are near to each other pair v1 late. Copies come with others in between.
    for capture in ["", "mirror_delay = \"1us\"", "start = \"100us\""] {
        for (name, report) in healthy(capture) {
            let found = evaluate(&report, &Policy::default());
            let wrong: Vec<_> = found.iter().filter(|f| f.id != "duplicated-frames").collect();
            assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        }
    }
}

#[test]
fn where_all_frames_have_one_time_no_duration_is_told() {
    let text = "[[connection]]\nfrom = \"a\"\nto = \"b\"\n[connection.cm]\n\
                [[connection.op]]\nkind = \"write\"\nsize = 3000\ncount = 20\n\
                [[connection.op]]\nkind = \"read\"\nsize = 3000\ncount = 20\n";
    let (mut held, _) = play(&Scenario::parse(text).unwrap());
    let told = |report: &Report| {
        let [connection] = &report.connections[..] else { panic!("{}", report.connections.len()) };
        let to_b = &connection.a_to_b;
        assert_eq!((to_b.messages.write, to_b.messages.read), (20, 20));
        let times = [&to_b.ack_latency_ns, &to_b.completion_ns, &to_b.read_response_ns];
        let peaks = [to_b.peak_millisecond_bytes, to_b.peak_second_bytes];
        times
            .map(|times| times.is_some())
            .into_iter()
            .chain(peaks.map(|peak| peak.is_some()))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&analyze(&held, Config::default())), [true; 5]);
    held.iter_mut().for_each(|held| held.time = 1_000);
    assert_eq!(told(&analyze(&held, Config::default())), [false; 5]);
}
