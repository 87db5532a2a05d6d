//! Several threads look at one trace: what each saw is put together.

use super::{Verdict, sum};

impl Verdict {
    /// Takes over what another verdict saw of other frames of the same trace.
    ///
    /// The parts may come in any order; [`Self::settle`] when the last one is in.
    pub fn merge(&mut self, other: Self) {
        let Self {
            config: _,
            all,
            first_ns,
            last_ns,
            truncated,
            carriers,
            opcodes,
            icrc_ok,
            icrc_bad,
            icrc_unchecked,
            icrc_faults,
            cnp,
            pfc,
            pause,
            fecn,
            becn,
            ecn,
            dscp,
            pcp,
            vlans,
            cm,
            rejected,
            tunnels,
            odd_lengths,
            link_local,
            pairs,
            traffic,
        } = other;
        self.all.merge(all);
        self.first_ns = [self.first_ns, first_ns].into_iter().flatten().min();
        self.last_ns = [self.last_ns, last_ns].into_iter().flatten().max();
        for (count, theirs) in self.carriers.iter_mut().zip(carriers) {
            count.merge(theirs);
        }
        for (count, theirs) in [
            (&mut self.truncated, truncated),
            (&mut self.icrc_ok, icrc_ok),
            (&mut self.icrc_bad, icrc_bad),
            (&mut self.icrc_unchecked, icrc_unchecked),
            (&mut self.cnp, cnp),
            (&mut self.pfc, pfc),
            (&mut self.pause, pause),
            (&mut self.fecn, fecn),
            (&mut self.becn, becn),
            (&mut self.odd_lengths, odd_lengths),
            (&mut self.link_local, link_local),
        ] {
            *count = count.saturating_add(theirs);
        }
        sum(&mut self.opcodes, &opcodes);
        for (fault, theirs) in icrc_faults {
            let count = self.icrc_faults.entry(fault).or_default();
            *count = count.saturating_add(theirs);
        }
        sum(&mut self.ecn, &ecn);
        sum(&mut self.dscp, &dscp);
        sum(&mut self.pcp, &pcp);
        sum(&mut self.vlans, &vlans);
        sum(&mut self.cm, &cm);
        sum(&mut self.rejected, &rejected);
        sum(&mut self.tunnels, &tunnels);
        self.pairs.merge(pairs);
        self.traffic.merge(&traffic);
    }

    /// Puts merged parts into the order of the trace.
    pub fn settle(&mut self) {
        self.pairs.sort();
    }
}
