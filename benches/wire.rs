//! What parsing, the ICRC and the verdict cost, per frame.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]
#![allow(clippy::unwrap_used, reason = "a benchmark may be blunt")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use roce_analyze::verdict::{Config, FrameInfo, Verdict};
use roce_sniff_benches::frame;
use roce_wire::{Frame, Link, Ports, icrc};

fn parse(c: &mut Criterion) {
    let bytes = frame(7, 64, &[0xa5; 60]).unwrap();
    let ports = Ports::default();
    c.bench_function("parse a frame of 134 bytes", |b| {
        b.iter(|| {
            let frame = Frame::parse(Link::Ethernet, black_box(&bytes), bytes.len(), &ports);
            frame.packet().map(|(_, packet)| (packet.bth.dest_qp(), packet.bth.psn(), packet.reth))
        });
    });
    c.bench_function("parse it and look at every field", |b| {
        b.iter(|| {
            let frame = Frame::parse(Link::Ethernet, black_box(&bytes), bytes.len(), &ports);
            black_box(&frame);
        });
    });
    c.bench_function("judge and check the ICRC of it", |b| {
        b.iter(|| {
            let frame = Frame::parse(Link::Ethernet, black_box(&bytes), bytes.len(), &ports);
            (frame.rejection(), frame.icrc_state())
        });
    });
    c.bench_function("count it", |b| {
        let mut verdict = Verdict::new(Config { check_icrc: false, ..Config::default() });
        let info = FrameInfo { number: 1, time_ns: Some(1), wire_len: 134 };
        b.iter(|| {
            let frame = Frame::parse(Link::Ethernet, black_box(&bytes), bytes.len(), &ports);
            verdict.observe(&frame, Link::Ethernet, &info)
        });
    });
}

fn checksum(c: &mut Criterion) {
    let bytes = frame(7, 64, &[0xa5; 4096]).unwrap();
    let whole = Frame::parse(Link::Ethernet, &bytes, bytes.len(), &Ports::default());
    let (net, packet) = whole.packet().unwrap();
    let mut group = c.benchmark_group("ICRC");
    group.throughput(Throughput::Bytes(4096));
    group.bench_function("of 4 KiB", |b| {
        b.iter(|| icrc::compute(net.cover(), packet.bth, black_box(packet.after_bth())));
    });
    group.finish();
}

criterion_group!(benches, parse, checksum);
criterion_main!(benches);
