//! Whole records to a file, in order, and an honest account when it takes no more.

use std::fs::File;
use std::io::{self, Write};

use super::behind::Behind;
use crate::Error;

/// How much is gathered before it is written, in bytes.
const FULL: usize = 256 << 10;
/// What a file is given at a time, in bytes. Where a piece ends inside a page of the system's, that
/// page is written twice; for longer pieces the system looks for memory in one piece, which takes
/// several times as long as the copy where memory is in small ones.
const PIECE: usize = 64 << 10;

/// Where bytes go.
pub(super) enum Sink {
    /// A file, which can be cut back to its last whole record.
    File(File),
    /// Anything else.
    Stream(Box<dyn Write + Send>),
}

/// Records gathered for a sink.
pub(super) struct Output {
    name: String,
    sink: Sink,
    /// Of a file that is not to stay in memory.
    behind: Option<Behind>,
    pending: Vec<u8>,
    /// The end of each record in `pending`, and how many frames the file has with it.
    marks: Vec<(usize, u64)>,
    /// Bytes that the sink has taken.
    taken: u64,
    /// The whole records among them: their bytes, and their frames.
    whole: u64,
    written: u64,
    /// Frames gathered or written.
    frames: u64,
    failed: Option<Failure>,
}

/// An `io::Error` that can be told again.
#[derive(Clone, Copy)]
struct Failure {
    code: Option<i32>,
    kind: io::ErrorKind,
}

impl Output {
    pub(super) fn new(name: String, sink: Sink) -> Self {
        Self {
            name,
            sink,
            behind: None,
            pending: Vec::with_capacity(FULL.saturating_mul(2)),
            marks: Vec::new(),
            taken: 0,
            whole: 0,
            written: 0,
            frames: 0,
            failed: None,
        }
    }

    /// Lets the system forget what has come to disk, if this is a file.
    pub(super) fn forget_behind(&mut self) {
        if let Sink::File(file) = &self.sink {
            self.behind = Behind::of(file);
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Frames gathered or written.
    pub(super) const fn frames(&self) -> u64 {
        self.frames
    }

    /// Where the next record is put together; [`Self::mark`] ends it.
    pub(super) const fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// A record with this many frames ends here.
    pub(super) fn mark(&mut self, frames: u64) {
        self.frames = self.frames.saturating_add(frames);
        self.marks.push((self.pending.len(), self.frames));
    }

    /// An error if the sink has failed before.
    pub(super) fn check(&self) -> Result<(), Error> {
        let Some(Failure { code, kind }) = self.failed else { return Ok(()) };
        let source = code.map_or_else(|| kind.into(), io::Error::from_raw_os_error);
        Err(Error::Write { file: self.name.clone(), written: self.written, source })
    }

    /// Hands on what fills pieces. Others than files get whole records.
    pub(super) fn flush_if_full(&mut self) -> Result<(), Error> {
        let len = self.pending.len();
        match self.sink {
            _ if len < FULL => Ok(()),
            Sink::File(_) => self.hand_on(len.saturating_sub(len.checked_rem(FULL).unwrap_or(0))),
            Sink::Stream(_) => self.flush(),
        }
    }

    /// Hands all whole records to the sink.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.hand_on(self.pending.len())?;
        match self.sink.flush() {
            Ok(()) => Ok(()),
            Err(e) => self.fail(0, &e),
        }
    }

    /// Hands the first `len` bytes to the sink.
    fn hand_on(&mut self, len: usize) -> Result<(), Error> {
        self.check()?;
        let mut done = 0_usize;
        while let Some(rest) = self.pending.get(done..len).filter(|rest| !rest.is_empty()) {
            let piece = match &self.sink {
                Sink::File(_) => rest.get(..PIECE).unwrap_or(rest),
                Sink::Stream(_) => rest,
            };
            match self.sink.write(piece) {
                Ok(0) => return self.fail(done, &io::ErrorKind::WriteZero.into()),
                Ok(n) => done = done.saturating_add(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return self.fail(done, &e),
            }
        }
        self.take(done);
        if let (Some(behind), Sink::File(file)) = (&mut self.behind, &self.sink) {
            behind.reached(file, self.taken);
        }
        Ok(())
    }

    /// The sink has taken `done` bytes of what is pending.
    fn take(&mut self, done: usize) {
        let records = self.marks.partition_point(|(end, _)| *end <= done);
        if let Some((end, frames)) = self.marks.drain(..records).next_back() {
            self.whole = self.taken.saturating_add(end as u64);
            self.written = frames;
        }
        for (end, _) in &mut self.marks {
            *end = end.saturating_sub(done);
        }
        self.pending.drain(..done.min(self.pending.len()));
        self.taken = self.taken.saturating_add(done as u64);
    }

    /// The sink took `done` bytes of what is pending and then no more: keeps the whole records.
    #[cold]
    fn fail(&mut self, done: usize, e: &io::Error) -> Result<(), Error> {
        self.take(done);
        if let Sink::File(file) = &self.sink {
            // If even this fails, the file ends in the middle of a record, which readers tell.
            let _ = file.set_len(self.whole);
        }
        self.pending.clear();
        self.marks.clear();
        self.failed = Some(Failure { code: e.raw_os_error(), kind: e.kind() });
        self.check()
    }
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Stream(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes and then says that the disk is full.
    struct Small(usize);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.0);
            self.0 -= n;
            if n == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(n) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told_again_and_again() {
        let mut output = Output::new("small".to_owned(), Sink::Stream(Box::new(Small(25))));
        for _ in 0..4 {
            output.pending().extend([7; 10]);
            output.mark(1);
        }
        for _ in 0..2 {
            let error = output.flush().unwrap_err();
            assert!(matches!(error, Error::Write { written: 2, .. }), "{error}");
        }
    }

    #[test]
    fn a_file_takes_full_pieces_and_is_cut_back_to_whole_records() {
        let mut file = tempfile::tempfile().unwrap();
        let mut output = Output::new("pieces".to_owned(), Sink::File(file.try_clone().unwrap()));
        let gather = |output: &mut Output| {
            output.pending().extend([7; 100_000]);
            output.mark(1);
            output.flush_if_full().unwrap();
            file.metadata().unwrap().len()
        };
        assert_eq!([0; 2].map(|_| gather(&mut output)), [0, 0]);
        assert_eq!([0; 3].map(|_| gather(&mut output)), [FULL as u64, FULL as u64, FULL as u64]);
        assert_eq!((output.whole, output.written), (200_000, 2));
        // Of the third record 37,856 bytes are left.
        let error = output.fail(37_855, &io::ErrorKind::StorageFull.into()).unwrap_err();
        assert!(matches!(error, Error::Write { written: 2, .. }), "{error}");
        assert_eq!(file.metadata().unwrap().len(), 200_000);

        let mut output = Output::new("pieces".to_owned(), Sink::File(file.try_clone().unwrap()));
        io::Seek::rewind(&mut file).unwrap();
        for byte in 0..6 {
            output.pending().extend([byte; 100_000]);
            output.mark(1);
            output.flush_if_full().unwrap();
        }
        output.flush().unwrap();
        assert_eq!((output.whole, output.written), (600_000, 6));
        io::Seek::rewind(&mut file).unwrap();
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes).unwrap();
        assert!(bytes.len() == 600_000 && bytes.is_sorted());
    }
}
