//! The setters of a connection request, in the order of its fields.

use super::*;

impl Req {
    /// The same of another vendor, modulo 2^24.
    #[must_use]
    pub const fn with_vendor_id(self, id: u32) -> Self {
        Self { vendor: VENDOR_ID.put(self.vendor, id), ..self }
    }

    /// The same from another queue pair.
    #[must_use]
    pub const fn with_local_qpn(self, qpn: Qpn) -> Self {
        Self { qp: LOCAL_QPN.put(self.qp, qpn.get()), ..self }
    }

    /// The same with other responder resources.
    #[must_use]
    pub const fn with_responder_resources(self, count: u8) -> Self {
        Self { qp: RESPONDER_RESOURCES.put(self.qp, count as u32), ..self }
    }

    /// The same with another local end-to-end context, modulo 2^24.
    #[must_use]
    pub const fn with_local_eecn(self, eecn: u32) -> Self {
        Self { ee: LOCAL_EECN.put(self.ee, eecn), ..self }
    }

    /// The same with another initiator depth.
    #[must_use]
    pub const fn with_initiator_depth(self, depth: u8) -> Self {
        Self { ee: INITIATOR_DEPTH.put(self.ee, depth as u32), ..self }
    }

    /// The same with another remote end-to-end context, modulo 2^24.
    #[must_use]
    pub const fn with_remote_eecn(self, eecn: u32) -> Self {
        Self { remote: REMOTE_EECN.put(self.remote, eecn), ..self }
    }

    /// The same with another time for the receiver, modulo 32.
    #[must_use]
    pub const fn with_remote_timeout(self, timeout: CmTimeout) -> Self {
        Self { remote: REMOTE_TIMEOUT.put(self.remote, timeout.0 as u32), ..self }
    }

    /// The same with another transport service, modulo 4.
    #[must_use]
    pub const fn with_transport(self, transport: u8) -> Self {
        Self { remote: TRANSPORT.put(self.remote, transport as u32), ..self }
    }

    /// The same with another end-to-end flow control.
    #[must_use]
    pub const fn with_flow_control(self, on: bool) -> Self {
        Self { remote: FLOW_CONTROL.put(self.remote, on as u32), ..self }
    }

    /// The same with another starting PSN.
    #[must_use]
    pub const fn with_starting_psn(self, psn: Psn) -> Self {
        Self { psn: STARTING_PSN.put(self.psn, psn.get()), ..self }
    }

    /// The same with another time for the sender, modulo 32.
    #[must_use]
    pub const fn with_local_timeout(self, timeout: CmTimeout) -> Self {
        Self { psn: LOCAL_TIMEOUT.put(self.psn, timeout.0 as u32), ..self }
    }

    /// The same with another retry count, modulo 8.
    #[must_use]
    pub const fn with_retry_count(self, count: u8) -> Self {
        Self { psn: RETRY_COUNT.put(self.psn, count as u32), ..self }
    }

    /// The same with another path MTU.
    #[must_use]
    pub const fn with_path_mtu(self, mtu: PathMtu) -> Self {
        Self { mtu: MTU.put(self.mtu, mtu.0), ..self }
    }

    /// The same with another RDC exists bit.
    #[must_use]
    pub const fn with_rdc_exists(self, on: bool) -> Self {
        Self { mtu: RDC_EXISTS.put(self.mtu, on as u8), ..self }
    }

    /// The same with another RNR retry count, modulo 8.
    #[must_use]
    pub const fn with_rnr_retry_count(self, count: u8) -> Self {
        Self { mtu: RNR_RETRY_COUNT.put(self.mtu, count), ..self }
    }

    /// The same with another number of CM retries, modulo 16.
    #[must_use]
    pub const fn with_max_cm_retries(self, count: u8) -> Self {
        Self { retries: MAX_CM_RETRIES.put(self.retries, count), ..self }
    }

    /// The same with another SRQ bit.
    #[must_use]
    pub const fn with_srq(self, on: bool) -> Self {
        Self { retries: SRQ.put(self.retries, on as u8), ..self }
    }

    /// The same with another extended transport, modulo 8.
    #[must_use]
    pub const fn with_extended_transport(self, transport: u8) -> Self {
        Self { retries: EXTENDED_TRANSPORT.put(self.retries, transport), ..self }
    }

    /// The same with another SAP supported bit.
    #[must_use]
    pub const fn with_sap_supported(self, on: bool) -> Self {
        let bits = SAP_SUPPORTED.put(self.alternate.last_3(), on as u8);
        Self { alternate: self.alternate.with_last_3(bits), ..self }
    }
}
