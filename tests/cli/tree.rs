//! `packets -V`: every field stands where it says, with the bytes that are there.

use std::collections::BTreeMap;

use roce_sniff_tests::command::{fixtures, run};
use roce_sniff_tests::read;

/// The value of `len` bytes, big-endian.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

/// A line `OFFSET    NAME VALUE …` of whole bytes, with its value as bytes where that is plain
/// from the text: hexadecimal digits with leading zeros, and addresses.
fn bytes_of(value: &str) -> Option<Vec<u8>> {
    if let Some(digits) = value.strip_prefix("0x") {
        let pairs = (0..digits.len()).step_by(2);
        return pairs.map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()).collect();
    }
    if value.split(':').count() == 6 && value.len() == 17 {
        return value.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    }
    match value.parse() {
        Ok(std::net::IpAddr::V4(ip)) => Some(ip.octets().to_vec()),
        Ok(std::net::IpAddr::V6(ip)) => Some(ip.octets().to_vec()),
        Err(_) => None,
    }
}

/// A decimal number; digits with a zero in front are bytes in hexadecimal.
fn decimal(value: &str) -> Option<u128> {
    if value.len() > 1 && value.starts_with('0') { None } else { value.parse().ok() }
}

/// A line such as `payload, 3 bytes: 616263`.
fn is_bytes(line: &str) -> bool {
    line.contains(" bytes: ") || line.contains(" byte: ")
}

/// Checks one frame's tree; returns how many fields could be held to the bytes.
fn check(name: &str, tree: &str, data: &[u8]) -> usize {
    let mut held = 0;
    let mut starts = BTreeMap::new();
    for line in tree.lines().filter(|line| line.starts_with("   ") && !is_bytes(line)) {
        let mut words = line.split_whitespace();
        let (place, field) = (words.next().unwrap(), words.next().unwrap());
        let Some(value) = words.next() else { continue };
        let Ok(at) = place.parse::<usize>() else { continue };
        // The one number that is little-endian on the wire is shown as its bytes stand.
        if let Some(bytes) = bytes_of(value) {
            let there = data.get(at..at + bytes.len());
            assert_eq!(there, Some(&bytes[..]), "{name}: {line}");
            held += 1;
        } else if let Some(decimal) = decimal(value) {
            starts.insert(at, (decimal, line.to_owned(), field.to_owned()));
        }
    }
    // Decimal numbers have no width of their own: 1, 2, 3, 4 or 8 bytes, one of them fits.
    for (at, (decimal, line, _)) in starts {
        let fits = [1, 2, 3, 4, 8]
            .iter()
            .filter_map(|len| data.get(at..at + len))
            .any(|bytes| number(bytes) == decimal);
        assert!(fits, "{name}: {line}");
        held += 1;
    }
    held
}

#[test]
fn every_field_shows_the_bytes_at_its_offset() {
    let mut held = 0;
    for folder in ["made", "rxe"] {
        for (path, _) in roce_sniff_tests::captures(folder) {
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            let text = run(&["packets", "-V", &name]).well().text();
            let (frames, _) = read(&fixtures().join(&name));
            for tree in text.split("\n\n").filter(|tree| !tree.is_empty()) {
                let number: usize = tree.split(' ').next().unwrap().parse().unwrap();
                held += check(&format!("{name} frame {number}"), tree, &frames[number - 1].data);
            }
        }
    }
    assert!(held > 100_000, "only {held} fields could be checked");
}

/// The hex dump has every byte of the frame.
#[test]
fn hex_shows_every_byte() {
    for name in ["made/v1_plain.pcap", "made/snaplen.pcap", "rxe/udaddy_v6.pcap"] {
        let text = run(&["packets", "-x", name]).well().text();
        let (frames, _) = read(&fixtures().join(name));
        let mut shown: BTreeMap<usize, String> = BTreeMap::new();
        let mut number = 0;
        for line in text.lines() {
            match line.strip_prefix('\t') {
                None => number = line.split(' ').next().unwrap().parse().unwrap(),
                Some(hex) => {
                    let digits = hex.split("  ").nth(1).unwrap();
                    shown.entry(number).or_default().push_str(&digits.replace(' ', ""));
                }
            }
        }
        assert!(!shown.is_empty());
        for (number, digits) in shown {
            let want: String =
                frames[number - 1].data.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digits, want, "{name} frame {number}");
        }
    }
}
