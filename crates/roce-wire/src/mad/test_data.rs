//! Real management datagrams, made by Linux 6.12 soft-RoCE. The values that tests expect of them
//! are those that tshark 4.0.17 reads, where it has a dissector.

/// A whole datagram of 256 bytes from its hexadecimal digits; the zeros at its end are left out.
pub(super) fn mad(hex: &str) -> [u8; 256] {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    let mut bytes = [0; 256];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::try_from(pair[0] << 4 | pair[1]).unwrap();
    }
    bytes
}

/// REQ of `rping` over IPv4.
pub(super) const RPING_REQ: &str = "
    01070203 00000000 00000006 6d2c85c0 00100000 00000000 c0852c6d 00000000 00000000 01061c06
    000000ff fe770001 00000000 00000000 00001101 00000001 000000a0 9bbbd7a7 ffff37f0 ffffffff
    00000000 00000000 0000ffff 0a4d0001 00000000 00000000 0000ffff 0a4d0002 79a63000 00400088
    00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
    00000000 0040c203 00000000 00000000 00000000 0a4d0001 00000000 00000000 00000000 0a4d0002";

/// REP to it.
pub(super) const RPING_REP: &str = "
    01070203 00000000 00000006 6d2c85c0 00130000 00000000 c3852c6d c0852c6d 00000000 00007500
    00000000 ac30e900 010178e0 000000ff fe770002";

/// RTU to that.
pub(super) const RPING_RTU: &str = "
    01070203 00000000 00000006 6d2c85c0 00140000 00000000 c0852c6d c3852c6d";

/// DREQ at the end of it.
pub(super) const RPING_DREQ: &str = "
    01070203 00000000 00000006 6d2c85c0 00150000 00000000 c0852c6d c3852c6d 000075";

/// DREP to that.
pub(super) const RPING_DREP: &str = "
    01070203 00000000 00000006 6d2c85c0 00160000 00000000 c3852c6d c0852c6d";

/// REQ of `rping` over IPv6.
pub(super) const RPING_V6_REQ: &str = "
    01070203 00000000 00000006 6d2c85c5 00100000 00000000 c5852c6d 00000000 00000000 01061c06
    000000ff fe770001 00000000 00000000 00001201 00000001 000000a0 f3d816a7 ffff37f0 ffffffff
    fd770000 00000000 00000000 00000001 fd770000 00000000 00000000 00000002 8b08a000 00400088
    00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
    00000000 0060cafc fd770000 00000000 00000000 00000001 fd770000 00000000 00000000 00000002";

/// MRA of a kernel whose server process was stopped when the REQ came.
pub(super) const STOPPED_SERVER_MRA: &str = "
    01070203 00000000 0000000a 6d2c85fb 00110000 00000000 fa852c6d fb852c6d 00c0";

/// REJ of a port where nobody listens.
pub(super) const NO_LISTENER_REJ: &str = "
    01070203 00000000 0000000a 6d2c85f4 00120000 00000000 00000000 f4852c6d 00000008";

/// REJ of a server that died with the request pending.
pub(super) const CONSUMER_REJ: &str = "
    01070203 00000000 0000000a 6d2c8582 00120000 00000000 85852c6d 82852c6d 0000001c";

/// SIDR_REQ of `udaddy`.
pub(super) const UDADDY_SIDR_REQ: &str = "
    01070203 00000000 00000006 6d2c85cd 00170000 00000000 cd852c6d ffff0000 00000000 01111c06
    0040a001 00000000 00000000 00000000 0a4d0001 00000000 00000000 00000000 0a4d0002";

/// SIDR_REP to it.
pub(super) const UDADDY_SIDR_REP: &str = "
    01070203 00000000 00000006 6d2c85cd 00180000 00000000 cd852c6d 00000000 00007900 00000000
    01111c06 01234567";

/// SIDR_REP of a port where nobody listens.
pub(super) const NO_LISTENER_SIDR_REP: &str = "
    01070203 00000000 0000000a 6d2c85f6 00180000 00000000 f6852c6d 01000000 00000000 00000000
    01111c06";
