//! What can go wrong, where, and what to do about it.

use std::io;

use crate::{DamageKind, LinkType};

/// Why a source could not be opened or read, or a file not written.
///
/// Damage inside a capture file is not an error: see [`Damage`](crate::Damage).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path leads nowhere.
    #[error("{file}: no such file")]
    NoSuchFile {
        /// The path as given.
        file: String,
    },
    /// The path is a directory.
    #[error("{file}: is a directory; name the capture files in it")]
    Directory {
        /// The path as given.
        file: String,
    },
    /// The file exists and does not open.
    #[error("{file}: cannot open: {source}")]
    Open {
        /// The path as given.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The file has no bytes.
    #[error("{file}: empty: not even a file header in it")]
    Empty {
        /// The path as given.
        file: String,
    },
    /// The content is no capture format that is read here.
    #[error("{file}: not a pcap, pcapng or ERF capture: it looks like {looks_like}")]
    NotACapture {
        /// The path as given.
        file: String,
        /// What the first bytes suggest, and what to do.
        looks_like: &'static str,
    },
    /// A version of the format whose layout is not known.
    #[error(
        "{file}: {format} version {major}.{minor} is not supported; \
         `editcap -F pcapng` may convert it"
    )]
    UnsupportedVersion {
        /// The path as given.
        file: String,
        /// `pcap` or `pcapng`.
        format: &'static str,
        /// The major version in the header.
        major: u16,
        /// The minor version in the header.
        minor: u16,
    },
    /// The file header makes no sense, so nothing after it can be read.
    #[error("{file}: bad file header at byte {offset}: {what}")]
    BadHeader {
        /// The path as given.
        file: String,
        /// Where in the (uncompressed) file.
        offset: u64,
        /// What is wrong.
        what: DamageKind,
    },
    /// The system failed to read on; unlike damage, another try may succeed.
    #[error("{file}: cannot read packet {packet} at byte {offset}: {source}")]
    Read {
        /// The path as given.
        file: String,
        /// Where in the (uncompressed) file the packet starts.
        offset: u64,
        /// The number of the packet that was not read.
        packet: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The output file cannot be made.
    #[error("{file}: cannot create: {source}")]
    Create {
        /// The path as given.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The output file cannot take more; the whole records before are in it.
    #[error("{file}: cannot write: {source}; it holds the first {written} frames, whole")]
    Write {
        /// The path as given.
        file: String,
        /// How many frames are in the file.
        written: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A pcap file has one link type; pcapng has as many as needed.
    #[error(
        "{file}: a pcap file holds one link type, not both {first} and {second}; \
         name the file .pcapng"
    )]
    SeveralLinkTypes {
        /// The path as given.
        file: String,
        /// The link type the file was begun with.
        first: LinkType,
        /// The one that does not fit.
        second: LinkType,
    },
    /// The frame cannot be expressed in the file format.
    #[error("{file}: frame {number} does not fit the format: {what}")]
    Unwritable {
        /// The path as given.
        file: String,
        /// The frame's number.
        number: u64,
        /// Which of its values is out of range.
        what: &'static str,
    },
    /// No interface of that name.
    #[error("{name}: no such interface; there are: {}", existing.join(", "))]
    NoSuchInterface {
        /// The name as given.
        name: String,
        /// The interfaces that exist.
        existing: Vec<String>,
    },
    /// Capturing needs a privilege.
    #[error(
        "{name}: no permission to capture; run with `sudo`, or once \
         `sudo setcap cap_net_raw,cap_net_admin+ep $(command -v roce-sniff)`"
    )]
    NoPermission {
        /// The interface.
        name: String,
    },
    /// Sending needs a privilege.
    #[error(
        "{name}: no permission to send; run with `sudo`, or once \
         `sudo setcap cap_net_raw,cap_net_admin+ep $(command -v roce-sniff)`"
    )]
    NoPermissionToSend {
        /// The interface.
        name: String,
    },
    /// The interface takes no frames.
    #[error("{name}: cannot send: {message}")]
    Send {
        /// The interface.
        name: String,
        /// What the system said.
        message: String,
    },
    /// The interface is down, or went down meanwhile.
    #[error("{name}: the interface is down; bring it up with `ip link set {name} up`")]
    InterfaceDown {
        /// The interface.
        name: String,
    },
    /// The interface does not give frames of a kind that can be read.
    #[error("{name}: {what}")]
    Unsupported {
        /// The interface.
        name: String,
        /// What cannot be done, and what to do.
        what: String,
    },
    /// Anything else that capturing fails at, in the words of the library.
    #[error("{name}: cannot capture: {message}")]
    Live {
        /// The interface.
        name: String,
        /// What the library said.
        message: String,
    },
    /// The filter expression does not compile.
    #[error("filter `{expression}` on {link_type}: {message}")]
    Filter {
        /// The expression as given.
        expression: String,
        /// The link type it was compiled for.
        link_type: LinkType,
        /// What the compiler said.
        message: String,
    },
}
