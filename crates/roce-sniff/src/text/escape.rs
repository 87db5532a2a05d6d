//! Text that came from a packet, made safe for a terminal.

use super::buf::Buf;

/// Appends `bytes` as quoted text: what is not printable ASCII becomes `\xNN`, so that no packet
/// can move a cursor, change a colour or reverse a line.
pub(crate) fn quoted(buf: &mut Buf, bytes: &[u8]) {
    buf.byte(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => {
                buf.byte(b'\\');
                buf.byte(byte);
            }
            0x20..=0x7e => buf.byte(byte),
            _ => {
                buf.text("\\x");
                buf.hex_bytes(&[byte]);
            }
        }
    }
    buf.byte(b'"');
}

/// Whether `bytes` read as text: printable, but for trailing zeros.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at.saturating_add(1));
    let text = bytes.get(..end).unwrap_or_default();
    text.len() >= 4 && text.iter().all(|byte| matches!(byte, 0x20..=0x7e))
}

/// A name from outside, such as a file's, with what could move a cursor made visible.
pub(crate) fn printable(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for char in name.chars() {
        // Marks that reverse the direction of text are no control characters.
        let is_mark = matches!(char, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}');
        if char.is_control() || is_mark {
            text.extend(char.escape_default());
        } else {
            text.push(char);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_cannot_speak_to_the_terminal() {
        let mut buf = Buf::default();
        quoted(&mut buf, b"a\x1b[31m\"\\\xe2\x80\xae\n\x7f");
        assert_eq!(buf.as_bytes(), br#""a\x1b[31m\"\\\xe2\x80\xae\x0a\x7f""#);
    }

    #[test]
    fn names_cannot_either() {
        assert_eq!(printable("a\x1b[31m\u{202e}ü"), "a\\u{1b}[31m\\u{202e}ü");
    }

    #[test]
    fn text_is_told_from_bytes() {
        assert!(is_text(b"nqn.2014\0\0\0"));
        assert!(!is_text(b"\0\0\0\0"));
        assert!(!is_text(b"ab\x01cd"));
    }
}
