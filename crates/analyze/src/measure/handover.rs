//! What lies between the prefill of one pool and the first token of the other.

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::Kind,
    measurement::{Measurement, Missing, Source},
    span::{Stage, StageSpan},
    unit::Seconds,
};
use std::collections::{BTreeMap, HashSet};

/// Stages of requests that two pools served, in the windows of a side. Their means add up: hand-over = between + first
/// decode.
#[derive(Debug, Clone, PartialEq)]
pub struct Handover {
    /// Median of the hand-over: from the end of the prefill to the first token of the pool that decodes.
    pub median: Measurement<Seconds>,
    /// Its mean.
    pub mean: Measurement<Seconds>,
    /// Until the pool that decodes schedules the request: transfer, hops and waits. Mean.
    pub between: f64,
    /// Its first step there. Mean.
    pub first_decode: Measurement<Seconds>,
    /// The prefill. Mean.
    pub prefill: Option<Measurement<Seconds>>,
    /// The wait before it. Mean.
    pub queue: Option<Measurement<Seconds>>,
    /// Replicas that computed prompts; 0 where they are not named.
    pub senders: usize,
    /// Share of the requests that were the first of their pair of replicas, and their mean hand-over against that of the
    /// others; `None` where replicas are not named, or none came after the first.
    pub first_of_pair: Option<FirstOfPair>,
}

/// The first requests of each pair of replicas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstOfPair {
    /// Pairs.
    pub pairs: usize,
    /// Their share of all requests.
    pub share: f64,
    /// Mean hand-over, seconds; `None`: none of them lies in a window.
    pub mean: Option<f64>,
    /// Mean hand-over of the others, seconds.
    pub others: f64,
}

/// The stages of one request.
#[derive(Default)]
struct Stages<'s> {
    between: Option<&'s StageSpan>,
    first_decode: Option<&'s StageSpan>,
    prefill: Option<&'s StageSpan>,
    queue: Option<&'s StageSpan>,
}

impl Measure for Handover {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let (mut totals, mut between, mut decodes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut prefills, mut queues, mut from) = (Vec::new(), Vec::new(), Vec::new());
        let (mut firsts, mut others, mut met, mut senders) = (Vec::new(), Vec::new(), HashSet::new(), HashSet::new());
        for run in &side.evidence.runs {
            let mut stages: BTreeMap<u32, Stages<'_>> = BTreeMap::new();
            for span in &run.spans {
                let of = stages.entry(span.request).or_default();
                match span.stage {
                    Stage::HandOver => of.between = Some(span),
                    Stage::FirstDecode => of.first_decode = Some(span),
                    Stage::Prefill => of.prefill = Some(span),
                    Stage::Queue => of.queue = Some(span),
                    _ => {}
                }
            }
            let inside: HashSet<u32> = run.window().map(|(row, _)| row as u32).collect();
            let mut both: Vec<_> =
                stages.iter().filter_map(|(row, of)| Some((*row, of, of.between?, of.first_decode?))).collect();
            both.sort_by_key(|(_, _, between, _)| between.start);
            let before = totals.len();
            for (row, of, gap, first) in both {
                let (Some(gap_s), Some(first_s)) = (length(gap), length(first)) else { continue };
                let pair = of.prefill.and_then(|prefill| prefill.replica.as_deref()).zip(gap.replica.as_deref());
                let is_first = pair.is_some_and(|pair| met.insert(pair));
                if !inside.contains(&row) {
                    continue;
                }
                senders.extend(of.prefill.and_then(|prefill| prefill.replica.as_deref()));
                totals.push(gap_s + first_s);
                between.push(gap_s);
                decodes.push(first_s);
                prefills.extend(of.prefill.and_then(length));
                queues.extend(of.queue.and_then(length));
                if pair.is_some() {
                    if is_first { &mut firsts } else { &mut others }.push(gap_s + first_s);
                }
            }
            let count = (totals.len() - before) as u64;
            from.push(Source::Requests { run: run.info.id.clone(), count, rows: Vec::new() });
        }
        if totals.is_empty() {
            return Err(Missing::not_exposed("spans of both pools, joined by request", Kind::Spans.obtain()));
        }
        let source = |by: &str| Source::Derived { by: by.into(), from: from.clone() };
        let of = |values: &[f64], by: &str| {
            let n = values.len() as u64;
            let value = Seconds(mean(values)?);
            Some(Measurement { value, interval: None, n, source: source(by) })
        };
        let mut sorted = totals.clone();
        sorted.sort_by(f64::total_cmp);
        let first_of_pair = mean(&others).map(|others| FirstOfPair {
            pairs: firsts.len(),
            share: firsts.len() as f64 / totals.len() as f64,
            mean: mean(&firsts),
            others,
        });
        let missing = || Missing::not_exposed("spans of both pools, joined by request", Kind::Spans.obtain());
        Ok(Self {
            median: Measurement {
                value: Seconds(sorted[sorted.len() / 2]),
                interval: None,
                n: sorted.len() as u64,
                source: source("median of the hand-over"),
            },
            mean: of(&totals, "mean of the hand-over").ok_or_else(missing)?,
            between: mean(&between).ok_or_else(missing)?,
            first_decode: of(&decodes, "mean of the first decode").ok_or_else(missing)?,
            prefill: of(&prefills, "mean of the prefill"),
            queue: of(&queues, "mean of the queue before the prefill"),
            senders: senders.len(),
            first_of_pair,
        })
    }
}

fn length(span: &StageSpan) -> Option<f64> {
    span.end.since(span.start).map(|length| length.0.max(0.0))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
