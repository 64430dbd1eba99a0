//! Programs of the host, run without a shell.

use std::{
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
    time::timeout,
};

/// Bytes of a program's complaint that a message shows.
const SHOWN: usize = 300;

/// What `program` writes to standard output when called with `arguments`: at most `most` bytes, within `limit`. It is
/// killed when it takes longer.
pub(super) async fn output(program: &str, arguments: &[&str], limit: Duration, most: usize) -> Result<Vec<u8>, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let running = async {
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("{program} is not there"),
            _ => format!("{program} cannot be run: {error}"),
        })?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (out, said) = tokio::join!(bounded(stdout, most), bounded(stderr, SHOWN));
        let status = child.wait().await.map_err(|error| format!("{program} cannot be waited for: {error}"))?;
        judge(program, status, out, &said)
    };
    let late = |_| Err(format!("{program} was not done within {} s", limit.as_secs_f64()));
    timeout(limit, running).await.unwrap_or_else(late)
}

fn judge(program: &str, status: ExitStatus, out: Vec<u8>, said: &[u8]) -> Result<Vec<u8>, String> {
    if status.success() && !out.is_empty() {
        return Ok(out);
    }
    // Some complain on standard output.
    let said = if said.is_empty() { out.get(..SHOWN.min(out.len())).unwrap_or_default() } else { said };
    let said = String::from_utf8_lossy(said).split_whitespace().collect::<Vec<_>>().join(" ");
    Err(if said.is_empty() { format!("{program} gave nothing ({status})") } else { format!("{program}: {said}") })
}

/// At most `most` bytes of a stream; the rest is read and dropped, so that the program can end.
async fn bounded(stream: Option<impl AsyncRead + Unpin>, most: usize) -> Vec<u8> {
    let (mut held, mut buffer) = (Vec::new(), [0; 1 << 14]);
    let Some(mut stream) = stream else { return held };
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let room = most - held.len();
        held.extend(buffer.iter().take(read.min(room)));
    }
    held
}
