//! From what is wanted to the steps that bring it about.

use std::collections::BTreeSet;

use super::persist::Unit;
use super::status::Obstacle;
use super::step::Step;
use crate::{Error, Host, PortRef, RoceMode, Target};

/// What is wanted. With neither mode nor ToS, the steps only open the settings for reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The mode.
    pub mode: Option<RoceMode>,
    /// The ToS of new connections, 0 to 255.
    pub tos: Option<u8>,
    /// A unit that does it again after a reboot.
    pub persist: Option<Unit>,
}

/// The steps to a change. Nothing is done until [`Plan::apply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In the order to do them.
    pub steps: Vec<Step>,
    /// The ports concerned.
    pub ports: Vec<PortRef>,
}

impl Host {
    /// Works out the steps that bring `change` about on `target`.
    ///
    /// # Errors
    /// When there is no such device or RoCE port, or RDMA_CM is not there to be told.
    pub fn plan(&self, target: &Target, change: &Change) -> Result<Plan, Error> {
        let ports = self.roce_ports(target)?;
        let mut steps = self.steps_to_open(&ports)?;
        for port in &ports {
            self.steps_to_write(port, change, &mut steps)?;
        }
        if let Some(unit) = &change.persist {
            steps.extend(unit.steps(self));
        }
        Ok(Plan { steps, ports })
    }

    /// The steps until the directory of each port is there.
    fn steps_to_open(&self, ports: &[PortRef]) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        let devices: BTreeSet<&str> = ports.iter().map(|port| port.device.as_str()).collect();
        let rdma_cm = self.configfs().0.join("rdma_cm");
        for device in devices {
            let make = |dir| Step::MakeDevice { dir, device: device.to_owned() };
            match self.obstacle(device) {
                None => {}
                Some(Obstacle::NotMade { dir }) => steps.push(make(dir)),
                Some(Obstacle::NotMounted { at }) => {
                    if steps.is_empty() {
                        steps.push(Step::MountConfigfs { at });
                        steps.push(Step::RequireRdmaCm { dir: rdma_cm.clone() });
                    }
                    steps.push(make(rdma_cm.join(device)));
                }
                Some(other) => return Err(Error::Obstacle(other)),
            }
        }
        Ok(steps)
    }

    fn steps_to_write(
        &self,
        port: &PortRef,
        change: &Change,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let dir = self.mode_dir(port);
        if let Some(mode) = change.mode {
            let file = dir.join("default_roce_mode");
            let gid_types = self
                .rdma_device(&port.device)?
                .port(port.port)
                .map(|port| port.gids.types())
                .unwrap_or_default();
            steps.push(Step::WriteMode { file: file.clone(), mode, port: port.clone(), gid_types });
            steps.push(Step::VerifyMode { file, mode });
        }
        if let Some(tos) = change.tos {
            let file = dir.join("default_roce_tos");
            steps.push(Step::WriteTos { file: file.clone(), tos });
            steps.push(Step::VerifyTos { file, tos });
        }
        Ok(())
    }
}
