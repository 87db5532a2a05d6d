//! The host as it is read from, and written to, trees of files.

#[cfg(test)]
mod devices;
#[cfg(test)]
mod mode;
#[cfg(test)]
mod tree;
