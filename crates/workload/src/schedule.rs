//! Sessions and arrivals become the rows of a trace.

use crate::{
    arrivals::{ArrivalProcess, Offsets},
    error::Error,
    sessions::Turn,
    trace::{Due, Offered},
};
use firstcheck_model::{moment::Moment, run::Arrivals};

/// Most requests of one trace: some gigabytes of rows.
pub(crate) const MOST_REQUESTS: u32 = 10_000_000;

/// When sessions begin.
pub(crate) enum Starts {
    /// At the moments of an arrival process.
    Drawn(Box<Offsets>),
    /// At the source's own times, one for each session: ascending, from 0.
    Own(std::vec::IntoIter<Moment>),
    /// When a stream of the closed loop is free.
    WhenFree,
}

impl Starts {
    fn next(&mut self) -> Option<Due> {
        match self {
            Self::Drawn(offsets) => offsets.next().map(Due::At),
            Self::Own(moments) => moments.next().map(Due::At),
            Self::WhenFree => Some(Due::WhenFree),
        }
    }
}

/// Where a trace ends.
#[derive(Clone, Copy)]
pub(crate) struct End {
    /// Most requests.
    pub(crate) requests: Option<u32>,
    /// No session begins at this moment or later.
    pub(crate) duration: Option<Moment>,
}

/// Rows, and how many sessions they belong to.
pub(crate) struct Rows {
    pub(crate) items: Vec<Offered>,
    pub(crate) sessions: u32,
}

/// Lays sessions out as rows: the turns of a session are neighbours, its first is due when it starts, each other one
/// after the one before.
pub(crate) fn lay_out(
    sessions: impl Iterator<Item = Vec<Turn>>,
    mut starts: Starts,
    numbered: bool,
    end: End,
) -> Result<Rows, Error> {
    let most = end.requests.map_or(usize::MAX, |requests| requests as usize);
    let mut rows = Rows { items: Vec::new(), sessions: 0 };
    // Asked for a session only while there is room, so that an endless source is not drawn from in vain.
    let mut sessions = sessions.fuse();
    while rows.items.len() < most {
        let (Some(start), Some(session)) = (starts.next(), sessions.next()) else { break };
        if let (Due::At(at), Some(duration)) = (start, end.duration)
            && at >= duration
        {
            break;
        }
        for (place, turn) in session.into_iter().take(most - rows.items.len()).enumerate() {
            let row = rows.items.len();
            if row >= MOST_REQUESTS as usize {
                let reason = format!("more than {MOST_REQUESTS}: lower the rate, `requests` or `duration_s`");
                return Err(Error::field("requests", reason));
            }
            // Below `MOST_REQUESTS`, which fits.
            let due = if place == 0 { start } else { Due::After { row: row as u32 - 1, think_ns: turn.think_ns } };
            rows.items.push(Offered {
                due,
                prompt: turn.prompt,
                output_tokens: turn.output_tokens,
                session: numbered.then_some(rows.sessions),
            });
        }
        rows.sessions += 1;
    }
    Ok(rows)
}

/// How the rows arrive, in the words of the model. The rate counts requests, not sessions.
pub(crate) fn arrivals(process: &ArrivalProcess, rows: &Rows, end: End) -> Arrivals {
    if let ArrivalProcess::Closed { concurrency } = *process {
        return Arrivals::Closed { concurrency };
    }
    let requests = rows.items.len() as f64;
    if let Some(rate) = process.rate() {
        let a_session = requests / f64::from(rows.sessions.max(1));
        return Arrivals::Open { rate: rate * a_session, cv: process.cv() };
    }
    let last = rows.items.iter().rev().find_map(|item| match item.due {
        Due::At(moment) => moment.seconds(),
        Due::WhenFree | Due::After { .. } => None,
    });
    match (end.duration.and_then(Moment::seconds), last) {
        (None, Some(span)) if span > 0.0 => Arrivals::Open { rate: (requests - 1.0) / span, cv: None },
        (Some(duration), _) if duration > 0.0 => Arrivals::Open { rate: requests / duration, cv: None },
        // One moment has no rate.
        _ => Arrivals::Unknown,
    }
}
