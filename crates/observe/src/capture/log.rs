//! The end of a log, without what it tells of requests' texts.
//!
//! Engines that log requests write prompts and answers as one quoted text after a known word (`prompt: '…'`, `text='…'`).
//! A line is cut at the first such word. A line without a logger's beginning that follows it is the rest of a text that
//! holds line breaks, and is left out, as is what stands before the first whole message of the part that is taken.

use super::{Limits, Taken};
use firstcheck_ingest::{
    fingerprint::redact_text,
    log::{prefix, wrapper},
};
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

/// Words before a request's text, as vLLM, SGLang, TensorRT-LLM and logged bodies of requests have them.
const BEFORE_TEXT: [&str; 31] = [
    "prompt: ",
    "prompt=",
    "prompt': ",
    "prompt\": ",
    "prompt\":",
    "prompts=",
    "prompt_token_ids",
    "output_token_ids",
    "system_prompt",
    "text='",
    "text=\"",
    "text': ",
    "text\":",
    "input_ids",
    "output_ids",
    "input': ",
    "input\":",
    "input=",
    "inputs=",
    "inputs\":",
    "output: ",
    "output=",
    "outputs=",
    "messages=",
    "messages'",
    "messages\"",
    "content=",
    "content'",
    "content\"",
    "GenerateReqInput(",
    "Received request body",
];
/// Longest line that is kept, bytes.
const LONGEST_LINE: usize = 1 << 16;

/// The last bytes of a log.
pub(super) async fn tail(path: &Path, number: usize, limits: &Limits) -> Taken {
    let (path, most) = (path.to_owned(), limits.log_bytes);
    let name = format!("log-{}.log", number + 1);
    let read = tokio::task::spawn_blocking(move || last_bytes(&path, most)).await;
    let (bytes, whole) = match read {
        Ok(Ok(read)) => read,
        Ok(Err(why)) => return Taken::missing(why),
        Err(error) => return Taken::missing(error.to_string()),
    };
    let (text, left_out) = without_texts(&String::from_utf8_lossy(&bytes), whole);
    let mut taken = Taken::default();
    if left_out > 0 {
        taken.lacks(format!("{left_out} lines hold texts of requests, or the rest of one: they were cut or left out"));
    }
    taken.file(name, text);
    taken
}

/// The last `most` bytes, and whether that is the whole file.
fn last_bytes(path: &Path, most: u64) -> Result<(Vec<u8>, bool), String> {
    // Looked at before it is opened: a pipe that nobody writes to never answers.
    let about = std::fs::metadata(path).map_err(|error| format!("it cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("it is no file".into());
    }
    let read = || {
        let mut file = File::open(path)?;
        let from = about.len().saturating_sub(most);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok((bytes, from == 0))
    };
    read().map_err(|error: std::io::Error| format!("it cannot be read: {error}"))
}

/// Lines of a log as they may be shown: without secrets, and without texts of requests as far as their first line tells.
///
/// # Example
/// ```
/// use firstcheck_observe::capture::quotable;
/// let line = "INFO 01-02 03:04:06 [logger.py:39] Received request r-1: prompt: 'tell me'";
/// assert_eq!(quotable(line), "INFO 01-02 03:04:06 [logger.py:39] Received request r-1: prompt: (left out: 9 bytes)");
/// ```
pub fn quotable(lines: &str) -> String {
    without_texts(lines, true).0.trim_end().to_owned()
}

/// The lines of a log without secrets and without texts of requests, and how many were cut or left out.
fn without_texts(text: &str, whole: bool) -> (String, u64) {
    let mut kept = String::with_capacity(text.len());
    // A cut file begins within a line, which may be the rest of a text; so may the lines up to the first whole message,
    // where the log has any that its beginning tells.
    let from = if whole { 0 } else { text.find('\n').map_or(text.len(), |at| at + 1) };
    let rest = text.get(from..).unwrap_or_default();
    let (mut in_text, mut left_out) = (!whole && rest.lines().any(begins_a_message), u64::from(!whole));
    for line in rest.lines() {
        let begins = begins_a_message(line);
        if in_text && !begins {
            left_out += 1;
            continue;
        }
        let cut = BEFORE_TEXT.iter().filter_map(|word| Some(whole_word(line, word)? + word.len())).min();
        in_text = cut.is_some();
        let end = cut.unwrap_or(line.len()).min(LONGEST_LINE);
        let end = (0..=end).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        kept.push_str(&redact_text(line.get(..end).unwrap_or_default()));
        if end < line.len() {
            kept.push_str(&format!("(left out: {} bytes)", line.len() - end));
            left_out += 1;
        }
        kept.push('\n');
    }
    (kept, left_out)
}

/// Where `word` stands in a line, not as the end of a longer one (`limit_mm_per_prompt`).
fn whole_word(line: &str, word: &str) -> Option<usize> {
    let within =
        |at: usize| line.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    line.match_indices(word).map(|(at, _)| at).find(|at| !within(*at))
}

/// Whether a line begins as a logger writes it, containers aside.
fn begins_a_message(line: &str) -> bool {
    prefix::split(&wrapper::unwrap(line).text).level.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_requests_do_not_stay() {
        let text = "INFO 01-02 03:04:05 [api_server.py:1] Started\n\
            INFO 01-02 03:04:06 [logger.py:39] Received request chatcmpl-1: prompt: 'tell me planted', params: x\n\
            planted second line\n\
            INFO 01-02 03:04:07 [loggers.py:1] Avg prompt throughput: 10.0 tokens/s\n\
            INFO 01-02 03:04:07 [a.py:1] args: {'limit_mm_per_prompt': {'image': 1}, 'port': 80}\n\
            Traceback (most recent call last):\n\
            [2026-01-02 03:04:08] INFO Receive: obj=GenerateReqInput(rid='1', text='planted')\n";
        let (kept, left_out) = without_texts(text, true);
        assert!(!kept.contains("planted"), "{kept}");
        assert_eq!(left_out, 3);
        for stays in [
            "Started",
            "Received request chatcmpl-1",
            "Avg prompt throughput: 10.0 tokens/s",
            "'port': 80",
            "Traceback",
        ] {
            assert!(kept.contains(stays), "{stays} is gone from {kept}");
        }
        let (kept, left_out) = without_texts(&format!("cut in the planted middle\nplanted\n{text}"), false);
        assert!(!kept.contains("planted") && kept.contains("Started"), "{kept}");
        assert_eq!(left_out, 5);
    }

    #[test]
    fn a_long_line_is_cut_between_two_characters() {
        let line = format!("INFO 01-02 03:04:05 [a.py:1] x{}", "ü".repeat(LONGEST_LINE));
        let (kept, left_out) = without_texts(&line, true);
        assert!(kept.len() < LONGEST_LINE + 100 && left_out == 1);
    }
}
