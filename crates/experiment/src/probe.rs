//! A probe: a few requests that split causes which the users' traffic does not. One prompt sent three times tells whether
//! lookups of the prefix cache work, one that is new what a prompt costs, a new schema sent four times what compiling it
//! costs. A run like any other comes of it, which the checks read as they read every run.

use crate::error::Error;
use firstcheck_load::{Api, Control, Finished, Limits, Options, Scrape, Target};
use firstcheck_model::{
    moment::Moment,
    run::{Arrivals, CacheState, RunId},
};
use firstcheck_workload::{
    prompt::{Piece, Prompt},
    text,
    trace::{Due, Offered, Trace},
};
use serde_json::{Map, Value, json};
use std::{path::Path, sync::Arc, time::Duration};

/// What a probe may cost, and how long it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Requests in all.
    pub requests: u32,
    /// Tokens of each prompt.
    pub prompt_tokens: u32,
    /// Longest answer, tokens.
    pub output_tokens: u32,
    /// Over how long its rounds are spread.
    pub over: Duration,
}

impl Budget {
    /// So many requests of 512 tokens that ask for 32, over that time.
    pub fn new(requests: u32, over: Duration) -> Self {
        Self { requests, prompt_tokens: 512, output_tokens: 32, over }
    }

    /// Most tokens that it sends and asks for: of prompts, and of answers.
    pub fn tokens(&self) -> (u64, u64) {
        let of = |each: u32| u64::from(self.requests) * u64::from(each);
        (of(self.prompt_tokens), of(self.output_tokens))
    }
}

/// What the requests of a round ask, one after another: each is alone at the server, as far as the probe is concerned.
const ROUND: [Ask; 8] = [Ask::Same, Ask::Same, Ask::Same, Ask::New, Ask::Schema, Ask::Schema, Ask::Schema, Ask::Schema];

/// Pause between two requests of a round, so that blocks of the first are in the cache.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy)]
enum Ask {
    /// The prompt of this round.
    Same,
    /// One that was never sent.
    New,
    /// An answer by the schema of this round.
    Schema,
}

/// The requests of a probe. Prompts and schemas are drawn from `seed`: another one shares nothing with it.
pub fn trace(api: Api, budget: &Budget, seed: u64) -> Trace {
    let length = ROUND.len() as u32;
    let rounds = budget.requests.div_ceil(length).max(1);
    let items = (0..budget.requests).map(|row| {
        let (round, place) = (row / length, row % length);
        let start = budget.over.as_nanos() as i64 / i64::from(rounds) * i64::from(round);
        let due = match place {
            // The run ends with its last request: so it goes as long as was asked.
            _ if row + 1 == budget.requests => Due::At(Moment::at(budget.over.saturating_sub(PAUSE).as_nanos() as i64)),
            0 => Due::At(Moment::at(start)),
            _ => Due::After { row: row - 1, think_ns: PAUSE.as_nanos() as i64 },
        };
        let drawn = |what: u32| seed.wrapping_add(u64::from(round) << 32 | u64::from(what));
        let words = |seed: u64| Piece::Synthetic { seed, tokens: budget.prompt_tokens };
        let (prompt, output_tokens) = match ROUND[place as usize] {
            Ask::Same => (Prompt::user(vec![words(drawn(0))]), Some(budget.output_tokens)),
            Ask::New => (Prompt::user(vec![words(drawn(1))]), Some(budget.output_tokens)),
            Ask::Schema => (bound(api, drawn(2), drawn(100 + place), budget), None),
        };
        Offered { due, prompt, output_tokens, session: Some(round) }
    });
    let rate = f64::from(budget.requests) / budget.over.as_secs_f64().max(1.0);
    let description = format!(
        "probe, {} requests: prompts of {} tokens sent three times, new ones, and new schemas sent four times",
        budget.requests, budget.prompt_tokens
    );
    Trace { description, arrivals: Arrivals::Open { rate, cv: None }, items: items.collect(), salt: None }
}

/// A body that binds its answer to the schema of that seed; its prompt is new.
fn bound(api: Api, schema: u64, prompt: u64, budget: &Budget) -> Prompt {
    let mut words = String::new();
    text::render(text::word_ids(prompt, budget.prompt_tokens), &mut words);
    let name = format!("field_{schema:016x}");
    let shape = json!({
        "type": "object",
        "properties": { name.as_str(): {"type": "string", "maxLength": 24} },
        "required": [name.as_str()],
        "additionalProperties": false,
    });
    let mut body = Map::new();
    match api {
        Api::Chat => body.insert("messages".into(), json!([{"role": "user", "content": words}])),
        Api::Completions => body.insert("prompt".into(), Value::String(words)),
    };
    body.insert("max_tokens".into(), budget.output_tokens.into());
    let format = json!({"type": "json_schema", "json_schema": {"name": "probe", "schema": shape}});
    body.insert("response_format".into(), format);
    Prompt::Body(Arc::new(body))
}

/// Sends a probe and writes its run to `bundle`. The engine's metrics are read beside it, so nothing else has to watch it.
///
/// # Errors
/// Where the server is not there, or the bundle cannot be written. Requests that fail are rows of the run.
pub fn run(target: &Target, budget: &Budget, seed: u64, bundle: &Path, control: &Control) -> Result<Finished, Error> {
    let mut options = Options::new(RunId(format!("probe-{seed:016x}")));
    options.tool = firstcheck_model::TOOL.into();
    options.seed = Some(seed);
    options.cache = CacheState::Unknown;
    // To its last request, so that what was announced is sent, however slowly the server answers.
    options.duration = None;
    options.scrape = Scrape { interval: Duration::from_secs(1), ..Scrape::default() };
    options.limits = Limits { errors: None, ..Limits::default() };
    Ok(firstcheck_load::run(&Arc::new(trace(target.api, budget, seed)), target, &options, bundle, control)?)
}
