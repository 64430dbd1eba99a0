//! What the spans of one request tell together.

use super::stages::{Account, Timed, Told, handed_over};

/// What all spans of a request tell, on the client's clock.
#[derive(Debug, Default)]
pub(super) struct Traced<'s> {
    slices: Vec<(Timed, Option<&'s str>)>,
    accounts: Vec<(Account, Option<&'s str>)>,
    hops: Vec<(Timed, Option<&'s str>)>,
}

impl<'s> Traced<'s> {
    /// Takes in a span, whose clock is `by` nanoseconds short of the client's.
    pub(super) fn add(&mut self, told: Told, by: i64, instance: Option<&'s str>) {
        match told {
            Told::Slice(timed) => self.slices.push((timed.moved(by), instance)),
            Told::Account(account) => self.accounts.push((account.moved(by), instance)),
            Told::Hop(timed) => self.hops.push((timed.moved(by), instance)),
            Told::Nothing => {}
        }
    }

    /// The finest that is known: an engine's slices say more than its account, and either more than a hop to it.
    pub(super) fn stages(mut self) -> Vec<(Timed, Option<&'s str>)> {
        if !self.slices.is_empty() {
            return self.slices;
        }
        self.accounts.sort_by_key(|(account, _)| *account);
        match &self.accounts[..] {
            [] => self.hops,
            [(prefill, one), (decode, other)] if prefill.computes_prompt_for(decode) => {
                let (first, second) = handed_over(prefill, decode);
                let of = |stages: Vec<Timed>, instance| stages.into_iter().map(move |timed| (timed, instance));
                of(first, *one).chain(of(second, *other)).collect()
            }
            // An attempt that failed and another one: each tells of itself.
            all => all.iter().flat_map(|(one, place)| one.stages().into_iter().map(|timed| (timed, *place))).collect(),
        }
    }
}
