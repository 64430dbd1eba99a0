//! How answers with a schema end.

use super::{median, no_schema};
use crate::{
    measure::counters::runs_of,
    side::{Measure, Side},
};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    request::{Fate, Finish, Request},
    unit::{Ratio, Tokens},
};

/// Ends and lengths of answers, with a schema and without, in the windows of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct Ends {
    /// Share of the answers with a schema that ended at the limit of their length.
    pub at_limit: Measurement<Ratio>,
    /// Mean tokens of answers with a schema that ended at the limit; `None` where none did.
    pub length_at_limit: Option<Measurement<Tokens>>,
    /// Mean tokens of all answers with a schema.
    pub length: Measurement<Tokens>,
    /// Mean tokens of answers without; `None` where all ask for one.
    pub plain_length: Option<f64>,
    /// Median share of white space of those that ended at the limit, where their texts were seen.
    pub blank: Option<Measurement<Ratio>>,
    /// The same of answers without a schema.
    pub plain_blank: Option<f64>,
}

impl Measure for Ends {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let rows = side.evidence.runs.iter().flat_map(RunEvidence::window).map(|(_, request)| request);
        let (asked, plain): (Vec<&Request>, Vec<&Request>) =
            rows.filter(|request| request.fate == Fate::Completed).partition(|request| request.schema.is_some());
        if asked.is_empty() {
            return Err(no_schema());
        }
        let capped: Vec<&Request> =
            asked.iter().filter(|request| request.finish == Some(Finish::Length)).copied().collect();
        let source = |by: &str| Source::Derived { by: by.into(), from: runs_of(&side.evidence.runs) };
        let length_of = |rows: &[&Request], by: &str| {
            let lengths: Vec<f64> = rows.iter().filter_map(|request| request.output_tokens.map(f64::from)).collect();
            let mean = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
            let (n, source) = (lengths.len() as u64, source(by));
            (n > 0).then_some(Measurement { value: Tokens(mean), interval: None, n, source })
        };
        let length = length_of(&asked, "mean length of answers with a schema").ok_or_else(|| {
            Missing::not_exposed("lengths of answers with a schema", "stream with usage; firstcheck run does")
        })?;
        let blanks = |rows: &[&Request]| -> Vec<f64> {
            rows.iter().filter_map(|request| request.blank_share.map(f64::from)).collect()
        };
        let seen = blanks(&capped);
        let n = seen.len() as u64;
        Ok(Self {
            at_limit: Measurement {
                value: Ratio(capped.len() as f64 / asked.len() as f64),
                interval: None,
                n: asked.len() as u64,
                source: source("answers that ended at their limit / answers with a schema"),
            },
            length_at_limit: length_of(&capped, "mean length of answers that ended at their limit"),
            length,
            plain_length: length_of(&plain, "mean length of answers without a schema").map(|mean| mean.value.0),
            blank: median(seen).map(|share| Measurement {
                value: Ratio(share),
                interval: None,
                n,
                source: source("white space / characters of an answer"),
            }),
            plain_blank: median(blanks(&plain)),
        })
    }
}
