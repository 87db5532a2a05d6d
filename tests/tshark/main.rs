//! A second opinion on every field that tshark knows: layers 2 to 4, transport headers, CM messages.
//!
//! Measured with tshark 4.0.17. Where it is wrong itself, [`faults`] says so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may be blunt"
)]

mod dissect;
mod faults;
mod fields;

use std::collections::BTreeMap;

use dissect::{Dissected, dissect};
use faults::Fault;
use fields::{HEADERS, LAYERS, Pair};
use roce_sniff_tests::{Kept, captures, have, read, text};
use roce_wire::{AnyHeader, Management, Qpn};

/// What was compared, and what was not because tshark is wrong there.
#[derive(Default)]
struct Tally {
    packets: usize,
    fields: usize,
    spoilt: BTreeMap<Fault, usize>,
    wrong: Vec<String>,
}

/// One packet while it is compared.
struct Bout<'t> {
    tally: &'t mut Tally,
    place: &'t str,
    fault: Option<Fault>,
    theirs: &'t Dissected,
}

impl Bout<'_> {
    fn compare(&mut self, pair: &Pair, ours: &str) {
        if let Some(fault) = self.fault.filter(|fault| fault.spoils(pair.header)) {
            *self.tally.spoilt.entry(fault).or_default() += 1;
            return;
        }
        let theirs = self.theirs.value(pair);
        self.tally.fields += 1;
        if theirs.as_deref() != Some(ours) {
            let text = format!("{} {}: {ours}, by tshark {theirs:?}", self.place, pair.tshark);
            self.tally.wrong.push(text);
        }
    }

    fn header(&mut self, header: &dyn AnyHeader) {
        for pair in HEADERS.iter().filter(|pair| pair.header == header.name()) {
            header.each_field(&mut |field| {
                if field.name == pair.field {
                    self.compare(pair, &text(field.value));
                }
            });
        }
    }

    fn packet(&mut self, kept: &Kept) {
        let frame = kept.parse();
        let Some((_, packet)) = frame.packet().filter(|_| frame.is_roce()) else { return };
        self.tally.packets += 1;
        self.fault = faults::of(kept, &frame, packet);
        for pair in LAYERS {
            if let Some(ours) = pair.of_layers(&frame) {
                self.compare(pair, &ours);
            }
        }
        packet.for_each_header(&mut |header| self.header(header));
        if packet.bth.dest_qp() == Qpn::GSI
            && let Ok(management) = Management::parse(packet.payload)
        {
            management.for_each_header(&mut |header| self.header(header));
        }
    }
}

#[test]
fn tshark_agrees_on_every_field_it_knows() {
    if !have("tshark", &["--version"]) {
        return;
    }
    // All frames of a link type in one run: tshark takes longer to start than to read them.
    let mut by_link = BTreeMap::<u32, Vec<(String, Kept)>>::new();
    for (path, _) in captures("made").into_iter().chain(captures("rxe")) {
        let name = path.file_name().unwrap().to_string_lossy();
        for kept in read(&path).0 {
            let place = format!("{name} frame {}", kept.number);
            by_link.entry(kept.link_type).or_default().push((place, kept));
        }
    }
    let mut tally = Tally::default();
    for frames in by_link.values() {
        let kept: Vec<&Kept> = frames.iter().map(|(_, kept)| kept).collect();
        // Link type 247 has no reader in tshark.
        let Some(theirs) = dissect(&kept) else { continue };
        for ((place, kept), theirs) in frames.iter().zip(&theirs) {
            Bout { tally: &mut tally, place, fault: None, theirs }.packet(kept);
        }
    }
    let Tally { packets, fields, spoilt, wrong } = tally;
    println!("{packets} packets, {fields} fields compared, spoilt by tshark: {spoilt:?}");
    assert!(wrong.is_empty(), "{} wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(40)]);
    assert!(packets > 7_000 && fields > 130_000, "{packets} packets, {fields} fields are too few");
}
