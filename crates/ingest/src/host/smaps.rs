//! Snapshots of `/proc/PID/smaps_rollup`, one or several in a row.
//!
//! Between them may stand lines that date them: Unix seconds, or an RFC 3339 time, alone on a line or after `#`, with
//! `pid=N` beside it or not. Without dates only their order is known: the moments then count snapshots, and
//! [`Snapshots::dated`] says so.

use firstcheck_model::{
    moment::Moment,
    report::Unread,
    signal::{Labels, Part, Series, SeriesKind},
};
use std::path::Path;

/// Fields that become series, under the names `smaps_rollup:Anonymous` and so on.
const FIELDS: [&str; 11] = [
    "Rss",
    "Pss",
    "Pss_Anon",
    "Pss_File",
    "Pss_Shmem",
    "Private_Dirty",
    "Shared_Dirty",
    "Anonymous",
    "AnonHugePages",
    "Swap",
    "SwapPss",
];

/// Whether text holds a snapshot.
pub fn is_smaps_rollup(head: &str) -> bool {
    head.contains("[rollup]") && head.contains("Rss:")
}

/// What snapshots say.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshots {
    /// Series in bytes, one a field and process.
    pub series: Vec<Series>,
    /// Whether all snapshots state their time: without, growth is known and rates are not.
    pub dated: bool,
    /// Unix time of the first snapshot, nanoseconds, where all state theirs.
    pub started_unix_ns: Option<i64>,
    /// Lines that are none of the format's.
    pub unread: Vec<Unread>,
}

/// Reads snapshots as series in bytes, one a field and process. Times are nanoseconds since the first snapshot's. Lines
/// that are none of the format's are returned with their number.
pub fn read_smaps_rollup(path: &Path, text: &str) -> Snapshots {
    let mut reader = Reader { series: Vec::new(), pid: None, dated: None, first: None, snapshots: 0, undated: false };
    let mut unread = Vec::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        if let Err(reason) = reader.line(line.trim()) {
            unread.push(Unread { path: path.display().to_string(), line: Some(number), reason });
        }
    }
    let dated = reader.snapshots > 0 && !reader.undated;
    let started_unix_ns = reader.first.filter(|_| dated).map(|seconds| (seconds * 1e9).round() as i64);
    Snapshots { series: reader.series, dated, started_unix_ns, unread }
}

struct Reader {
    series: Vec<Series>,
    pid: Option<String>,
    /// Seconds stated for the snapshot to come, or in hand.
    dated: Option<f64>,
    /// Seconds of the first snapshot.
    first: Option<f64>,
    snapshots: u32,
    /// Whether a snapshot states no time.
    undated: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line == "---" {
            return Ok(());
        }
        if line.ends_with("[rollup]") {
            self.snapshots += 1;
            self.undated |= self.dated.is_none();
            return Ok(());
        }
        if let Some((name, value)) = line.split_once(':')
            && let Some(kib) = value.trim().strip_suffix(" kB")
        {
            let kib: u64 = kib.trim().parse().map_err(|_| format!("`{}` is no size", value.trim()))?;
            if FIELDS.contains(&name) {
                self.sample(name, kib as f64 * 1024.0)?;
            }
            return Ok(());
        }
        let mut understood = false;
        for word in line.trim_start_matches('#').split_ascii_whitespace() {
            if let Some(pid) = word.strip_prefix("pid=").filter(|pid| pid.bytes().all(|b| b.is_ascii_digit())) {
                self.pid = Some(pid.to_owned());
                understood = true;
            } else if let Some(seconds) = seconds(word) {
                self.dated = Some(seconds);
                understood = true;
            }
        }
        if understood { Ok(()) } else { Err("neither a size of smaps_rollup nor a time".into()) }
    }

    fn sample(&mut self, name: &str, bytes: f64) -> Result<(), String> {
        if self.snapshots == 0 {
            return Err("a size before the first snapshot".into());
        }
        let seconds = self.dated.unwrap_or(f64::from(self.snapshots - 1));
        let at = Moment::at(((seconds - *self.first.get_or_insert(seconds)) * 1e9).round() as i64);
        let name = format!("smaps_rollup:{name}");
        let labels = Labels(self.pid.iter().map(|pid| ("pid".to_owned(), pid.clone())).collect());
        let place = self.series.iter().position(|series| series.name == name && series.labels == labels);
        let place = place.unwrap_or_else(|| {
            self.series.push(Series {
                name,
                labels,
                page: "smaps_rollup".into(),
                kind: SeriesKind::Gauge,
                part: Part::Value,
                signal: None,
                at: Vec::new(),
                value: Vec::new(),
            });
            self.series.len() - 1
        });
        let series = &mut self.series[place];
        if series.at.last().is_some_and(|last| *last >= at) {
            return Err("its time is not after that of the snapshot before".into());
        }
        series.at.push(at);
        series.value.push(bytes);
        Ok(())
    }
}

/// Unix seconds, or an RFC 3339 time.
fn seconds(word: &str) -> Option<f64> {
    let number = word.parse::<f64>().ok().filter(|seconds| (0.0..1e11).contains(seconds));
    number.or_else(|| Some(word.parse::<jiff::Timestamp>().ok()?.as_nanosecond() as f64 / 1e9))
}
