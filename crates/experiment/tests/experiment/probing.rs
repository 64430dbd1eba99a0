//! What a probe sends.

use firstcheck_experiment::probe::{Budget, trace};
use firstcheck_load::Api;
use firstcheck_workload::{body, prompt::Prompt, trace::Due};
use std::{collections::BTreeSet, time::Duration};

#[test]
fn a_round_asks_one_prompt_three_times_and_one_schema_four_times() {
    let budget = Budget::new(16, Duration::from_secs(20));
    for api in [Api::Chat, Api::Completions] {
        let trace = trace(api, &budget, 7);
        let (mut prompts, mut schemas) = (Vec::new(), Vec::new());
        for item in &trace.items {
            match &item.prompt {
                Prompt::Body(asked) => schemas.push(body::schema(asked).unwrap()),
                Prompt::Messages(_) => prompts.push(item.prompt.text(None)),
            }
            assert_eq!(item.max_tokens(), Some(budget.output_tokens));
            assert_eq!(item.prompt.prompt_tokens(), u64::from(budget.prompt_tokens));
        }
        assert_eq!((prompts.len(), prompts.iter().collect::<BTreeSet<_>>().len()), (8, 4));
        assert!(prompts[0] == prompts[1] && prompts[1] == prompts[2] && prompts[2] != prompts[3]);
        assert_eq!((schemas.len(), schemas.iter().collect::<BTreeSet<_>>().len()), (8, 2));
        assert_eq!((budget.tokens().0, budget.tokens().1), (trace.prompt_tokens(), 16 * 32));
    }
}

/// A budget is a promise: never a request more, and the last one at the end of the time.
#[test]
fn a_budget_is_kept() {
    for requests in [1, 3, 8, 9, 100] {
        let budget = Budget::new(requests, Duration::from_secs(10));
        let items = trace(Api::Chat, &budget, 1).items;
        assert_eq!(items.len(), requests as usize);
        let at = |due: &Due| match due {
            Due::At(moment) => moment.get(),
            _ => None,
        };
        let starts: Vec<i64> = items.iter().filter_map(|item| at(&item.due)).collect();
        assert!(starts.is_sorted() && starts.iter().all(|at| (0..10_000_000_000).contains(at)), "{starts:?}");
        assert_eq!(at(&items[items.len() - 1].due), Some(9_900_000_000));
    }
    let (one, other) = (Budget::new(8, Duration::from_secs(10)), Budget::new(8, Duration::from_secs(10)));
    assert_eq!(trace(Api::Chat, &one, 1), trace(Api::Chat, &other, 1));
    assert_ne!(trace(Api::Chat, &one, 1).items[0].prompt, trace(Api::Chat, &other, 2).items[0].prompt);
}
