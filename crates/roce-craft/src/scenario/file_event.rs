//! Events as they stand in the file.

use serde::Deserialize;
use toml::Spanned;

use super::file::{Side, once};

/// What happens on the way, or at an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EventKind {
    Loss,
    Duplicate,
    Reorder,
    Corrupt,
    Ce,
    Rnr,
    Nak,
    Silence,
    Malformed,
}

/// Packets that an event may happen to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Of {
    #[default]
    Requests,
    Responses,
    Acks,
    Any,
}

/// On which side of the capture point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Where {
    /// The frame was captured first.
    #[default]
    AfterCapture,
    BeforeCapture,
}

/// The code of a NAK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NakKind {
    InvalidRequest,
    RemoteAccessError,
    RemoteOperationalError,
}

/// What is wrong with a malformed packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Malformed {
    /// Transport header version 1.
    Tver,
    /// An opcode that is reserved.
    Opcode,
    /// A UDP or GRH length that ends inside the BTH.
    Length,
    /// A pad that is not zero.
    Pad,
    /// Reserved bits of the BTH set.
    Reserved,
    /// No ICRC.
    NoIcrc,
}

/// Something that happens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Event {
    pub kind: EventKind,
    /// The connection by name, or by its place in the file from 1; all of them when absent.
    pub connection: Option<Spanned<Which>>,
    /// Who sends the packets that it happens to.
    #[serde(default)]
    pub from: Side,
    #[serde(default)]
    pub of: Of,
    /// Which packets, by their number from 1; of messages for `rnr`.
    #[serde(default)]
    pub at: Vec<Spanned<u64>>,
    /// Every so many packets.
    pub every: Option<Spanned<u64>>,
    /// At random, this part of the packets.
    pub rate: Option<Spanned<f64>>,
    /// As many transmissions of the same packet; of `rnr` as many refusals.
    #[serde(default = "once")]
    pub times: Spanned<u32>,
    #[serde(default, rename = "where")]
    pub place: Where,
    /// As many packets overtake it.
    #[serde(default = "once")]
    pub by: Spanned<u32>,
    /// RNR timer code, 0 to 31.
    pub timer: Option<Spanned<u8>>,
    pub code: Option<NakKind>,
    pub what: Option<Malformed>,
}

/// A connection by name or number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Which {
    Number(usize),
    Name(String),
}
