//! Factors, from arguments and `[isolate]`.

use super::{Common, common, deployment, template};
use crate::{
    args::{FactorArg, ForbidArg, IsolateArgs},
    config::Config,
};
use firstcheck_analyze::isolate::{Combination, Factor, FactorPolicy, Forbidden, Grid, Key};
use firstcheck_experiment::{
    isolate::{FactorSection, FactorsOptions, ForbidSection, Value},
    ledger::Begun,
    plan::Plan,
};
use firstcheck_load::Stop;

/// Blocks where nothing says how many.
const DEFAULT_BLOCKS: u32 = 8;

/// What is run.
///
/// # Errors
/// Factors of which no experiment can be made, and as the verb.
pub(super) fn options(args: IsolateArgs, config: &Config, stop: Stop) -> anyhow::Result<FactorsOptions> {
    let section = &config.isolate;
    let mut factors: Vec<FactorSection> = args.what.factor.iter().map(|FactorArg(factor)| factor.clone()).collect();
    let mut rules: Vec<ForbidSection> = args.what.forbid.iter().map(|ForbidArg(rule)| rule.clone()).collect();
    if factors.is_empty() {
        factors.clone_from(&section.factor);
        rules.extend(section.forbid.iter().cloned());
    }
    let grid = grid(&factors, &rules)?;
    let layout = grid.layout();
    let template = template(&args, config)?;
    let targets = layout.arms.iter().map(|arm| deployment(&template, &values(&factors, arm), &args));
    let targets = targets.collect::<anyhow::Result<Vec<_>>>()?;
    let blocks = args.what.blocks.or(section.blocks);
    let Common { out, prepared, key, stop } = common(args, &targets, config, stop)?;
    let arms: Vec<String> = layout.arms.iter().map(|arm| grid.short(arm)).collect();
    let blocks = blocks.unwrap_or_else(|| DEFAULT_BLOCKS.next_multiple_of(arms.len() as u32));
    let mut subject = prepared.subject;
    for (arm, target) in arms.iter().zip(&targets) {
        subject.insert(format!("combination {arm}"), target.to_string());
    }
    let plan = Plan { arms, warm_up: prepared.warm_up, ..Plan::of_pairs(blocks, prepared.seed) };
    let begun = Begun { plan, subject, nonce: prepared.nonce };
    let keys = key.map_or_else(|| Key::gated(&prepared.policy), |key| vec![key]);
    let factors = FactorPolicy { alpha: prepared.policy.alpha, ..FactorPolicy::default() };
    Ok(FactorsOptions {
        begun,
        grid,
        layout,
        targets,
        offer: prepared.offer,
        policy: prepared.policy,
        keys,
        factors,
        settings: config.check.clone(),
        out,
        stop,
    })
}

fn grid(factors: &[FactorSection], rules: &[ForbidSection]) -> anyhow::Result<Grid> {
    let factor = |factor: &FactorSection| Factor {
        name: factor.name.clone(),
        levels: factor.levels.iter().map(|level| level.name.clone()).collect(),
    };
    let rule = |rule: &ForbidSection| Forbidden { levels: rule.levels.clone(), why: rule.why.clone() };
    let rules: Vec<Forbidden> = rules.iter().map(rule).collect();
    Ok(Grid::new(factors.iter().map(factor).collect(), &rules)?)
}

/// What is filled in for a combination.
fn values(factors: &[FactorSection], arm: &Combination) -> Vec<Value> {
    let value = |(factor, level): (&FactorSection, &usize)| {
        let level = &factor.levels[*level];
        Value {
            name: factor.name.clone(),
            value: level.value.clone().unwrap_or_else(|| level.name.clone()),
            args: level.args.clone(),
            env: level.env.clone(),
        }
    };
    factors.iter().zip(arm).map(value).collect()
}
