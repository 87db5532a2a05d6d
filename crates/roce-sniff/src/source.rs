//! What the user named: files, a stream, an interface.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use roce_capture::{Error, FileReader, LiveCapture, LiveOptions, RoceOnly, interfaces, same_file};
use roce_wire::{Geneve, Ports, Vxlan};

use crate::cli::SourceArgs;
use crate::printer::remark;
use crate::stop::{Stop, Stoppable};

/// Where frames come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Files that are read as one trace.
    Files(Vec<Input>),
    /// An interface or an RDMA device.
    Live(String),
}

/// One file or the standard input.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    File(PathBuf),
    Stdin,
    /// A stream, and the file that keeps a copy of it: for reading it a second time.
    Kept(Box<Self>, PathBuf),
}

impl Input {
    pub(crate) fn open(&self, stop: &Stop, first_number: u64) -> Result<FileReader> {
        let reader = match self {
            Self::File(path) if !self.is_stream() => FileReader::open(path)?,
            stream => {
                let (name, stream) = stream.stream(stop)?;
                FileReader::from_read(name, stream)?
            }
        };
        Ok(reader.with_first_number(first_number))
    }

    /// The bytes as they come, and what errors call them.
    fn stream(&self, stop: &Stop) -> Result<(String, Box<dyn Read + Send>)> {
        match self {
            Self::File(path) => {
                let name = path.display().to_string();
                let stream = Stoppable::open(path, stop)
                    .map_err(|source| Error::Open { file: name.clone(), source })?;
                Ok((name, Box::new(stream)))
            }
            Self::Stdin => Ok(("standard input".to_owned(), Box::new(Stoppable::stdin(stop)))),
            Self::Kept(stream, path) => {
                let (name, stream) = stream.stream(stop)?;
                let to = path.display().to_string();
                let copy = File::create(path)
                    .map_err(|source| Error::Create { file: to.clone(), source })?;
                Ok((name, Box::new(Keeping { stream, copy, to })))
            }
        }
    }

    /// Whether it comes as it comes: standard input, a FIFO.
    pub(crate) fn is_stream(&self) -> bool {
        match self {
            Self::File(path) => path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir()),
            Self::Stdin | Self::Kept(..) => true,
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "-".to_owned(),
            Self::Kept(stream, _) => stream.name(),
        }
    }
}

/// A stream that writes down what is read of it.
struct Keeping {
    stream: Box<dyn Read + Send>,
    copy: File,
    /// The name of the copy.
    to: String,
}

impl Read for Keeping {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        self.copy.write_all(bytes).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: cannot be written: {error}", self.to))
        })?;
        Ok(read)
    }
}

/// Captures are written plain, and their names are to say so.
pub(crate) fn refuse_compressed(to: &Path) -> Result<()> {
    match to.extension().and_then(|end| end.to_str()) {
        Some(end @ ("gz" | "zst")) => bail!(
            "{}: captures are written uncompressed; leave out .{end} and compress it afterwards",
            to.display()
        ),
        _ => Ok(()),
    }
}

impl Source {
    /// Finds out what the names mean.
    pub(crate) fn resolve(args: &SourceArgs) -> Result<Self> {
        if let Some(name) = &args.interface {
            if !args.sources.is_empty() {
                bail!("-i {name} and {}: name one source", args.sources.join(" "));
            }
            return Ok(Self::Live(name.clone()));
        }
        let mut inputs: Vec<Input> = args.files.iter().map(|path| file_or_stdin(path)).collect();
        for name in &args.sources {
            match named(name)? {
                Self::Files(more) => inputs.extend(more),
                Self::Live(name) if args.sources.len() == 1 && inputs.is_empty() => {
                    return Ok(Self::Live(name));
                }
                Self::Live(name) => bail!("{name}: an interface cannot be read with other sources"),
            }
        }
        if inputs.iter().filter(|input| matches!(input, Input::Stdin)).count() > 1 {
            bail!("-: standard input can be read only once");
        }
        if inputs.is_empty() {
            bail!(
                "name a capture file, `-` or an interface ({}); see --help",
                interface_names().join(", ")
            );
        }
        Ok(Self::Files(inputs))
    }

    /// Refuses to write over what is being read, and between the lines of the report.
    pub(crate) fn allow_write(&self, to: &Path) -> Result<()> {
        if to.as_os_str() == "-" {
            bail!("-w -: standard output is for the report; name a file");
        }
        refuse_compressed(to)?;
        let Self::Files(inputs) = self else { return Ok(()) };
        for input in inputs {
            let path = match input {
                Input::File(path) => path,
                Input::Stdin | Input::Kept(..) => Path::new("/dev/stdin"),
            };
            if same_file(path, to) {
                bail!("-w {}: is the file that is being read", to.display());
            }
        }
        Ok(())
    }

    /// Whether it gives the same frames when it is read again.
    pub(crate) fn can_be_read_twice(&self) -> bool {
        let Self::Files(inputs) = self else { return false };
        inputs.iter().all(|input| matches!(input, Input::File(path) if path.is_file()))
    }

    /// The names, for the report.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Files(inputs) => inputs.iter().map(Input::name).collect::<Vec<_>>().join(" "),
            Self::Live(name) => name.clone(),
        }
    }
}

fn file_or_stdin(path: &Path) -> Input {
    if path.as_os_str() == "-" { Input::Stdin } else { Input::File(path.to_owned()) }
}

/// What a bare name means: `-`, a file that exists, or something to capture from.
fn named(name: &str) -> Result<Source> {
    let path = Path::new(name);
    let is_file = name == "-" || path.exists();
    let is_device = !name.contains('/') && can_capture_from(name);
    match (is_file, is_device) {
        (true, both) => {
            if both {
                remark(&format!("{name}: reading the file; for the interface use -i {name}"));
            }
            Ok(Source::Files(vec![file_or_stdin(path)]))
        }
        (false, true) => Ok(Source::Live(name.to_owned())),
        (false, false) => bail!(
            "{name}: no such file and no such interface; there are: {}",
            interface_names().join(", ")
        ),
    }
}

fn can_capture_from(name: &str) -> bool {
    name == "any"
        || Path::new("/sys/class/infiniband").join(name).exists()
        || interface_names().iter().any(|known| known == name)
}

fn interface_names() -> Vec<String> {
    interfaces().into_iter().map(|interface| interface.name).collect()
}

/// Opens an interface with a kernel filter that keeps what can be RoCE.
pub(crate) fn open_live(name: &str, args: &SourceArgs, ports: &Ports) -> Result<LiveCapture> {
    let mut options = LiveOptions::new(name);
    options.snaplen = args.snaplen;
    options.buffer_size = args.buffer_size.saturating_mul(1 << 20);
    options.immediate = args.immediate;
    let ports = ports.as_slice().to_vec();
    options.roce_only = Some(RoceOnly { ports, tunnels: args.tunnels });
    options.filter.clone_from(&args.filter);
    Ok(LiveCapture::open(&options)?)
}

/// The ports that are taken for RoCE v2.
pub(crate) fn ports(args: &SourceArgs) -> Result<Ports> {
    let mut ports = Ports::default();
    for port in &args.port {
        if [Vxlan::PORT, Geneve::PORT].contains(port) {
            bail!("--port {port}: is the port of a tunnel, which is looked into as it is");
        }
        if !ports.add(*port) {
            bail!("--port: at most {} ports beside 4791", Ports::MAX.saturating_sub(1));
        }
    }
    Ok(ports)
}
