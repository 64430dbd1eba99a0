//! An HTTP answer saved with its head, as `curl -i` writes it.

use crate::time;

/// Longest head that is taken for one.
const LONGEST: usize = 1 << 14;

/// Bytes of the head, its blank line included, where the body follows as it is.
pub(super) fn head_length(start: &[u8]) -> Option<usize> {
    if !start.starts_with(b"HTTP/1.") && !start.starts_with(b"HTTP/2") {
        return None;
    }
    let start = &start[..start.len().min(LONGEST)];
    let crlf = memchr::memmem::find(start, b"\r\n\r\n").map(|at| at + 4);
    let lf = memchr::memmem::find(start, b"\n\n").map(|at| at + 2);
    let end = match (crlf, lf) {
        (Some(crlf), Some(lf)) => crlf.min(lf),
        (one, other) => one.or(other)?,
    };
    // A body in chunks is none of the formats; curl takes them apart unless told not to.
    let chunked = field(&start[..end], "transfer-encoding").is_some_and(|value| value.contains("chunked"));
    (!chunked).then_some(end)
}

/// When the server says that it answered, nanoseconds of Unix time.
pub(super) fn date(head: &[u8]) -> Option<i64> {
    time::of_http(&field(head, "date")?)
}

fn field(head: &[u8], name: &str) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}
