//! A systemd unit that applies the change again after a reboot.
//!
//! The kernel forgets RDMA_CM's settings with the device, so something has to write them at boot,
//! after the device and RDMA_CM are there.

use std::path::Path;

use super::step::Step;
use crate::{Host, RoceMode, Target};

/// The unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its file name.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Unit {
    /// The unit that runs `program mode TARGET --set MODE --set-tos TOS` at boot.
    #[must_use]
    pub fn new(program: &Path, target: &Target, mode: Option<RoceMode>, tos: Option<u8>) -> Self {
        let mut command =
            format!("{} mode {}", quote(&program.to_string_lossy()), quote(&target.to_string()));
        let mut wanted = Vec::new();
        if let Some(mode) = mode {
            command.push_str(" --set ");
            command.push_str(mode.short());
            wanted.push(format!("mode {mode}"));
        }
        if let Some(tos) = tos {
            command.push_str(&format!(" --set-tos {tos}"));
            wanted.push(format!("ToS {tos}"));
        }
        let wanted = wanted.join(", ");
        let text = format!(
            "# Applies what `roce-sniff mode {target}` was told to keep.\n\
             [Unit]\n\
             Description=RDMA_CM default of {description}: {wanted}\n\
             Wants=sys-kernel-config.mount\n\
             After=sys-kernel-config.mount systemd-modules-load.service rdma-hw.target network.target\n\
             \n\
             [Service]\n\
             Type=oneshot\n\
             RemainAfterExit=yes\n\
             ExecStartPre=-/sbin/modprobe rdma_cm\n\
             ExecStart={command}\n\
             \n\
             [Install]\n\
             WantedBy=multi-user.target\n",
            description = target.to_string().replace('%', "%%"),
        );
        Self { name: format!("roce-sniff-mode-{}.service", file_name(target)), text }
    }

    /// The steps that install it below the root of `host`.
    pub(crate) fn steps(&self, host: &Host) -> [Step; 2] {
        let dir = host.path("etc/systemd/system");
        [
            Step::WriteUnit { file: dir.join(&self.name), text: self.text.clone() },
            Step::EnableUnit {
                link: dir.join("multi-user.target.wants").join(&self.name),
                target: Path::new("..").join(&self.name),
            },
        ]
    }
}

/// The target as a part of a file name.
fn file_name(target: &Target) -> String {
    target
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '-' })
        .collect()
}

/// One word of an `ExecStart` line (systemd.service(5), systemd.syntax(7)).
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_-.+:,@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' | '$' => quoted.extend([c, c]),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_repeats_the_command() {
        let target: Target = "mlx5_0/1".parse().unwrap();
        let program = Path::new("/usr/bin/roce-sniff");
        let unit = Unit::new(program, &target, Some(RoceMode::V1), Some(104));
        assert_eq!(unit.name, "roce-sniff-mode-mlx5_0-1.service");
        assert!(
            unit.text
                .contains("\nExecStart=/usr/bin/roce-sniff mode mlx5_0/1 --set v1 --set-tos 104\n"),
            "{}",
            unit.text
        );
    }

    #[test]
    fn words_are_quoted_for_systemd() {
        assert_eq!(quote("/usr/bin/x"), "/usr/bin/x");
        assert_eq!(quote("/home/a b/x"), "\"/home/a b/x\"");
        assert_eq!(quote("/tmp/50%$x\"y\\z"), "\"/tmp/50%%$$x\\\"y\\\\z\"");
    }
}
