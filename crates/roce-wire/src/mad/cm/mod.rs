//! Connection management: the eleven messages that set up, refuse and end connections.
//!
//! Every message is 232 bytes, bytes 24 to 255 of its datagram. A connection comes about by
//! REQ, REP, RTU, with an MRA after the first two when an answer takes longer; or it does not, by
//! REJ. It ends by DREQ and DREP. Datagram services are found by SIDR_REQ and SIDR_REP.
//!
//! "Local" in a message is always its sender.

mod apr;
mod attribute;
mod drep;
mod dreq;
mod ids;
mod lap;
mod message;
mod mra;
mod path;
mod path_mtu;
mod reason;
mod rej;
mod rep;
mod req;
mod rtu;
mod service_id;
mod sidr_rep;
mod sidr_req;
mod status;
mod timeout;

pub use apr::Apr;
pub use attribute::CmAttribute;
pub use drep::Drep;
pub use dreq::Dreq;
pub use ids::{CommId, Guid};
pub use lap::Lap;
pub use message::CmMessage;
pub use mra::{Mra, MraMessage};
pub use path::Path;
pub use path_mtu::PathMtu;
pub use reason::RejReason;
pub use rej::{Rej, RejectedMessage};
pub use rep::Rep;
pub use req::Req;
pub use rtu::Rtu;
pub use service_id::{PortSpace, ServiceId};
pub use sidr_rep::SidrRep;
pub use sidr_req::SidrReq;
pub use status::{AprStatus, SidrStatus};
pub use timeout::{AckTimeout, CmTimeout};
