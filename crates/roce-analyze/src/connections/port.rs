//! The UDP source port, from which switches spread flows over paths.

/// The port that Linux makes of a flow label (`rdma_flow_label_to_udp_sport`): 0xc000 to 0xffff.
#[must_use]
pub fn of_flow_label(label: u32) -> u16 {
    let folded = (label & 0x3fff) ^ ((label & 0xf_c000) >> 14);
    u16::try_from(folded | 0xc000).unwrap_or(u16::MAX)
}

/// The port that Linux makes of both queue pairs when there is no flow label
/// (`rdma_calc_flow_label`). It is the same for both directions.
#[must_use]
pub fn of_queue_pairs(a: u32, b: u32) -> u16 {
    let mut product = u64::from(a).wrapping_mul(u64::from(b));
    product ^= product >> 20;
    product ^= product >> 40;
    of_flow_label(u32::try_from(product & 0xf_ffff).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_roce_uses_the_product_of_the_queue_pairs() {
        // Ports and queue pairs of fixtures/rxe/err_rnr.pcap.
        for (a, b, port) in [(0x75, 0x11, 51141), (0x76, 0x12, 51276), (0x77, 0x13, 51413)] {
            assert_eq!((of_queue_pairs(a, b), of_queue_pairs(b, a)), (port, port));
        }
    }
}
