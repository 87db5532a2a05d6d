//! Names: of modes, of ports.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::host::check_name;

/// Which RoCE RDMA_CM opens connections with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoceMode {
    /// RoCE v1, Ethertype 0x8915.
    V1,
    /// RoCE v2, UDP port 4791.
    V2,
}

impl RoceMode {
    /// What is written to the kernel, in the order to try: current kernels take only
    /// `IB/RoCE v1`, some older stacks only `RoCE v1`.
    #[must_use]
    pub const fn kernel_names(self) -> &'static [&'static str] {
        match self {
            Self::V1 => &["IB/RoCE v1", "RoCE v1"],
            Self::V2 => &["RoCE v2"],
        }
    }

    /// The short name, as on the command line.
    #[must_use]
    pub const fn short(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

impl fmt::Display for RoceMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "RoCE v1",
            Self::V2 => "RoCE v2",
        })
    }
}

impl FromStr for RoceMode {
    type Err = Error;

    /// Takes the spellings of the kernel and of the manuals: `v1`, `RoCE v1`, `IB/RoCE v1`,
    /// `v2`, `RoCE v2`, `RoCEv2`, in any case. Numbers alone are refused.
    fn from_str(given: &str) -> Result<Self, Error> {
        let plain: String = given
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '-' && *c != '_')
            .map(|c| c.to_ascii_lowercase())
            .collect();
        match plain.as_str() {
            "v1" | "rocev1" | "ib/rocev1" => Ok(Self::V1),
            "v2" | "rocev2" => Ok(Self::V2),
            _ => Err(Error::ModeName { given: given.to_owned() }),
        }
    }
}

/// Reads a ToS from 0 to 255, decimal or with `0x`.
///
/// # Errors
/// When it is no such number.
pub fn parse_tos(given: &str) -> Result<u8, Error> {
    let text = given.trim();
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with('+') => u8::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    };
    parsed.ok_or_else(|| Error::TosValue { given: given.to_owned() })
}

/// A port of a device, written `mlx5_0/1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortRef {
    /// The device.
    pub device: String,
    /// The port, from 1.
    pub port: u32,
}

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.device, self.port)
    }
}

/// What a user points at: a device, or one port of it, written `DEVICE[/PORT]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The device.
    pub device: String,
    /// The port; absent means all.
    pub port: Option<u32>,
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let wrong = || Error::DeviceName { given: given.to_owned() };
        let (device, port) = match given.split_once('/') {
            Some((device, port)) => (device, Some(port.parse().map_err(|_| wrong())?)),
            None => (given, None),
        };
        check_name(device).map_err(|_| wrong())?;
        Ok(Self { device: device.to_owned(), port })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}/{port}", self.device),
            None => f.write_str(&self.device),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spellings_of_the_documents() {
        for v1 in ["v1", "V1", "RoCE v1", "IB/RoCE v1", "RoCEv1", "roce-v1", "IB/RoCE v1\n"] {
            assert_eq!(v1.parse::<RoceMode>().unwrap(), RoceMode::V1, "{v1}");
        }
        for v2 in ["v2", "RoCE v2", "RoCEv2", "rocev2", "roce_v2"] {
            assert_eq!(v2.parse::<RoceMode>().unwrap(), RoceMode::V2, "{v2}");
        }
        for bad in ["", "v3", "v1.5", "RRoCE", "IB/RoCE v2", "IB"] {
            assert!(bad.parse::<RoceMode>().is_err(), "{bad}");
        }
        for number in ["0", "1", "2"] {
            let text = number.parse::<RoceMode>().unwrap_err().to_string();
            assert!(text.contains("numbers are not taken"), "{text}");
        }
    }

    /// What a 6.12 kernel accepts for `default_roce_tos`, and nothing else.
    #[test]
    fn tos_is_one_byte() {
        for (given, tos) in [("0", 0), ("96", 96), ("255", 255), ("0x68", 104), (" 104 ", 104)] {
            assert_eq!(parse_tos(given).unwrap(), tos);
        }
        for bad in ["256", "-1", "0x100", "", "0x", "0x+1", "AF31"] {
            assert!(parse_tos(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn targets() {
        let target: Target = "mlx5_0/1".parse().unwrap();
        assert_eq!((target.device.as_str(), target.port), ("mlx5_0", Some(1)));
        assert_eq!("rxe0".parse::<Target>().unwrap().port, None);
        for bad in ["", "/1", "a/b", "a/1/2", "../x", "a/-1", "a/"] {
            assert!(bad.parse::<Target>().is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in ".{0,40}") {
            let _ = text.parse::<RoceMode>();
            let _ = parse_tos(&text);
            if let Ok(target) = text.parse::<Target>() {
                proptest::prop_assert!(!target.device.contains('/') && target.device != "..");
            }
        }
    }
}
