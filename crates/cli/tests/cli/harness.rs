//! Runs the real binary in a folder of its own.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// A folder in which the binary runs.
pub struct Bench {
    folder: TempDir,
}

/// What a call said.
#[derive(Debug)]
pub struct Said {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Bench {
    /// An empty folder.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The binary with these arguments, ready to start.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcheck"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    /// Runs it to its end.
    pub fn call(&self, args: &[&str]) -> Said {
        let output = self.command(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs it and expects this exit code.
    pub fn expect(&self, code: i32, args: &[&str]) -> Said {
        let said = self.call(args);
        let start: String = said.out.chars().take(2000).collect();
        assert_eq!(said.code, code, "firstcheck {args:?}\n{}\n{start}", said.err);
        said
    }
}

/// A path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}
