//! Bounded reads of attribute files and directories.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Error;

/// An attribute is at most one page; the bound only matters on trees that are not sysfs.
const MAX_TEXT: u64 = 64 * 1024;
/// No directory that is read here has more entries (a GID table has a few thousand at most).
const MAX_NAMES: usize = 65_536;

/// The text of a file without its trailing line end. Characters that would steer a terminal
/// are replaced.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    text_of_at_most(path, MAX_TEXT)
}

/// The start of the text of a file, at most `limit` bytes.
pub(crate) fn text_of_at_most(path: &Path, limit: u64) -> io::Result<String> {
    // Non-blocking, so that a pipe in a tree that someone prepared cannot hang the reader.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text
        .trim_end()
        .chars()
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c })
        .collect())
}

/// An attribute that may be missing, unreadable or empty: then it is absent.
///
/// The kernel answers EINVAL, ENODEV and EOPNOTSUPP for attributes that exist and have no value,
/// so no error here is worth stopping for.
pub(crate) fn attribute(path: &Path) -> Option<String> {
    text(path).ok().filter(|text| !text.is_empty())
}

/// An attribute that holds a decimal number.
pub(crate) fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    attribute(path)?.trim().parse().ok()
}

/// The names in a directory in natural order; none when it does not exist.
pub(crate) fn names(dir: &Path) -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("list", dir, error)),
    };
    let mut names = Vec::new();
    for entry in entries.take(MAX_NAMES) {
        let entry = entry.map_err(|error| Error::io("list", dir, error))?;
        // A name that is not UTF-8 is none that the kernel makes.
        if let Ok(name) = entry.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort_by_cached_key(|name| natural(name));
    Ok(names)
}

/// The numbers among the names of a directory, ascending.
pub(crate) fn numbers(dir: &Path) -> Result<Vec<u32>, Error> {
    let mut numbers: Vec<u32> = names(dir)?.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The last component of where a symbolic link points.
pub(crate) fn link_name(path: &Path) -> Option<String> {
    let target = fs::read_link(path).ok()?;
    Some(target.file_name()?.to_str()?.to_owned())
}

/// Sorts `mlx5_2` before `mlx5_10`.
fn natural(name: &str) -> (String, u64, String) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = name.get(stem.len()..).unwrap_or_default();
    (stem.to_owned(), digits.parse().unwrap_or(0), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_value() {
        let mut names = vec!["mlx5_10", "rxe0", "mlx5_2", "lo", "eth1.20", "eth1.3"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["eth1.3", "eth1.20", "lo", "mlx5_2", "mlx5_10", "rxe0"]);
    }

    #[test]
    fn a_terminal_is_not_steered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fw_ver");
        std::fs::write(&path, "1.2\x1b[31m\n").unwrap();
        assert_eq!(text(&path).unwrap(), "1.2\u{fffd}[31m");
        std::fs::write(&path, "\n").unwrap();
        assert_eq!(attribute(&path), None);
        assert_eq!(attribute(dir.path()), None);
    }
}
