//! Content of the shape that an engine gives: gauges, counters, and histograms that make most of the lines.

use std::fmt::Write as _;

const GAUGES: u64 = 60;
const COUNTERS: u64 = 60;
const HISTOGRAMS: u64 = 16;
const BUCKETS: u64 = 26;
const LABELS: &str = "engine=\"0\",model_name=\"org/model-of-some-size\"";

/// Pages a second apart, each after a line with its time.
pub struct Pages {
    page: u64,
}

impl Pages {
    pub fn new() -> Self {
        Self { page: 0 }
    }
}

impl Iterator for Pages {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let n = self.page;
        self.page += 1;
        let mut text = format!("# {}\n", 1_700_000_000 + n);
        for gauge in 0..GAUGES {
            let _ = writeln!(
                text,
                "# HELP vllm:gauge_{gauge} Some quantity that goes up and down.\n# TYPE vllm:gauge_{gauge} gauge"
            );
            let _ = writeln!(text, "vllm:gauge_{gauge}{{{LABELS}}} {:?}", (n * 7 + gauge) as f64 / 13.0);
        }
        for counter in 0..COUNTERS {
            let _ = writeln!(
                text,
                "# HELP vllm:counter_{counter}_total Some events.\n# TYPE vllm:counter_{counter}_total counter"
            );
            let _ = writeln!(text, "vllm:counter_{counter}_total{{{LABELS}}} {:?}", (n * (counter + 1)) as f64);
        }
        for histogram in 0..HISTOGRAMS {
            let name = format!("vllm:histogram_{histogram}_seconds");
            let _ = writeln!(text, "# HELP {name} Some duration.\n# TYPE {name} histogram");
            for bucket in 0..BUCKETS {
                let le = (bucket + 1) as f64 * 0.05;
                let _ = writeln!(text, "{name}_bucket{{{LABELS},le=\"{le:?}\"}} {:?}", (n * bucket) as f64);
            }
            let _ = writeln!(text, "{name}_bucket{{{LABELS},le=\"+Inf\"}} {:?}", (n * BUCKETS) as f64);
            let _ = writeln!(text, "{name}_count{{{LABELS}}} {:?}", (n * BUCKETS) as f64);
            let _ = writeln!(text, "{name}_sum{{{LABELS}}} {:?}", n as f64 * 0.731_552);
        }
        text += "# EOF\n";
        Some(text)
    }
}

/// The same as OpenMetrics for backfilling: each family's samples with their times, the families one after the other.
pub struct Backfill {
    family: u64,
    samples: u64,
}

impl Backfill {
    /// About that many megabytes.
    pub fn new(megabytes: u64) -> Self {
        Self { family: 0, samples: megabytes * 1_000_000 / 90 / COUNTERS }
    }
}

impl Iterator for Backfill {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let counter = self.family;
        self.family += 1;
        if counter > COUNTERS {
            return None;
        }
        if counter == COUNTERS {
            return Some("# EOF\n".into());
        }
        let mut text = format!("# HELP vllm:counter_{counter} Some events.\n# TYPE vllm:counter_{counter} counter\n");
        for n in 0..self.samples {
            let _ = writeln!(
                text,
                "vllm:counter_{counter}_total{{{LABELS}}} {} {}.0",
                n * (counter + 1),
                1_700_000_000 + n
            );
        }
        Some(text)
    }
}
