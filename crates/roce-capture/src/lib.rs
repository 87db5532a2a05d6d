//! Where frames come from and go to: capture files, live interfaces, files written, frames sent.
//!
//! This crate knows bytes, times and link types; what a frame means is not its business.
//!
//! - [`FileReader`] reads pcap, pcapng and ERF, plain or compressed, told by content. Frames
//!   borrow from its one buffer, so nothing is allocated for a packet and memory stays constant
//!   whatever the file's size. What cannot be read ends the file with a [`Damage`] that says
//!   where; everything before it has been delivered.
//! - [`LiveCapture`] captures from an interface through libpcap (feature `libpcap`, on by
//!   default) or without it (feature `pnet`).
//! - [`FrameSender`] puts frames on an interface, many with one system call; [`Pace`] says when.
//! - [`FileWriter`] writes pcap and pcapng, whole records only. [`FileCopy`] writes what
//!   [`FileReader::next_part`] reads, with other bytes in the frames and all else as it was;
//!   [`CommentedCopy`] writes pcapng of it, with comments on frames.
//! - [`roce_filter`] is the BPF expression that keeps RoCE; `Filter` (feature `libpcap`) applies
//!   any expression to frames from a file.
//!
//! ```no_run
//! let mut file = roce_capture::FileReader::open("trace.pcapng".as_ref())?;
//! while let Some(frame) = file.next_frame()? {
//!     println!("{} {:?} {} bytes", frame.number, frame.time_ns, frame.wire_len);
//! }
//! if let Some(damage) = file.damaged() {
//!     eprintln!("{damage}");
//! }
//! # Ok::<(), roce_capture::Error>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation))]

#[cfg(feature = "libpcap")]
mod bpf;
mod error;
mod file;
mod filter;
mod frame;
mod interfaces;
mod link_type;
mod live;
mod send;
mod writer;

#[cfg(feature = "libpcap")]
pub use bpf::Filter;
pub use error::Error;
pub use file::{
    Block, Chunk, Compression, Container, Damage, DamageKind, Envelope, FileReader, Format,
    MAX_RECORD, Part, Resolution,
};
pub use filter::{roce_filter, roce_filter_on};
pub use frame::Frame;
pub use interfaces::{Interface, frames_passed, interfaces};
pub use link_type::LinkType;
pub use live::{HAS_FILTERS, LiveCapture, LiveOptions, Next, RoceOnly, Stats};
pub use send::{Batch, FrameSender, Pace, Rate, Refused, Tally};
pub use writer::{CommentedCopy, FileCopy, FileWriter, WriterOptions, same_file};
