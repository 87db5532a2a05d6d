//! How far the search for the other direction of a flow is: what was ruled out once is never looked
//! at again.

/// How many words of 64 pairs that are ruled out are kept, of all hosts together: 16 MiB.
const MAX_WORDS: usize = 1 << 21;

/// How far the search for a partner is.
#[derive(Clone, Default, Debug)]
pub(super) struct Search {
    /// One bit for each member of the other side that is ruled out.
    pub ruled_out: Vec<u64>,
    /// The only member left that it can be, and how many answers in a row say so.
    pub sole: Option<(usize, u32)>,
    /// Whether there was more than one that it could have been.
    pub has_rivals: bool,
    /// Answers in a row that nobody had asked for.
    pub misses: u32,
    /// How often all was forgotten.
    pub resets: u8,
    /// How often its packets were kept anew.
    pub logs: u8,
    /// Whether who was ruled out is none for good, whatever the capture lacks.
    pub is_final: bool,
}

impl Search {
    /// Which of 64 members are ruled out.
    pub(super) fn word(&self, at: usize) -> u64 {
        self.ruled_out.get(at).copied().unwrap_or(0)
    }

    pub(super) fn rules_out(&self, index: usize) -> bool {
        self.word(index / 64) >> (index % 64) & 1 == 1
    }

    /// Rules a member out, as far as there is room to remember it.
    pub(super) fn rule_out(&mut self, index: usize, words: &mut usize) {
        let (word, bit) = (index / 64, index % 64);
        if word >= self.ruled_out.len() {
            let more = word.saturating_add(1).saturating_sub(self.ruled_out.len());
            if words.saturating_add(more) > MAX_WORDS {
                return;
            }
            *words = words.saturating_add(more);
            self.ruled_out.resize(word.saturating_add(1), 0);
        }
        if let Some(word) = self.ruled_out.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    /// Begins anew: whoever was ruled out may have been so for packets that the capture missed.
    pub(super) fn forget(&mut self, words: &mut usize) {
        if self.is_final {
            return;
        }
        *words = words.saturating_sub(self.ruled_out.len());
        let (resets, logs) = (self.resets.saturating_add(1), self.logs);
        *self = Self { resets, logs, has_rivals: true, ..Self::default() };
    }

    /// The other side has only so many places left.
    pub(super) fn cut(&mut self, len: usize, words: &mut usize) {
        let kept = len.div_ceil(64);
        if self.ruled_out.len() >= kept {
            *words = words.saturating_sub(self.ruled_out.len().saturating_sub(kept));
            self.ruled_out.truncate(kept);
            if let Some(last) = self.ruled_out.last_mut().filter(|_| !len.is_multiple_of(64)) {
                *last &= !(u64::MAX << (len % 64));
            }
        }
        if self.sole.is_some_and(|(index, _)| index >= len) {
            self.sole = None;
        }
    }

    /// The members of the other side have moved.
    pub(super) fn moved(&mut self, new_places: &[Option<usize>], words: &mut usize) {
        let old = core::mem::take(&mut self.ruled_out);
        *words = words.saturating_sub(old.len());
        let new_place = |old: usize| new_places.get(old).copied().flatten();
        for (at, word) in old.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = usize::try_from(left.trailing_zeros()).unwrap_or(0);
                left &= left.wrapping_sub(1);
                if let Some(new) = new_place(at.saturating_mul(64).saturating_add(bit)) {
                    self.rule_out(new, words);
                }
            }
        }
        self.sole = self.sole.and_then(|(index, sure)| Some((new_place(index)?, sure)));
    }
}
