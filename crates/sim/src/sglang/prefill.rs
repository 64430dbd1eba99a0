//! A prefill batch: the request whose chunks go on, then waiting ones in order while they fit.

use super::{
    Mode, PrefillNote, Sglang, Step,
    adder::{Adder, Pick, Verdict},
};
use crate::{
    config::{self, SchedulePolicy},
    core::Bench,
    request::{RequestState, Status},
    scheduler::{Decisions, Scheduled},
};

impl Sglang {
    /// The next prefill batch, if there is one.
    pub(super) fn prefill(&mut self, bench: &mut Bench<'_>) -> Option<Step> {
        let rules = &bench.config.sglang;
        if (self.full || self.waiting.is_empty()) && self.chunked.is_none()
            || self.decodes_due > 0 && !self.running.is_empty()
        {
            return None;
        }
        let places = (rules.max_running_requests as usize).saturating_sub(self.running.len());
        if places == 0 && self.chunked.is_none() {
            self.full = true;
            return None;
        }
        self.order(bench);
        let mixed = if mixes(rules) { self.running.len() } else { 0 };
        let mut adder = Adder::new(rules, self.reserved(bench), mixed);
        if let Some(slot) = self.chunked {
            self.chunked = self.go_on(bench, &mut adder, slot);
        }
        let mut admitted = 0;
        while let Some(slot) = self.waiting.get(admitted).copied() {
            if bench.config.defects.stuck_head {
                break;
            }
            if adder.picks.len() >= places {
                self.full = true;
                break;
            }
            let before = adder.picks.len();
            let verdict = self.admit(bench, &mut adder, slot);
            admitted += adder.picks.len() - before;
            if verdict == Verdict::NoToken {
                self.full = !adder.picks.is_empty() || !self.running.is_empty();
            }
            if verdict != Verdict::Continue {
                break;
            }
        }
        self.waiting.drain(..admitted);
        if adder.picks.is_empty() {
            return None;
        }
        let mut step = self.extend(bench, &adder.picks);
        if mixes(rules) {
            self.mix(bench, &mut step);
        }
        Some(step)
    }

    /// Output that running requests are expected to need.
    fn reserved(&self, bench: &Bench<'_>) -> f64 {
        let rules = &bench.config.sglang;
        let output = |slot: &u32| {
            let request = &bench.slots[*slot];
            let whole = rules.reserve_ignore_eos_whole && never_ends(request);
            f64::from(output_left(request, rules)) * if whole { 1.0 } else { self.ratio.now }
        };
        self.running.iter().map(output).sum()
    }

    /// The next chunk of the request that is computed in chunks; returns the request unless that is its last one. It
    /// goes on however little is left, so that it gets done and sets its memory free; only what is not there at all
    /// holds it up.
    fn go_on(&mut self, bench: &Bench<'_>, adder: &mut Adder, slot: u32) -> Option<u32> {
        let (rules, request) = (&bench.config.sglang, &bench.slots[slot]);
        let rest = i64::from(request.num_tokens() - request.num_computed);
        let limit = adder.chunk.unwrap_or(rest);
        let fitting = limit.min(adder.left(&self.pool) as i64);
        let mut limit = if fitting > 0 { fitting } else { limit };
        if rules.active_policy() == SchedulePolicy::ShortestPrefillFirst {
            limit = limit.min(self.room_for_shorter(bench, rest, limit));
        }
        let seat = &self.seats[slot as usize];
        let there = i64::from(seat.in_tree + seat.held - request.num_computed) + i64::from(self.pool.available());
        let tokens = rest.min(limit).min(there);
        if tokens <= 0 {
            return Some(slot);
        }
        let last = tokens == rest;
        let pick = Pick { slot, prior: request.num_computed, tokens: tokens as u32, fresh: false };
        let output = if last { request.max_tokens.min(rules.clip_max_new_tokens) } else { 0 };
        adder.charge(&self.pool, pick, output);
        (!last).then_some(slot)
    }

    /// What a chunk may take so that waiting requests shorter than its rest find room beside it.
    fn room_for_shorter(&mut self, bench: &Bench<'_>, rest: i64, budget: i64) -> i64 {
        let page = i64::from(self.pool.page());
        if budget < 2 * page {
            return budget;
        }
        let mut set_aside = 0;
        for slot in &self.waiting {
            let request = &bench.slots[*slot];
            let known = request.num_tokens();
            let cached = self.pool.find(request, bench.language, known).tokens.min(known - 1);
            let work = i64::from(known - cached);
            let charge = i64::from(self.pool.ceil(known - cached));
            if work >= rest || set_aside + charge > budget - page {
                break;
            }
            set_aside += charge;
        }
        if set_aside == 0 { budget } else { (budget - set_aside) / page * page }
    }

    /// Tries a waiting request.
    fn admit(&mut self, bench: &Bench<'_>, adder: &mut Adder, slot: u32) -> Verdict {
        let (rules, request) = (&bench.config.sglang, &bench.slots[slot]);
        if rules.prefill_max_requests.is_some_and(|most| adder.picks.len() >= most as usize) {
            return Verdict::Other;
        }
        let known = request.num_tokens();
        // At least one token is computed, whatever is cached.
        let prefix = self.pool.find(request, bench.language, known - 1);
        // Its own prefix is not to be evicted for it: locked, it does not count as available.
        let seat = self.pool.sit(prefix);
        let size = if rules.disable_radix_cache && never_ends(request) {
            self.size_looking_ahead(bench, adder, slot)
        } else {
            self.size(rules, request, adder, prefix.tokens)
        };
        match size {
            Err(verdict) => {
                self.pool.stand(seat);
                verdict
            }
            Ok(tokens) => {
                self.seats[slot as usize] = seat;
                let whole = prefix.tokens + tokens == known;
                if !whole {
                    self.chunked = Some(slot);
                }
                let output = if whole { request.max_tokens.min(rules.clip_max_new_tokens) } else { 0 };
                adder.charge(&self.pool, Pick { slot, prior: prefix.tokens, tokens, fresh: true }, output)
            }
        }
    }

    /// How many tokens of a waiting request are computed now; an error if it does not fit.
    fn size(&self, rules: &config::Sglang, request: &RequestState, adder: &Adder, cached: u32) -> Result<u32, Verdict> {
        let rest = request.num_tokens() - cached;
        let total = u64::from(rest) + u64::from(output_left(request, rules)) + u64::from(self.pool.page());
        if total as f64 >= adder.left(&self.pool) {
            return Err(Verdict::NoToken);
        }
        let input = i64::from(self.pool.ceil(rest));
        let Some(limit) = adder.chunk else {
            let refused = !adder.picks.is_empty() && input >= adder.input;
            return if refused { Err(Verdict::Other) } else { Ok(rest) };
        };
        if input <= limit {
            return Ok(rest);
        }
        if self.chunked.is_some() {
            // One request at a time is computed in chunks.
            return Err(Verdict::Other);
        }
        let page = i64::from(self.pool.page());
        match limit / page * page {
            tokens if tokens > 0 => Ok(tokens as u32),
            _ => Err(Verdict::Other),
        }
    }

    /// The same without a cache, for a request that never ends of itself: it fits if at no moment, as one request after
    /// the other ends, memory would run out.
    fn size_looking_ahead(&self, bench: &Bench<'_>, adder: &mut Adder, slot: u32) -> Result<u32, Verdict> {
        let rest = bench.slots[slot].num_tokens();
        let input = i64::from(self.pool.ceil(rest) + self.pool.page());
        if input > adder.left_now(&self.pool) || input as f64 > adder.left(&self.pool) {
            return Err(Verdict::NoToken);
        }
        let mut outlook = adder.outlook.take().unwrap_or_else(|| {
            let others = self.running.iter().copied().chain(adder.picks.iter().map(|pick| pick.slot));
            others.filter_map(|other| self.outlook(&bench.slots[other])).collect()
        });
        outlook.extend(self.outlook(&bench.slots[slot]));
        outlook.sort_by(|one, other| one.0.total_cmp(&other.0));
        let now = (adder.left_now(&self.pool) - input) as f64;
        let mut freed = 0.0;
        let mut runs_out = false;
        for (ended, (output, held)) in outlook.iter().enumerate() {
            let left = (outlook.len() - ended) as f64;
            // A token for each is kept back.
            runs_out |= now + freed - output * left <= left;
            freed += held;
        }
        adder.outlook = Some(outlook);
        match adder.chunk {
            _ if runs_out => Err(Verdict::NoToken),
            Some(limit) if limit <= 0 || i64::from(rest) > limit && self.chunked.is_some() => Err(Verdict::Other),
            Some(limit) if i64::from(rest) > limit => Ok(limit as u32),
            _ => Ok(rest),
        }
    }

    /// Output that a request is expected to need, and what it holds; `None` if it has generated that much.
    fn outlook(&self, request: &RequestState) -> Option<(f64, f64)> {
        let ratio = if never_ends(request) { 1.0 } else { self.ratio.now };
        let left = f64::from(request.max_tokens) * ratio - f64::from(request.output_len);
        (left > 0.0).then(|| (left, f64::from(request.num_tokens())))
    }

    /// Gives the picked requests their memory and makes a step of them.
    fn extend(&mut self, bench: &mut Bench<'_>, picks: &[Pick]) -> Step {
        let page = self.pool.page();
        let slack = if page > 1 { page * picks.len() as u32 } else { 0 };
        self.pool.make_room(picks.iter().map(|pick| pick.tokens).sum::<u32>() + slack);
        let mut step = Step { mode: Mode::Extend, ..Step::default() };
        let mut note = PrefillNote { running: self.running.len() as u32, ..PrefillNote::default() };
        note.new_token_ratio = self.ratio.now;
        for pick in picks {
            let request = &mut bench.slots[pick.slot];
            let end = pick.prior + pick.tokens;
            self.pool.take(&mut self.seats[pick.slot as usize], end);
            let again = request.life.preemptions > 0;
            note.new_seqs += 1;
            note.new_tokens += pick.tokens;
            note.again_tokens += if again { pick.tokens } else { 0 };
            if pick.fresh {
                note.cached_tokens += pick.prior;
                note.again_cached_tokens += if again { pick.prior } else { 0 };
                self.admitted.push(pick.slot);
                settle(request, pick.prior, bench.now_ns, &mut self.decisions);
            }
            request.status = Status::Running;
            request.num_computed = end;
            let samples = end == request.num_tokens();
            step.shape.add(pick.prior, pick.tokens, samples);
            step.fills.push(end);
            step.rows.push(Scheduled { id: bench.slots.id_of(pick.slot), tokens: pick.tokens, samples, drafts: 0 });
            if samples {
                self.joining.push(pick.slot);
            }
            self.prefilled_tokens += u64::from(pick.tokens);
        }
        step.note = note;
        step
    }

    /// Lets running requests decode in a prefill step too, if their memory is there.
    fn mix(&mut self, bench: &mut Bench<'_>, step: &mut Step) {
        let rows = self.due(bench);
        if !self.fits(bench, &rows) {
            return;
        }
        self.advance(bench, &rows, step);
        // They join the running ones again behind those whose prefill is complete.
        self.joining.append(&mut self.running);
        self.left_joining |= std::mem::take(&mut self.left_running);
    }
}

/// Whether prefill steps carry decodes.
fn mixes(rules: &config::Sglang) -> bool {
    rules.enable_mixed_chunk && rules.chunked_prefill_size.is_some()
}

/// Output that a request may still give, as far as it counts.
fn output_left(request: &RequestState, rules: &config::Sglang) -> u32 {
    request.max_tokens.saturating_sub(request.output_len).min(rules.clip_max_new_tokens)
}

/// Whether a request goes on until it reaches its length.
fn never_ends(request: &RequestState) -> bool {
    request.ends_at == u32::MAX
}

/// Books an admission: the first one counts in the prefix statistics and ends the queue stage; a later one ends a
/// retracted wait and says how much has to be computed again.
fn settle(request: &mut RequestState, cached: u32, now_ns: i64, decisions: &mut Decisions) {
    decisions.admitted += 1;
    if request.life.scheduled_ns.is_none() {
        request.life.scheduled_ns = Some(now_ns);
        request.life.cached_tokens = cached;
        decisions.prefix_queries += u64::from(request.num_tokens());
        decisions.prefix_hits += u64::from(cached);
    }
    request.life.readmitted(now_ns, cached);
}
