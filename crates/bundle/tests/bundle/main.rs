//! Bundles through their public interface: what is written comes back, and what is damaged is never read as if it were not.

#![expect(clippy::unwrap_used, reason = "what fails in a test's own preparation fails the test")]

mod attachments;
mod columns;
mod damage;
mod disk_full;
mod evidence;
mod kill;
mod round_trip;
mod run;
mod writing;
