//! Pages with their times, one after the other in one stream: read as they come, held as series.
//!
//! A history of a gigabyte has a few thousand different lines before their values. Each is taken apart once; afterwards a
//! line is known by its bytes, and mostly it is the one that followed its predecessor on the page before. So a line costs
//! a comparison and its number.
//!
//! Memory is bounded by the number of series and samples ([`crate::Limits`]): when the samples become too many, every
//! second page is dropped, and from then on only every second is kept, then every fourth. A counter that restarts is
//! not dropped over: the sample before and after it stay, unless such samples alone would fill the room.

pub(super) mod column;
mod known;
pub(super) mod process;
mod reader;
mod split;
pub(super) mod store;
pub(super) mod timeline;

use crate::{
    Error,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Piece, Reading},
};
use firstcheck_model::{moment::Window, run::Clock, signal::Series};
use reader::Reader;
pub(crate) use reader::grows;
use std::collections::BTreeSet;

pub(crate) static FORMAT: Format = Format {
    id: "metrics",
    group: Group::Metrics,
    name: "metrics pages",
    versions: "Prometheus text 0.0.4, OpenMetrics 1.0; vLLM, SGLang, TensorRT-LLM, TGI, llama.cpp, Dynamo, LMCache; \
               cAdvisor, process exporter, DCGM exporter",
    takes: "all series; those that the vocabulary knows as signals; several pages with times, or samples with times",
    recognise,
    action: Action::Read(take),
};

/// Series of several pages.
#[derive(Debug)]
pub struct History {
    /// The series, without meanings.
    pub series: Vec<Series>,
    /// Their clock.
    pub clock: Clock,
    /// From the first page to the last; `None` where no page has a time. That of a single page has no length.
    pub window: Option<Window>,
    /// What the first page states of the deployment.
    pub(crate) first: Box<super::Page>,
    /// Pages read.
    pub pages: u64,
    /// What a reader should know.
    pub warnings: Vec<String>,
    /// Why its counters may not be taken as growth, if they may not.
    pub flapping: Option<String>,
}

impl History {
    /// What a report lists of it, as `rows` samples of `replicas`; that its counters are no growth is listed as unread.
    pub(super) fn reading(&self, rows: u64, replicas: BTreeSet<String>, intake: &mut Intake) -> Reading {
        if let Some(reason) = &self.flapping {
            intake.unread(None, reason.clone());
        }
        let engine = self.series.iter().find_map(|series| crate::vocabulary::engine_of(&series.name));
        Reading {
            rows,
            unit: "samples",
            clock: Some(self.clock),
            window: self.window,
            engine: engine.map(str::to_owned),
            version: None,
            replicas,
            notes: self.warnings.clone(),
        }
    }
}

/// Whether the start of an artefact is that of a metrics page: it states a type, or names an engine's series, and most
/// lines can be read.
fn recognise(head: &Head<'_>) -> Option<Confidence> {
    if head.json().is_some() && !head.begins("{__name__") {
        return None;
    }
    let (mut typed, mut named, mut samples, mut others) = (false, false, 0_u32, 0_u32);
    for line in head.lines().take(2_000) {
        if line.starts_with(b"# TYPE ") || line.starts_with(b"# HELP ") {
            typed = true;
        } else if split::sample(line).is_some_and(|(_, rest)| split::numbers(rest).is_some()) {
            samples += 1;
            named |= std::str::from_utf8(line)
                .is_ok_and(|line| crate::vocabulary::engine_of(line).is_some() || line.starts_with("{__name__="));
        } else if !line.is_empty() && !line.starts_with(b"#") && crate::time::of_line(line).is_none() {
            others += 1;
        }
    }
    ((typed || named) && samples > 0 && others <= samples / 2).then_some(Confidence::Likely)
}

fn take(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let mut reader = Reader::new(artefact.at_unix_ns(), *intake.limits());
    while let Some(line) = artefact.next_line(intake) {
        reader.line(line, intake);
    }
    let (samples, replicas) = (reader.samples(), reader.replicas());
    reader.count_unknown(intake);
    let single = reader.is_single(intake);
    let history = reader.finish();
    let reading = history.reading(samples, replicas, intake);
    if samples == 0 {
        return Err(Error::malformed(artefact.path(), None, FORMAT.name, "not a single sample could be read"));
    }
    intake.give(if single { Piece::Page(history.first) } else { Piece::History(Box::new(history)) });
    Ok(reading)
}
