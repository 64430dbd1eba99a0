//! How far the clocks of services lie from the client's, from what must come before what.
//!
//! A span of a request cannot begin before the client sent it, nor an engine's account of it end after the answer did. A
//! span cannot begin before the span that it is part of, on whatever host that was. Each of these bounds the difference
//! of two clocks; together they are a system of difference constraints, whose tightest bounds for each clock against the
//! client's follow by passing bounds on from clock to clock until none changes (Bellman and Ford). So a gateway that says
//! nothing of a request's end is placed by the engines behind it.

use super::stages::is_request;
use firstcheck_model::{request::Fate, request::Requests, trace_span::TraceSpan, unit::Seconds};
use std::collections::{BTreeMap, HashMap};

/// How far the clock of a service's instance lies from the client's.
#[derive(Debug, Clone, PartialEq)]
pub struct Offset {
    /// The instance; `None`: the spans do not name one.
    pub instance: Option<String>,
    /// What is added to its times.
    pub seconds: Seconds,
    /// How far off the estimate may be, to either side.
    pub uncertainty: Seconds,
    /// Requests it rests on.
    pub requests: usize,
    /// Whether one offset fits all that is known: where not, the clock moved.
    pub consistent: bool,
}

/// What is known of one clock: its offset lies between `lower` and `upper`, nanoseconds.
#[derive(Default)]
struct Bounds {
    lower: Option<i64>,
    upper: Option<i64>,
    /// Offsets at which accounts of whole requests lie in the middle of their requests.
    middles: Vec<i64>,
    rows: Vec<usize>,
    contradicted: bool,
}

/// The offset of each instance's clock that is bounded from both sides. `started` is the Unix time of the run's moment 0.
pub(super) fn offsets<'s>(
    spans: &[(usize, &'s TraceSpan)],
    requests: &Requests,
    started: i64,
) -> BTreeMap<Option<&'s str>, Offset> {
    let mut clocks: BTreeMap<Option<&str>, Bounds> = BTreeMap::new();
    for (row, span) in spans {
        clocks.entry(span.instance.as_deref()).or_default().add(*row, span, requests, started);
    }
    let contradicted = |bounds: &Bounds| matches!((bounds.lower, bounds.upper), (Some(l), Some(u)) if l > u);
    clocks.values_mut().for_each(|bounds| bounds.contradicted = contradicted(bounds));
    if clocks.len() > 1 {
        pass_on(&mut clocks, &follows(spans));
    }
    clocks.into_iter().filter_map(|(instance, bounds)| Some((instance, bounds.estimate(instance)?))).collect()
}

impl Bounds {
    fn add(&mut self, row: usize, span: &TraceSpan, requests: &Requests, started: i64) {
        let Some(request) = requests.0.get(row) else { return };
        let least = request.sent.get().map(|sent| started.saturating_add(sent).saturating_sub(span.start_unix_ns));
        // A client that gave up says nothing of when the server did.
        let ended = if request.done.reached() { request.done } else { request.last_token };
        let ended = ended.get().filter(|_| request.fate == Fate::Completed);
        let account = is_request(span);
        let before_the_end = if account { span.end_unix_ns } else { span.start_unix_ns };
        let most = ended.map(|ended| started.saturating_add(ended).saturating_sub(before_the_end));
        self.lower = self.lower.max(least);
        self.upper = [self.upper, most].into_iter().flatten().min();
        if let (true, Some(least), Some(most)) = (account, least, most) {
            self.middles.push(i64::midpoint(least, most));
        }
        self.rows.push(row);
    }

    fn estimate(mut self, instance: Option<&str>) -> Option<Offset> {
        let (lower, upper) = (self.lower?, self.upper?);
        self.middles.sort_unstable();
        self.rows.sort_unstable();
        self.rows.dedup();
        // Bounds that contradict each other say that the clock moved: the median of all is then the better guess. Clocks
        // that agree within the bounds need no correction.
        let value = if lower > upper {
            self.middles.get(self.middles.len() / 2).copied().unwrap_or(i64::midpoint(lower, upper))
        } else if lower <= 0 && 0 <= upper {
            0
        } else {
            i64::midpoint(lower, upper)
        };
        let off = value.abs_diff(lower).max(value.abs_diff(upper));
        Some(Offset {
            instance: instance.map(str::to_owned),
            seconds: Seconds(value as f64 * 1e-9),
            uncertainty: Seconds(off as f64 * 1e-9),
            requests: self.rows.len(),
            consistent: !self.contradicted,
        })
    }
}

/// By how much at most a clock's offset exceeds another's: (one, other, nanoseconds).
type Follows<'s> = BTreeMap<(Option<&'s str>, Option<&'s str>), i64>;

/// A span begins after the span that it is part of: for each two clocks, by how much at most the first's offset (that
/// of the span around) exceeds the second's.
fn follows<'s>(spans: &[(usize, &'s TraceSpan)]) -> Follows<'s> {
    let key = |trace: &'s str, span: &'s str| (trace, span);
    let begun: HashMap<(&str, &str), &TraceSpan> =
        spans.iter().map(|(_, span)| (key(&span.trace_id, &span.span_id), *span)).collect();
    let mut follows = Follows::new();
    for (_, span) in spans {
        let Some(around) = span.parent_id.as_deref().and_then(|id| begun.get(&key(&span.trace_id, id))) else {
            continue;
        };
        if around.instance == span.instance {
            continue;
        }
        let most = span.start_unix_ns.saturating_sub(around.start_unix_ns);
        let known = follows.entry((around.instance.as_deref(), span.instance.as_deref())).or_insert(most);
        *known = most.min(*known);
    }
    follows
}

/// Passes bounds on from clock to clock until none changes. A relation that would leave a clock without any offset says
/// that one of the two moved: both are marked, and it is left out.
fn pass_on<'s>(clocks: &mut BTreeMap<Option<&'s str>, Bounds>, follows: &Follows<'s>) {
    let mut follows: Vec<_> = follows.iter().map(|((one, other), most)| (*one, *other, *most)).collect();
    let usable = |clocks: &BTreeMap<Option<&str>, Bounds>, name| clocks.get(&name).is_some_and(|c| !c.contradicted);
    follows.retain(|(one, other, _)| usable(clocks, *one) && usable(clocks, *other));
    for _ in 0..clocks.len() {
        let mut changed = false;
        follows.retain(|(one, other, most)| {
            let (Some(first), Some(second)) = (clocks.get(one), clocks.get(other)) else { return false };
            let upper = second.upper.map(|upper| upper.saturating_add(*most));
            let upper = [first.upper, upper].into_iter().flatten().min();
            let lower = second.lower.max(first.lower.map(|lower| lower.saturating_sub(*most)));
            let empty = |lower: Option<i64>, upper: Option<i64>| matches!((lower, upper), (Some(l), Some(u)) if l > u);
            let fits = !empty(first.lower, upper) && !empty(lower, second.upper);
            changed |= fits && (upper != first.upper || lower != second.lower);
            if let Some(first) = clocks.get_mut(one) {
                first.contradicted |= !fits;
                first.upper = if fits { upper } else { first.upper };
            }
            if let Some(second) = clocks.get_mut(other) {
                second.contradicted |= !fits;
                second.lower = if fits { lower } else { second.lower };
            }
            fits
        });
        if !changed {
            return;
        }
    }
}
