//! What runs on top: named from the port of RDMA_CM and from private data, never from payload.

use roce_wire::mad::cm::ServiceId;

/// The application of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize)]
#[non_exhaustive]
pub enum Upper {
    /// NVMe over fabrics.
    #[serde(rename = "NVMe-oF")]
    NvmeOf,
    /// NFS over RDMA.
    #[serde(rename = "NFS/RDMA")]
    NfsRdma,
    /// SMB Direct.
    #[serde(rename = "SMB Direct")]
    SmbDirect,
    /// iSCSI extensions for RDMA.
    #[serde(rename = "iSER")]
    Iser,
    /// Lustre's o2ib network.
    #[serde(rename = "Lustre")]
    Lustre,
    /// Reliable datagram sockets.
    #[serde(rename = "RDS")]
    Rds,
}

impl Upper {
    /// The usual name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NvmeOf => "NVMe-oF",
            Self::NfsRdma => "NFS/RDMA",
            Self::SmbDirect => "SMB Direct",
            Self::Iser => "iSER",
            Self::Lustre => "Lustre",
            Self::Rds => "RDS",
        }
    }
}

/// Private data of RPC-over-RDMA begins with this (RFC 8797).
const RPC_RDMA_MAGIC: [u8; 4] = [0xf6, 0xab, 0x0e, 0x18];

/// By the registered port first, then by what the private data says of itself.
pub(super) fn of(service: ServiceId, private_data: &[u8]) -> Option<Upper> {
    let by_port = service.port().and_then(|port| match port {
        4420 | 8009 => Some(Upper::NvmeOf),
        20049 => Some(Upper::NfsRdma),
        445 | 5445 => Some(Upper::SmbDirect),
        3260 => Some(Upper::Iser),
        987 => Some(Upper::Lustre),
        18634 => Some(Upper::Rds),
        _ => None,
    });
    by_port.or_else(|| private_data.starts_with(&RPC_RDMA_MAGIC).then_some(Upper::NfsRdma))
}

#[cfg(test)]
mod tests {
    use super::*;
    use roce_wire::mad::cm::PortSpace;

    #[test]
    fn the_port_goes_first_and_the_private_data_second() {
        let port = |port| ServiceId::rdma_cm(PortSpace::TCP, port);
        assert_eq!(of(port(4420), &[]), Some(Upper::NvmeOf));
        assert_eq!(of(port(4791), &[0xf6, 0xab, 0x0e, 0x18, 1]), Some(Upper::NfsRdma));
        assert_eq!(of(port(7174), &[0; 56]), None);
    }
}
