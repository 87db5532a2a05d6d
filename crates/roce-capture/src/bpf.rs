//! Filter expressions on frames from a file: compiled by libpcap, run here.
//!
//! Libpcap's own interpreter is reached through a wrapper that takes the captured length for the
//! wire length, so that `greater 1000` would be false of every frame that a snaplen has cut. The
//! machine is small (McCanne and Jacobson, "The BSD Packet Filter", 1993) and is held to libpcap's
//! by a property test.

use crate::live::message;
use crate::{Error, Frame, LinkType};

/// A BPF expression compiled for one link type, to be held against frames from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    program: Vec<Instruction>,
    link_type: LinkType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    k: u32,
}

impl Filter {
    /// Compiles an expression.
    ///
    /// # Errors
    /// [`Error::Filter`] when it does not compile for this link type.
    pub fn new(expression: &str, link_type: LinkType) -> Result<Self, Error> {
        let failed = |message| {
            let expression = expression.to_owned();
            Error::Filter { expression, link_type, message }
        };
        let compiled = pcap::Capture::dead(pcap::Linktype(link_type.to_dlt()))
            .and_then(|dead| dead.compile(expression, true))
            .map_err(|e| failed(message(e)))?;
        // Its text is the only way to an instruction's parts.
        let program = compiled.get_instructions().iter().map(|i| instruction(&i.to_string()));
        match program.collect() {
            Some(program) => Ok(Self { program, link_type }),
            None => Err(failed("libpcap shows its program in an unknown way".to_owned())),
        }
    }

    /// Whether the frame satisfies the expression; one of another link type does not.
    #[must_use]
    pub fn matches(&self, frame: &Frame<'_>) -> bool {
        frame.link_type == self.link_type
            && run(&self.program, frame.data, frame.wire_len).is_some_and(|kept| kept > 0)
    }

    /// The link type it was compiled for.
    #[must_use]
    pub const fn link_type(&self) -> LinkType {
        self.link_type
    }
}

/// Reads `code jt jf k`.
fn instruction(text: &str) -> Option<Instruction> {
    let mut parts = text.split(' ');
    let instruction = Instruction {
        code: parts.next()?.parse().ok()?,
        if_true: parts.next()?.parse().ok()?,
        if_false: parts.next()?.parse().ok()?,
        k: parts.next()?.parse().ok()?,
    };
    parts.next().is_none().then_some(instruction)
}

/// More steps than any program without a loop has instructions; `protochain` has loops.
const MAX_STEPS: usize = 1 << 16;

/// The machine's registers and scratch memory.
#[derive(Default)]
struct Machine {
    a: u32,
    x: u32,
    memory: [u32; 16],
}

/// Runs the program: how many bytes to keep, and `None`, which keeps none, when it loads from
/// beyond the frame, divides by zero, or does what no program does.
fn run(program: &[Instruction], data: &[u8], wire_len: u32) -> Option<u32> {
    let mut m = Machine::default();
    let mut next = 0_u32;
    for _ in 0..MAX_STEPS {
        let i = program.get(usize::try_from(next).ok()?)?;
        next = next.wrapping_add(1);
        match i.code & 0x07 {
            0x00 => m.a = load(i, &m, data, wire_len)?,
            0x01 => m.x = load(i, &m, data, wire_len)?,
            0x02 => *m.memory.get_mut(usize::try_from(i.k).ok()?)? = m.a,
            0x03 => *m.memory.get_mut(usize::try_from(i.k).ok()?)? = m.x,
            0x04 => m.a = compute(i, &m)?,
            0x05 => next = next.wrapping_add(jump(i, &m)?),
            0x06 => return Some(if i.code & 0x18 == 0x10 { m.a } else { i.k }),
            _ if i.code & 0xf8 == 0x80 => m.a = m.x,
            _ => m.x = m.a,
        }
    }
    None
}

/// The operand of a load: a constant, memory, the wire length, or bytes of the frame.
fn load(i: &Instruction, m: &Machine, data: &[u8], wire_len: u32) -> Option<u32> {
    let bytes = |at: u32| data.get(usize::try_from(at).ok()?..);
    match i.code & 0xe0 {
        0x00 => Some(i.k),
        0x20 => sized(i.code, bytes(i.k)?),
        0x40 => sized(i.code, bytes(m.x.checked_add(i.k)?)?),
        0x60 => m.memory.get(usize::try_from(i.k).ok()?).copied(),
        0x80 => Some(wire_len),
        // The length of an IPv4 header, from its first byte.
        0xa0 => bytes(i.k)?.first().map(|first| u32::from(first & 0x0f) << 2),
        _ => None,
    }
}

fn sized(code: u16, bytes: &[u8]) -> Option<u32> {
    match code & 0x18 {
        0x00 => bytes.first_chunk().map(|word| u32::from_be_bytes(*word)),
        0x08 => bytes.first_chunk().map(|half| u16::from_be_bytes(*half).into()),
        0x10 => bytes.first().map(|byte| u32::from(*byte)),
        _ => None,
    }
}

fn operand(i: &Instruction, m: &Machine) -> u32 {
    if i.code & 0x08 == 0 { i.k } else { m.x }
}

fn compute(i: &Instruction, m: &Machine) -> Option<u32> {
    let (a, b) = (m.a, operand(i, m));
    match i.code & 0xf0 {
        0x00 => Some(a.wrapping_add(b)),
        0x10 => Some(a.wrapping_sub(b)),
        0x20 => Some(a.wrapping_mul(b)),
        0x30 => a.checked_div(b),
        0x40 => Some(a | b),
        0x50 => Some(a & b),
        0x60 => Some(a.checked_shl(b).unwrap_or(0)),
        0x70 => Some(a.checked_shr(b).unwrap_or(0)),
        0x80 => Some(a.wrapping_neg()),
        0x90 => a.checked_rem(b),
        0xa0 => Some(a ^ b),
        _ => None,
    }
}

/// How many instructions to pass over; a loop goes back by wrapping.
fn jump(i: &Instruction, m: &Machine) -> Option<u32> {
    let b = operand(i, m);
    let holds = match i.code & 0xf0 {
        0x00 => return Some(i.k),
        0x10 => m.a == b,
        0x20 => m.a > b,
        0x30 => m.a >= b,
        0x40 => m.a & b != 0,
        _ => return None,
    };
    Some(if holds { i.if_true } else { i.if_false }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EXPRESSIONS: [&str; 12] = [
        "udp dst port 4791",
        "ip and ip[8] < 64",
        "tcp[13] & 7 != 0 or udp[4:2] > 100",
        "ether[0] & 1 = 0 and ip[16] >= 224",
        "vlan 100 and ip6",
        "ip6 protochain 17",
        "ip proto 17 and (ip[2:2] - 20) % 4 = 0",
        "len / 3 > 20",
        "greater 100 or less 40",
        "ether[12:2] * 2 = 0x1000 and ether[14] >> 4 = 4",
        "not (arp or rarp) and ether src 02:02:02:02:02:02",
        "ether proto 0x8915 or ether proto 0x8808",
    ];

    /// Bytes that often have an Ethertype and an IP header where they belong.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop_oneof![Just(0x0800_u16), Just(0x86dd), Just(0x8100), any::<u16>()];
        let tail = prop::collection::vec(prop_oneof![Just(0x45), Just(17), any::<u8>()], 0..90);
        (kind, tail).prop_map(|(kind, tail)| [&[2; 12][..], &kind.to_be_bytes(), &tail].concat())
    }

    proptest! {
        #[test]
        fn it_agrees_with_libpcap(data in bytes(), which in 0..EXPRESSIONS.len()) {
            let dead = pcap::Capture::dead(pcap::Linktype(1)).unwrap();
            let theirs = dead.compile(EXPRESSIONS[which], true).unwrap().filter(&data);
            let ours = Filter::new(EXPRESSIONS[which], LinkType::ETHERNET).unwrap();
            let kept = run(&ours.program, &data, data.len() as u32).is_some_and(|n| n > 0);
            prop_assert_eq!(kept, theirs, "{}", EXPRESSIONS[which]);
        }
    }

    #[test]
    fn a_length_is_that_on_the_wire() {
        let filter = Filter::new("greater 1000", LinkType::ETHERNET).unwrap();
        let mut frame = Frame {
            number: 1,
            time_ns: None,
            link_type: LinkType::ETHERNET,
            wire_len: 1066,
            data: &[0; 96],
            interface: 0,
        };
        assert!(filter.matches(&frame));
        frame.wire_len = 96;
        assert!(!filter.matches(&frame));
        frame.link_type = LinkType::RAW;
        assert!(!filter.matches(&frame));
    }
}
