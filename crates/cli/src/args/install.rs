//! `firstcheck completions` and `firstcheck man`: what a package installs beside the binary.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck completions bash > /usr/share/bash-completion/completions/firstcheck
  firstcheck completions zsh > ~/.zfunc/_firstcheck
  firstcheck completions fish > ~/.config/fish/completions/firstcheck.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Write manual pages, one a verb
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck man --out /usr/local/share/man/man1")]
pub struct ManArgs {
    /// Folder to write into; it is made where it is not there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}
