//! What a tracker may use.

/// What a tracker may use, and how it is to look at frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Most connections that are remembered, ended ones included; the oldest give way.
    pub max_connections: usize,
    /// Most histograms. One takes about 10 kB, a connection may want six.
    pub max_histograms: u32,
    /// Whether the ICRC is checked.
    pub check_icrc: bool,
    /// Whether more frames are kept of each kind of event than ten: up to 10,000 for each direction
    /// and a million in all.
    pub all_proofs: bool,
    /// The speed of the links in bits a second: it makes times of the quanta of flow control.
    pub link_speed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_connections: 1_000_000,
            max_histograms: 16_384,
            check_icrc: true,
            all_proofs: false,
            link_speed: None,
        }
    }
}

impl Config {
    /// The same with room for other many connections.
    #[must_use]
    pub const fn with_max_connections(self, max_connections: usize) -> Self {
        Self { max_connections, ..self }
    }

    /// The same with room for other many histograms.
    #[must_use]
    pub const fn with_max_histograms(self, max_histograms: u32) -> Self {
        Self { max_histograms, ..self }
    }

    /// The same with or without a check of the ICRC.
    #[must_use]
    pub const fn with_check_icrc(self, check_icrc: bool) -> Self {
        Self { check_icrc, ..self }
    }

    /// The same with all the frames that prove something, not only the first ten of each kind.
    #[must_use]
    pub const fn with_all_proofs(self, all_proofs: bool) -> Self {
        Self { all_proofs, ..self }
    }

    /// The same with the speed of the links in bits a second, where it is known.
    #[must_use]
    pub const fn with_link_speed(self, link_speed: Option<u64>) -> Self {
        Self { link_speed, ..self }
    }
}
