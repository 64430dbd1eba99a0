//! Playing a policy against the times of samples.

use super::{Course, Fate, Generated, Policy, Sample, Stale, TrainerStep};
use crate::{clock::EventQueue, kv_cache::hash::mix};
use std::collections::{BTreeMap, VecDeque};

/// What happens next. Of events at the same time the one set first comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The trainer's step ends.
    StepEnds,
    /// A group is begun, or begun again.
    Begins { group: u32, attempt: u32 },
    /// A sample of a group's attempt ends.
    Ends { group: u32, attempt: u32, member: u32 },
}

/// An attempt at a group.
struct Attempt {
    number: u32,
    /// Its samples, as they would run if nothing stopped them.
    members: Vec<Member>,
    /// How many of them have not ended.
    open: u32,
}

#[derive(Clone, Copy)]
struct Member {
    start_ns: i64,
    end_ns: i64,
    version_start: u64,
    version_end: u64,
    ended: bool,
    generated: Generated,
}

struct Play<'a> {
    policy: &'a Policy,
    groups: BTreeMap<u32, Vec<Generated>>,
    running: BTreeMap<u32, Attempt>,
    /// Complete groups, the oldest first.
    queue: VecDeque<(u32, Attempt)>,
    events: EventQueue<Event>,
    version: u64,
    step: Option<TrainerStep>,
    course: Course,
}

/// What becomes of `samples` under `policy`. The trainer stops when nothing runs and no full batch waits.
pub fn run(samples: &[Generated], policy: &Policy) -> Course {
    let mut groups: BTreeMap<u32, Vec<Generated>> = BTreeMap::new();
    for sample in samples {
        groups.entry(sample.group).or_default().push(*sample);
    }
    let mut play = Play {
        policy,
        running: BTreeMap::new(),
        queue: VecDeque::new(),
        events: EventQueue::default(),
        version: 0,
        step: None,
        course: Course::default(),
        groups,
    };
    for (group, members) in &play.groups {
        let start_ns = members.iter().map(|member| member.start_ns).min().unwrap_or(0);
        play.events.set(start_ns, Event::Begins { group: *group, attempt: 0 });
    }
    while let Some((now_ns, event)) = play.events.take(i64::MAX) {
        match event {
            Event::StepEnds => play.step_ends(now_ns),
            Event::Begins { group, attempt } => play.begin(now_ns, group, attempt),
            Event::Ends { group, attempt, member } => play.member_ends(now_ns, group, attempt, member),
        }
        play.feed_trainer(now_ns);
    }
    let waiting = std::mem::take(&mut play.queue);
    for (group, attempt) in waiting {
        play.tell(group, &attempt, None, |_| Fate::Waiting);
    }
    play.course
}

impl Play<'_> {
    fn begin(&mut self, now_ns: i64, group: u32, number: u32) {
        let Some(generated) = self.groups.get(&group) else { return };
        let first_ns = generated.iter().map(|sample| sample.start_ns).min().unwrap_or(0);
        let members: Vec<Member> = generated
            .iter()
            .map(|sample| {
                let start_ns = now_ns + (sample.start_ns - first_ns);
                let took_ns = sample.end_ns.map_or(0, |end_ns| (end_ns - sample.start_ns).max(0));
                let end_ns = start_ns.saturating_add(took_ns);
                let (version_start, version_end) = (self.version, self.version);
                Member { start_ns, end_ns, version_start, version_end, ended: false, generated: *sample }
            })
            .collect();
        for (place, member) in members.iter().enumerate() {
            self.events.set(member.end_ns, Event::Ends { group, attempt: number, member: place as u32 });
        }
        self.running.insert(group, Attempt { number, open: members.len() as u32, members });
    }

    fn member_ends(&mut self, now_ns: i64, group: u32, number: u32, place: u32) {
        let Some(attempt) = self.running.get_mut(&group).filter(|attempt| attempt.number == number) else { return };
        let Some(member) = attempt.members.get_mut(place as usize) else { return };
        (member.ended, member.end_ns, member.version_end) = (true, now_ns, self.version);
        attempt.open -= 1;
        if attempt.open == 0
            && let Some(attempt) = self.running.remove(&group)
        {
            self.queue.push_back((group, attempt));
        }
    }

    fn step_ends(&mut self, now_ns: i64) {
        self.version += 1;
        self.course.steps.extend(self.step.take());
        // Samples that are begun later in their group run on what is loaded then.
        for member in self.running.values_mut().flat_map(|attempt| &mut attempt.members) {
            if member.start_ns >= now_ns {
                member.version_start = self.version;
            }
        }
        let (Stale::CancelsGroup, Some(most)) = (self.policy.stale, self.policy.most_lag) else { return };
        let version = self.version;
        let old = |attempt: &Attempt| attempt.members.iter().any(|member| version - member.version_start > most);
        let late: Vec<u32> = self.running.iter().filter(|(_, attempt)| old(attempt)).map(|(group, _)| *group).collect();
        for group in late {
            self.cancel(now_ns, group);
        }
    }

    /// Gives up a group that runs, and begins it again if it may be.
    fn cancel(&mut self, now_ns: i64, group: u32) {
        let Some(mut attempt) = self.running.remove(&group) else { return };
        let version = self.version;
        for member in attempt.members.iter_mut().filter(|member| !member.ended) {
            let (whole, done) = (member.end_ns - member.start_ns, now_ns - member.start_ns);
            let share = if whole > 0 { (done as f64 / whole as f64).clamp(0.0, 1.0) } else { 0.0 };
            member.generated.tokens = (f64::from(member.generated.tokens) * share) as u32;
            // One that had not begun by then never does.
            member.start_ns = member.start_ns.min(now_ns);
            (member.end_ns, member.version_end) = (now_ns, version);
        }
        self.tell(group, &attempt, None, |_| Fate::Cancelled);
        if attempt.number < self.policy.most_restarts {
            self.events.set(now_ns, Event::Begins { group, attempt: attempt.number + 1 });
        }
    }

    /// Begins a step of the trainer if it has nothing to do and enough groups wait that are worth a step.
    fn feed_trainer(&mut self, now_ns: i64) {
        let wanted = self.policy.groups_a_step.max(1) as usize;
        while self.step.is_none() && self.queue.len() >= wanted {
            let queue_groups = self.queue.len() as u32;
            let mut samples = 0;
            for (group, attempt) in self.queue.drain(..wanted).collect::<Vec<_>>() {
                samples += self.use_group(group, &attempt);
            }
            if samples > 0 {
                let end_ns = now_ns + (self.policy.step_seconds * 1e9).round().max(1.0) as i64;
                let (start, end) = (seconds(now_ns), seconds(end_ns));
                self.step = Some(TrainerStep { version: self.version, start, end, queue_groups, samples });
                self.events.set(end_ns, Event::StepEnds);
            }
        }
    }

    /// A group's turn has come: returns how many of its samples are used.
    fn use_group(&mut self, group: u32, attempt: &Attempt) -> u32 {
        let (policy, version) = (self.policy, self.version);
        let chance = (mix(u64::from(group) ^ 0x7265_7761_7264) >> 11) as f64 / (1u64 << 53) as f64;
        let fate = |member: &Member| {
            if member.generated.end_ns.is_none() {
                Fate::Failed
            } else if policy.most_lag.is_some_and(|most| version - member.version_start > most) {
                Fate::DroppedStale
            } else if member.generated.truncated && policy.drop_truncated {
                Fate::Truncated
            } else if chance < policy.degenerate_share {
                Fate::Filtered
            } else {
                Fate::Used
            }
        };
        self.tell(group, attempt, Some(version), fate);
        attempt.members.iter().filter(|member| fate(member) == Fate::Used).count() as u32
    }

    fn tell(&mut self, group: u32, attempt: &Attempt, used_at: Option<u64>, fate: impl Fn(&Member) -> Fate) {
        for member in &attempt.members {
            self.course.samples.push(Sample {
                id: self.course.samples.len() as u32,
                group,
                attempt: attempt.number,
                start: seconds(member.start_ns),
                end: seconds(member.end_ns),
                policy_version_start: member.version_start,
                policy_version_end: member.version_end,
                trainer_version: used_at,
                tokens: member.generated.tokens,
                fate: fate(member),
            });
        }
    }
}

fn seconds(at_ns: i64) -> f64 {
    at_ns as f64 / 1e9
}
