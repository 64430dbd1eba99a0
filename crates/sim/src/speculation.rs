//! How much of a draft is right.

use crate::{config::Speculation, kv_cache::hash::mix, request::RequestState};

impl Speculation {
    /// Tokens to draft for a request in a batch of `running`.
    pub(crate) fn drafted(&self, request: &RequestState, running: usize) -> u32 {
        let too_many = self.most_running.is_some_and(|most| running > most as usize);
        let disabled = self.class(request.features.class).is_some_and(|class| class.disabled);
        if too_many || disabled { 0 } else { self.tokens }
    }

    /// How many of `drafted` tokens, from `position` of the answer on, are right. It depends on nothing but the request
    /// and the place in its answer, so that equal requests fare alike in any batch.
    pub(crate) fn accepted(&self, request: &RequestState, position: u32, drafted: u32) -> u32 {
        let factor = self.class(request.features.class).map_or(1.0, |class| class.factor);
        let kept = (1.0 - self.decay).powf(f64::from(position) / 1000.0);
        let right = |place: &u32| {
            let chance = self.acceptance.get(*place as usize).or(self.acceptance.last()).copied().unwrap_or(0.0);
            uniform(request.begun, position + place) < chance * factor * kept
        };
        (0..drafted).take_while(right).count() as u32
    }

    fn class(&self, class: u32) -> Option<&crate::config::ClassAcceptance> {
        self.classes.iter().find(|known| known.class == class)
    }
}

fn uniform(key: u64, position: u32) -> f64 {
    let bits = mix(key ^ mix(u64::from(position) ^ 0x6472_6166_7473));
    (bits >> 11) as f64 / (1u64 << 53) as f64
}
