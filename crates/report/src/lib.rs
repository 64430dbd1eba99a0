//! One report, several renderings.
