//! A build without live capture: files only.

use super::{LiveOptions, Next, Stats, explain};
use crate::{Error, LinkType};

/// Not to be had in this build.
pub struct LiveCapture(std::convert::Infallible);

impl LiveCapture {
    /// Always fails.
    ///
    /// # Errors
    /// Always.
    pub fn open(options: &LiveOptions) -> Result<Self, Error> {
        let message = "this build reads files only; build with `libpcap` or `pnet`".to_owned();
        Err(explain(&options.interface, message))
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub const fn next_frame(&mut self) -> Result<Next<'_>, Error> {
        match self.0 {}
    }

    /// Never called.
    pub const fn stats(&mut self) -> Option<Stats> {
        match self.0 {}
    }

    /// Never called.
    #[must_use]
    pub const fn link_type(&self) -> LinkType {
        match self.0 {}
    }
}
