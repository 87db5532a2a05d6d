//! Every byte in hexadecimal, 16 to a line, with the printable ones beside.

use crate::text::buf::Buf;

const PER_LINE: usize = 16;

pub(crate) fn write(buf: &mut Buf, bytes: &[u8]) {
    for (at, line) in bytes.chunks(PER_LINE).enumerate() {
        buf.text("\t");
        buf.hex(u64::try_from(at.saturating_mul(PER_LINE)).unwrap_or(u64::MAX), 4);
        buf.text(":  ");
        for place in 0..PER_LINE {
            match line.get(place) {
                Some(byte) => buf.hex_bytes(&[*byte]),
                None => buf.text("  "),
            }
            if place % 2 == 1 {
                buf.byte(b' ');
            }
        }
        buf.byte(b' ');
        for byte in line {
            buf.byte(if matches!(byte, 0x20..=0x7e) { *byte } else { b'.' });
        }
        buf.byte(b'\n');
    }
}
