//! The file with what an operator wants of a wire.

use std::fs;

use anyhow::{Context as _, Result};
use roce_analyze::findings::Policy;

use super::CheckArgs;

/// The keys of the file with what holds without it.
pub(super) const HELP: &str = "\
How traffic is to be marked, and from when on something is too much: a TOML file

These are its keys, all of them optional, with what holds without them:

  strict = false               # hold unmarked traffic to the marks, too
  data_dscp = 26               # DSCP of packets with data
  data_pcp = 3                 # VLAN priority of packets with data
  cnp_dscp = 48                # DSCP of congestion notifications
  cnp_pcp = 6                  # VLAN priority of congestion notifications
  pfc_storm_ns = 2000000       # a priority paused for so long without a break
  pfc_storm_percent = 10       # or for so much of a second is a PFC storm,
  pfc_storm_per_second = 1000  # or so many pauses where no link speed is known
  rnr_storm_percent = 10       # RNR NAKs for each 100 messages that are a storm
  entropy_connections = 8      # from so many on, source ports are compared

and link_speed, in bits a second as a number (100000000000), which --link-speed overrides.";

pub(super) fn read(args: &CheckArgs) -> Result<Policy> {
    let mut policy = match &args.policy {
        Some(path) => {
            let name = path.display().to_string();
            let text = fs::read_to_string(path).with_context(|| format!("{name}: cannot read"))?;
            toml::from_str(&text).map_err(|error| {
                anyhow::anyhow!("{name}: {}", error.to_string().trim_end().replace('\n', "; "))
            })?
        }
        None => Policy::default(),
    };
    if args.link_speed.is_some() {
        policy.link_speed = args.link_speed;
    }
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the help says is what the program does, and it names every key.
    #[test]
    fn the_help_has_every_key_with_its_default() {
        let keys: Vec<&str> = HELP.lines().filter(|line| line.contains(" = ")).collect();
        let told: Policy = toml::from_str(&keys.join("\n")).unwrap();
        assert_eq!(told, Policy::default());
        let fields = format!("{told:?}");
        let fields = fields.split([' ', '{', ',']).filter_map(|word| word.strip_suffix(':'));
        for field in fields {
            assert!(HELP.contains(field), "{field}");
        }
    }
}
