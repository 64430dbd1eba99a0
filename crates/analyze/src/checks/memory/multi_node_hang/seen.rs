//! Whether anything moved, and where the ranks stood while nothing did.

use super::Params;
use crate::{
    measure::{
        rank_places::{Rank, RankPlaces, Ranks},
        standstill::{Standstill, Stop},
    },
    side::Side,
};
use firstcheck_model::measurement::{Fact, Missing, Source, Why};

/// Whether anything moved.
pub(super) enum Seen {
    /// Nothing did, for long enough; `ended`: tokens came afterwards.
    Stands { facts: Vec<Fact>, ended: bool },
    /// It did.
    Moves(Vec<Fact>),
}

pub(super) fn seen(side: &Side<'_>, params: &Params) -> Result<Seen, Missing> {
    let given_up = watchdog(side);
    if !given_up.is_empty() {
        return Ok(Seen::Stands { facts: given_up, ended: false });
    }
    let places = side.measure::<RankPlaces>();
    let apart = places.as_ref().is_ok_and(|places| places.replicas.iter().any(apart));
    let dumped = Dumped { any: places.is_ok(), apart };
    let stops = match side.measure::<Standstill>() {
        Ok(stops) => stops,
        Err(_) if apart => {
            let text =
                "no request is known: that the ranks stood still is taken from their dumps, which show them apart";
            let source = Source::Derived { by: "places of the ranks".into(), from: Vec::new() };
            return Ok(Seen::Stands { facts: vec![Fact::told(text, source)], ended: false });
        }
        Err(missing) => return Err(missing),
    };
    let start = &stops.at_start;
    if let Some(end) = stops.to_end.as_ref().filter(|end| end.length.value.0 >= params.still) {
        let text = "the last token, {} requests waited for {} s and got nothing";
        let fact = said("after ", text, end);
        if let Some(held) = end.held.as_ref().filter(|held| held.value.0 <= 0.0 && !dumped.any) {
            let nobody = held.fact("meanwhile no server ran or queued a request: they wait outside of the engines");
            return Ok(Seen::Moves(vec![fact, nobody]));
        }
        return dumped.stands(end, fact, false);
    }
    let least = if apart { params.seen } else { params.still };
    let length = start.length.value.0;
    let unusual = start.usual.is_none_or(|usual| length > params.unusual * usual.0);
    let whole = "the first request on, {} requests waited for {} s";
    match (start.ended, length >= if start.ended { least } else { params.still }) {
        (true, true) if unusual => {
            let mut fact = said("from ", whole, start);
            if let Some(usual) = start.usual {
                fact.text.push_str(&format!(" until the first token of any came; later ones take {:.3} s", usual.0));
            }
            dumped.stands(start, fact, true)
        }
        (false, true) => {
            let mut fact = said("from ", whole, start);
            fact.text.push_str(", and no token came");
            dumped.stands(start, fact, false)
        }
        (false, false) => Err(Missing {
            what: format!("a longer look: no token came, but the requests waited for {length:.1} s only"),
            why: Why::TooShort,
            obtain: format!("leave requests in flight for {:.0} s or longer", params.still),
        }),
        (true, _) => Ok(Seen::Moves(vec![said("", "the first token came: {} requests waited for {} s", start)])),
    }
}

/// What is known of where the ranks stood.
#[derive(Clone, Copy)]
struct Dumped {
    /// Some were dumped.
    any: bool,
    /// Their dumps show them apart.
    apart: bool,
}

impl Dumped {
    /// That requests got nothing is a standstill of the engine only if it did not work for others meanwhile: its dumps
    /// show it, or its counters.
    fn stands(self, stop: &Stop, fact: Fact, ended: bool) -> Result<Seen, Missing> {
        if let Some(loaded) = stop.loaded.as_ref().filter(|loaded| loaded.value.0 > 0.0 && !self.apart) {
            let text = format!("meanwhile the servers loaded {:.2} GB from a second KV tier", loaded.value.0 * 1e-9);
            return Ok(Seen::Moves(vec![fact, loaded.fact(text)]));
        }
        match &stop.counted {
            Ok(counted) if counted.value.0 > 0.0 && !self.apart => {
                let text = "meanwhile the servers counted {} tokens: they work, and not for these requests";
                let works = counted.fact(text.replacen("{}", &format!("{:.0}", counted.value.0), 1));
                Ok(Seen::Moves(vec![fact, works]))
            }
            Ok(counted) if counted.value.0 <= 0.0 => {
                let still = counted.fact("meanwhile the servers counted no token either");
                Ok(Seen::Stands { facts: vec![fact, still], ended })
            }
            Err(missing) if !self.any => Err(missing.clone()),
            _ => Ok(Seen::Stands { facts: vec![fact], ended }),
        }
    }
}

fn said(before: &str, text: &str, stop: &Stop) -> Fact {
    let text = text.replacen("{}", &stop.length.n.to_string(), 1);
    stop.length.fact(format!("{before}{}", text.replacen("{}", &format!("{:.1}", stop.length.value.0), 1)))
}

/// What watchdogs say.
fn watchdog(side: &Side<'_>) -> Vec<Fact> {
    let logs = side.evidence.logs.iter();
    let timeouts = logs.flat_map(|log| log.collective_timeouts.iter().map(move |timeout| (log, timeout)));
    timeouts
        .map(|(log, timeout)| {
            let rank = timeout.rank.map_or("a rank".to_owned(), |rank| format!("rank {rank}"));
            let waited = timeout.waited.map(|waited| format!(" after {:.0} s", waited.0)).unwrap_or_default();
            let what = (&timeout.operation, timeout.sequence);
            let text = format!("the watchdog of {rank} gave up {} number {}{waited}", what.0, what.1);
            let source = Source::line(&log.label, timeout.line);
            let value = timeout.waited.map(|waited| waited.0);
            Fact { value, unit: value.map(|_| "s".into()), n: value.map(|_| 1), ..Fact::told(text, source) }
        })
        .take(MOST)
        .collect()
}

/// Whether some rank is inside a collective that another one, which was seen as well, is not in.
fn apart(ranks: &Ranks) -> bool {
    ranks.departing().is_some() || (ranks.inside().next().is_some() && ranks.outside().next().is_some())
}

/// Ranks that a finding names each for itself.
const MOST: usize = 8;

/// Where each rank stood.
pub(super) fn where_they_stood(places: &RankPlaces) -> Vec<Fact> {
    let several = places.replicas.len() > 1;
    let of = |(number, ranks): (usize, &Ranks)| {
        let before = if several { format!("replica {number}: ") } else { String::new() };
        let more = ranks.ranks.len().saturating_sub(MOST);
        let mut facts: Vec<Fact> = ranks.ranks.iter().take(MOST).map(|rank| stood(&before, rank)).collect();
        if let Some(last) = facts.last_mut().filter(|_| more > 0) {
            last.text.push_str(&format!(" ({more} more ranks)"));
        }
        facts
    };
    places.replicas.iter().enumerate().flat_map(of).collect()
}

fn stood(before: &str, rank: &Rank) -> Fact {
    let frame = rank.stack.as_ref().map(|stack| stack.frame.as_str());
    let inside = rank.inside.as_ref().map(|inside| (inside.words(), &inside.source));
    let (text, source) = match (inside, &rank.stack) {
        (Some((words, source)), _) => {
            let frame = frame.map(|frame| format!(", at {frame}")).unwrap_or_default();
            (format!("in {words}{frame}"), source.clone())
        }
        (None, Some(stack)) => {
            let none = if rank.recorded { ", in no collective" } else { "" };
            (format!("at {}{none}", stack.frame), stack.source.clone())
        }
        (None, None) => {
            let source = Source::Derived { by: "record of its collectives".into(), from: Vec::new() };
            ("in no collective; its stack is missing".to_owned(), source)
        }
    };
    Fact::told(format!("{before}{} is {text}", rank.name), source)
}
