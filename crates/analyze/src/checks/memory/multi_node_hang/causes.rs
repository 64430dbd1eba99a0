//! What the places of the ranks say of each cause.

use super::Params;
use crate::{
    measure::rank_places::{Doing, Entered, Rank, RankPlaces, Ranks, Standing},
    side::Side,
    verdict::Weighed,
};
use firstcheck_model::{
    engine_log::FailureKind,
    evidence::Kind,
    measurement::{Fact, Missing, Source},
};

type Told = Result<Weighed, Missing>;

/// Weighs each replica for itself: one that shows the cause is enough, and all have to speak against it.
fn over(places: &RankPlaces, of: impl Fn(&Ranks) -> Weighed) -> Told {
    let weighed: Vec<Weighed> = places.replicas.iter().map(of).collect();
    let first = |wanted: fn(&Weighed) -> bool| weighed.iter().position(wanted);
    let at = first(|one| matches!(one, Weighed::Supports(_))).or(first(|one| matches!(one, Weighed::Open(_))));
    let told = weighed.into_iter().nth(at.unwrap_or(0));
    told.ok_or_else(|| Missing::not_given("stacks of the ranks", "firstcheck capture --pid PID on every host"))
}

fn because(text: impl Into<String>, source: &Source) -> Fact {
    Fact::told(text, source.clone())
}

/// Names of ranks, the first few.
fn names<'r>(ranks: impl Iterator<Item = &'r Rank>) -> String {
    let all: Vec<&str> = ranks.map(|rank| rank.name.as_str()).collect();
    let shown = all.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    if all.len() > 8 { format!("{shown} and {} more", all.len() - 8) } else { shown }
}

/// Why nothing is concluded of all ranks together: some left no dump, or how many there are is not known.
fn unseen(ranks: &Ranks) -> Option<Missing> {
    if !ranks.missing.is_empty() {
        let list: Vec<String> = ranks.missing.iter().take(8).map(u32::to_string).collect();
        let what = format!("the stack and the record of rank {}", list.join(", "));
        return Some(Missing::not_given(what, Kind::Stacks.obtain()));
    }
    (!ranks.size_known).then(|| {
        let what = "how many ranks there are: a rank that left nothing could be the one that is waited for";
        Missing::not_given(what, Kind::FlightRecords.obtain())
    })
}

fn no_records() -> Missing {
    Missing::not_given("numbers of the collectives that the ranks are in", Kind::FlightRecords.obtain())
}

/// The ranks outside of the collective that others are in; all of them where none is in any.
fn outside(ranks: &Ranks) -> Vec<&Rank> {
    ranks.outside().filter(|rank| !matches!(rank.doing(), Some(Doing::Receive))).collect()
}

/// A fact that says that all ranks seen are inside a collective, if they are.
fn all_inside(ranks: &Ranks) -> Option<Fact> {
    let first = ranks.inside().next()?;
    let source =
        first.inside.as_ref().map(|inside| &inside.source).or(first.stack.as_ref().map(|stack| &stack.source))?;
    let count = ranks.ranks.len();
    outside(ranks).is_empty().then(|| because(format!("all {count} ranks seen are inside a collective"), source))
}

/// What ranks outside of the collective do: weighs the cause that `is` recognises.
fn by_frames(ranks: &Ranks, what: &str, is: impl Fn(&Standing) -> bool) -> Weighed {
    if let Some(inside) = all_inside(ranks) {
        return unseen(ranks).map_or(Weighed::Excludes(vec![inside]), Weighed::from);
    }
    let outside = outside(ranks);
    let stacks = || outside.iter().filter_map(|rank| Some((*rank, rank.stack.as_ref()?)));
    let found: Vec<Fact> = stacks()
        .filter(|(_, stack)| is(stack))
        .take(8)
        .map(|(rank, stack)| because(format!("{} {what}: {}", rank.name, stack.frame), &stack.source))
        .collect();
    if !found.is_empty() {
        return Weighed::Supports(found);
    }
    let unknown: Vec<&Rank> = outside.iter().filter(|rank| rank.stack.is_none()).copied().collect();
    if !unknown.is_empty() {
        let what = format!("the stack of {}", names(unknown.into_iter()));
        return Weighed::Open(vec![Missing::not_given(what, Kind::Stacks.obtain())]);
    }
    if outside.is_empty() {
        let receiving = ranks.ranks.iter().filter_map(|rank| Some((rank, rank.stack.as_ref()?)));
        let of = |(rank, stack): (&Rank, &Standing)| {
            because(format!("{} receives: {}", rank.name, stack.frame), &stack.source)
        };
        return Weighed::Excludes(receiving.take(8).map(of).collect());
    }
    let other = stacks().map(|(rank, stack)| because(format!("{} is at {}", rank.name, stack.frame), &stack.source));
    Weighed::Excludes(other.take(8).collect())
}

pub(super) fn host_code(places: &RankPlaces) -> Told {
    over(places, |ranks| {
        let waiting = outside(ranks).iter().all(|rank| rank.doing() == Some(&Doing::Queue));
        let busy = ranks.leaders.iter().find(|leader| matches!(leader.doing, Doing::Host | Doing::Compile));
        match busy.filter(|_| waiting && ranks.inside().next().is_none()) {
            Some(leader) => {
                let text = format!("all ranks wait for their leader, which is at {}", leader.frame);
                Weighed::Supports(vec![because(text, &leader.source)])
            }
            None => by_frames(ranks, "is in host code", |stack| matches!(stack.doing, Doing::Host | Doing::Device)),
        }
    })
}

pub(super) fn slow(places: &RankPlaces, ended: bool) -> Told {
    over(places, |ranks| {
        let weighed = by_frames(ranks, "builds code", |stack| stack.doing == Doing::Compile);
        match weighed {
            Weighed::Supports(mut facts) => {
                let active = ranks.ranks.iter().filter_map(|rank| rank.stack.as_ref());
                let running = active.filter(|stack| stack.doing == Doing::Compile && stack.active == Some(true));
                if let Some(fact) = facts.first_mut().filter(|_| running.count() > 0) {
                    fact.text.push_str(", and runs");
                }
                if let Some(fact) = facts.last_mut().filter(|_| ended) {
                    fact.text.push_str("; tokens came afterwards");
                }
                Weighed::Supports(facts)
            }
            other => other,
        }
    })
}

pub(super) fn desync(places: &RankPlaces) -> Told {
    over(places, |ranks| {
        if let Some((rank, other)) = ranks.departing() {
            return Weighed::Supports(apart(rank, other));
        }
        let known: Vec<(&Rank, &Entered)> =
            ranks.ranks.iter().filter_map(|rank| Some((rank, rank.inside.as_ref()?))).collect();
        let outside: Vec<&Rank> = outside(ranks);
        match known.first() {
            None if outside.is_empty() => Weighed::Open(vec![no_records()]),
            None => Weighed::Excludes(vec![elsewhere(outside[0])]),
            // A rank that never came is behind for a reason of its own.
            Some(_) if !outside.is_empty() => Weighed::Excludes(vec![elsewhere(outside[0])]),
            Some((_, inside)) => unseen(ranks)
                .map_or_else(|| Weighed::Excludes(vec![because(same(ranks, inside), &inside.source)]), Weighed::from),
        }
    })
}

fn elsewhere(rank: &Rank) -> Fact {
    let (place, source) = match &rank.stack {
        Some(stack) => (format!(", but at {}", stack.frame), stack.source.clone()),
        None => (String::new(), Source::Derived { by: "record of its collectives".into(), from: Vec::new() }),
    };
    Fact::told(format!("{} is in no collective{place}", rank.name), source)
}

fn same(ranks: &Ranks, inside: &Entered) -> String {
    format!("all {} ranks are in {}", ranks.ranks.len(), inside.words())
}

/// How two ranks differ.
fn apart(rank: &Rank, other: &Rank) -> Vec<Fact> {
    let of = |rank: &Rank| match (&rank.inside, rank.ended.last()) {
        (Some(inside), _) => {
            Some((inside.sequence, because(format!("{} is in {}", rank.name, inside.words()), &inside.source)))
        }
        (None, Some(ended)) => {
            Some((ended.sequence + 1, because(format!("{} has ended {}", rank.name, ended.words()), &ended.source)))
        }
        (None, None) => None,
    };
    let (one, two) = (of(rank), of(other));
    let mut facts: Vec<Fact> = one.iter().chain(&two).map(|(_, fact)| fact.clone()).collect();
    if let (Some((a, _)), Some((b, _)), Some(fact)) = (&one, &two, facts.last_mut()) {
        let (behind, ahead) = if a < b { (rank, other) } else { (other, rank) };
        if a != b {
            fact.text.push_str(&format!(": {} is behind, or {} has skipped one", behind.name, ahead.name));
        }
    }
    facts
}

pub(super) fn transport(places: &RankPlaces, params: &Params) -> Told {
    over(places, |ranks| {
        if let Some((rank, other)) = ranks.departing() {
            return Weighed::Excludes(apart(rank, other));
        }
        if let Some(rank) = outside(ranks).first() {
            return Weighed::Excludes(vec![elsewhere(rank)]);
        }
        if let Some(missing) = unseen(ranks) {
            return Weighed::from(missing);
        }
        let Some(inside) = ranks.ranks.iter().find_map(|rank| rank.inside.as_ref()) else {
            return Weighed::Open(vec![no_records()]);
        };
        if ranks.ranks.iter().any(|rank| rank.inside.is_none()) {
            return Weighed::Open(vec![no_records()]);
        }
        if has_source(inside) {
            return Weighed::from(roles());
        }
        let mut facts = vec![because(same(ranks, inside), &inside.source)];
        let good = ranks.ranks.iter().flat_map(|rank| &rank.ended).find(|ended| ended.shares_a_group(inside));
        let worked = inside.sequence as f64 > params.early;
        facts.push(match good.filter(|_| worked) {
            Some(good) => {
                because(format!("the last that ended was {}: this size, or this path", good.words()), &good.source)
            }
            None if worked => because("earlier ones of the group ended: this size, or this path", &inside.source),
            None => because("the group has never worked: its interface, or a firewall", &inside.source),
        });
        Weighed::Supports(facts)
    })
}

/// Whether one rank sends and the others receive.
fn has_source(inside: &Entered) -> bool {
    matches!(inside.operation.as_str(), "broadcast" | "scatter" | "recv")
}

fn roles() -> Missing {
    Missing::not_exposed(
        "which rank each rank takes for the source of this collective",
        "log the arguments of the call on all ranks, or py-spy dump --locals",
    )
}

pub(super) fn no_source(places: &RankPlaces) -> Told {
    over(places, |ranks| {
        let receives = |rank: &&Rank| {
            rank.doing() == Some(&Doing::Receive)
                || rank.inside.as_ref().is_some_and(|inside| inside.operation == "recv")
        };
        let sending = ranks.ranks.iter().find(|rank| !receives(rank));
        match sending {
            None => unseen(ranks).map_or_else(
                || {
                    let stack = ranks.ranks.iter().find_map(|rank| rank.stack.as_ref());
                    let source = stack.map(|stack| stack.source.clone());
                    let derived = Source::Derived { by: "records of the ranks".into(), from: Vec::new() };
                    let text = format!("all {} ranks receive: {}", ranks.ranks.len(), names(ranks.ranks.iter()));
                    Weighed::Supports(vec![Fact::told(text, source.unwrap_or(derived))])
                },
                Weighed::from,
            ),
            Some(_)
                if ranks.departing().is_none()
                    && ranks.inside().any(|rank| rank.inside.as_ref().is_some_and(has_source)) =>
            {
                Weighed::from(roles())
            }
            Some(rank) => match (&rank.inside, &rank.stack) {
                (Some(inside), _) => {
                    Weighed::Excludes(vec![because(format!("{} is in {}", rank.name, inside.words()), &inside.source)])
                }
                (None, Some(stack)) => {
                    Weighed::Excludes(vec![because(format!("{} is at {}", rank.name, stack.frame), &stack.source)])
                }
                (None, None) => Weighed::Open(vec![Missing::not_given(
                    format!("the stack of {}", rank.name),
                    Kind::Stacks.obtain(),
                )]),
            },
        }
    })
}

pub(super) fn control_plane(places: &RankPlaces) -> Told {
    over(places, |ranks| {
        let weighed = by_frames(ranks, "waits for a message", |stack| stack.doing == Doing::Queue);
        let Weighed::Supports(mut facts) = weighed else { return weighed };
        if ranks.inside().next().is_some() || outside(ranks).iter().any(|rank| rank.doing() != Some(&Doing::Queue)) {
            return Weighed::Supports(facts);
        }
        // All wait: for work that was never sent, unless their leader stands elsewhere.
        match ranks.leaders.iter().find(|leader| leader.doing != Doing::Queue).or(ranks.leaders.first()) {
            Some(leader) if leader.doing == Doing::Queue => {
                facts.push(because(format!("their leader waits as well: {}", leader.frame), &leader.source));
                Weighed::Supports(facts)
            }
            Some(leader) => Weighed::Excludes(vec![because(
                format!("their leader has not sent it: {}", leader.frame),
                &leader.source,
            )]),
            None => {
                let what = "the stack of the process that sends work to the ranks (the engine's core)";
                Weighed::Open(vec![Missing::not_given(what, "py-spy dump --pid PID > pyspy_engine_core.txt")])
            }
        }
    })
}

pub(super) fn rank_gone(side: &Side<'_>, places: Option<&RankPlaces>) -> Told {
    let logs = side.evidence.logs.iter();
    let died = logs
        .flat_map(|log| log.failures.iter().map(move |failure| (log, failure)))
        .find(|(_, failure)| failure.kind == FailureKind::Killed || failure.text.contains("died unexpectedly"));
    if let Some((log, failure)) = died {
        let source = Source::line(&log.label, failure.line);
        return Ok(Weighed::Supports(vec![Fact::told(format!("the log: {}", failure.text), source)]));
    }
    let alive = places.map(|places| {
        over(places, |ranks| match unseen(ranks) {
            None => {
                let stack = ranks.ranks.iter().find_map(|rank| rank.stack.as_ref());
                let source = stack.map(|stack| stack.source.clone());
                let derived = Source::Derived { by: "records of the ranks".into(), from: Vec::new() };
                let text = format!("all {} ranks left a dump", ranks.ranks.len());
                Weighed::Excludes(vec![Fact::told(text, source.unwrap_or(derived))])
            }
            Some(missing) => Weighed::from(missing),
        })
    });
    alive.unwrap_or_else(|| {
        Err(Missing::not_given("whether every rank is alive", "ps aux | grep -i worker, on every node"))
    })
}
