//! JSON objects written straight into a line: one allocation for a whole capture.

use super::buf::Buf;

/// Writes the members of one object; the braces come with opening and closing.
#[derive(Debug)]
pub(crate) struct Object<'b> {
    buf: &'b mut Buf,
    first: bool,
}

impl<'b> Object<'b> {
    pub(crate) fn open(buf: &'b mut Buf) -> Self {
        buf.byte(b'{');
        Self { buf, first: true }
    }

    pub(crate) fn close(self) {
        self.buf.byte(b'}');
    }

    fn key(&mut self, key: &str) -> &mut Buf {
        if !self.first {
            self.buf.byte(b',');
        }
        self.first = false;
        self.buf.byte(b'"');
        self.buf.text(key);
        self.buf.text("\":");
        self.buf
    }

    pub(crate) fn number(&mut self, key: &str, value: impl Into<u64>) {
        self.key(key).number(value);
    }

    pub(crate) fn flag(&mut self, key: &str, value: bool) {
        self.key(key).text(if value { "true" } else { "false" });
    }

    /// Text that needs no escaping: names of this program and addresses.
    pub(crate) fn plain(&mut self, key: &str, value: &dyn std::fmt::Display) {
        let buf = self.key(key);
        buf.byte(b'"');
        buf.display(value);
        buf.byte(b'"');
    }

    /// Text that is escaped where JSON wants it.
    pub(crate) fn text(&mut self, key: &str, value: &str) {
        let buf = self.key(key);
        buf.byte(b'"');
        for char in value.chars() {
            match char {
                '"' | '\\' => {
                    buf.byte(b'\\');
                    buf.display(&char);
                }
                '\0'..='\x1f' => buf.display(&format_args!("\\u{:04x}", u32::from(char))),
                _ => buf.display(&char),
            }
        }
        buf.byte(b'"');
    }

    pub(crate) fn addr(&mut self, key: &str, addr: roce_wire::Addr) {
        let buf = self.key(key);
        buf.byte(b'"');
        buf.addr(addr);
        buf.byte(b'"');
    }

    /// Bytes as text of hexadecimal digits.
    pub(crate) fn hex_bytes(&mut self, key: &str, bytes: &[u8]) {
        let buf = self.key(key);
        buf.byte(b'"');
        buf.hex_bytes(bytes);
        buf.byte(b'"');
    }

    pub(crate) fn object(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) {
        let mut inner = Object::open(self.key(key));
        fill(&mut inner);
        inner.close();
    }
}
