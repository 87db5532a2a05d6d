//! Which driver runs an RDMA device.

use std::path::Path;

use super::read;

/// The driver of soft-RoCE.
pub(crate) const RXE: &str = "rdma_rxe";
/// The driver of software iWARP.
pub(crate) const SIW: &str = "siw";

/// The driver of the device at `dir`.
///
/// Devices made of software come first: on kernels before 5.x they show the PCI function of the
/// adapter below them as their own. Only soft-RoCE has a `parent` file; the device's description
/// may have been changed by the host, its name too.
pub(crate) fn of(dir: &Path, name: &str) -> Option<String> {
    let describes = |text: &str| {
        read::attribute(&dir.join("node_desc")).is_some_and(|desc| desc.starts_with(text))
    };
    let is_hardware = || dir.join("device/driver").exists();
    if dir.join("parent").exists() || describes("rxe") {
        return Some(RXE.to_owned());
    }
    if describes("Software iWARP") || (name.starts_with("siw") && !is_hardware()) {
        return Some(SIW.to_owned());
    }
    if name.starts_with("rxe") && !is_hardware() {
        return Some(RXE.to_owned());
    }
    read::link_name(&dir.join("device/driver"))
}
