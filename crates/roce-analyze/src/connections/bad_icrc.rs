//! Who sends packets with a bad ICRC, and what may be wrong with them. Off the usual way: none of
//! this is touched by packets whose ICRC is right.

use roce_wire::{Addr, Frame, IcrcFault, Origins};

use super::totals::Totals;

/// How many hosts with a bad ICRC are told apart.
const MAX_HOSTS: usize = 64;
/// How many packets of a host are looked at for what was rewritten in them.
const MAX_SAMPLES: usize = 64;

/// The packets of one host with a bad ICRC.
#[derive(Clone, Debug)]
pub struct BadIcrc {
    /// The host that sent them.
    pub host: Addr,
    /// How many.
    pub count: u64,
    /// What may be wrong with them, and with how many.
    pub faults: Vec<(IcrcFault, u64)>,
    /// The first ten frames.
    pub frames: Vec<u64>,
    /// What the first 64 were before, had one header field been rewritten; of those that no known
    /// mistake explains.
    pub samples: Vec<Sample>,
}

/// A packet with a bad ICRC that no known mistake explains.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Where it goes to.
    pub dst: Addr,
    /// Its ICRC: copies of a packet have the same.
    pub icrc: u32,
    /// What its fields must have been.
    pub origins: Origins,
}

impl Totals {
    /// Notes a packet with a bad ICRC; says what is wrong with it.
    #[cold]
    pub(super) fn note_bad_icrc(
        &mut self,
        frame: &Frame<'_>,
        (src, dst): (Addr, Addr),
        number: u64,
    ) -> IcrcFault {
        let fault = IcrcFault::of(frame).unwrap_or(IcrcFault::Unknown);
        let lists = self.frame_lists;
        let Some(bad) = self.bad_icrc_of(src) else { return fault };
        bad.count = bad.count.saturating_add(1);
        lists.add(&mut bad.frames, number);
        match bad.faults.iter_mut().find(|(known, _)| *known == fault) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => bad.faults.push((fault, 1)),
        }
        if fault == IcrcFault::Unknown
            && bad.samples.len() < MAX_SAMPLES
            && let Some(origins) = Origins::of(frame)
            && let Some(icrc) = frame.packet().and_then(|(_, packet)| packet.icrc)
        {
            bad.samples.push(Sample { dst, icrc: icrc.get(), origins });
        }
        fault
    }

    fn bad_icrc_of(&mut self, host: Addr) -> Option<&mut BadIcrc> {
        let at = self.bad_icrc.iter().position(|bad| bad.host == host);
        let at = at.unwrap_or(self.bad_icrc.len());
        if at == self.bad_icrc.len() && at < MAX_HOSTS {
            let (faults, frames, samples) = Default::default();
            self.bad_icrc.push(BadIcrc { host, count: 0, faults, frames, samples });
        }
        self.bad_icrc.get_mut(at)
    }
}
