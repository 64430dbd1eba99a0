//! The crate through its public interface.

mod detection;
mod endpoints;
mod fixture;
mod folders;
mod foreign;
mod hostile;
mod pages;
mod real;
mod vocabulary;
