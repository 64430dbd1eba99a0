//! Which side runs first in which pair, and on which device.

use super::Plan;
use firstcheck_model::run::Role;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// One run of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// Its pair, from 0.
    pub pair: u32,
    /// Which side.
    pub role: Role,
    /// 0 when it runs first of its pair, 1 when second.
    pub order: u8,
    /// Which of the plan's devices it runs on; none where there is one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u8>,
    /// Seed of what is random in this run beside the trace (a simulated engine's noise).
    pub seed: u64,
}

/// How a pair goes: whether base is first, and whether it has the first device.
type Way = (bool, bool);

impl Plan {
    /// All cells in the order in which they run. Up to each look all ways of running a pair occur equally often.
    pub fn cells(&self) -> Vec<Cell> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut ways: Vec<Way> = Vec::with_capacity(self.pairs as usize);
        let ends = if self.looks.is_empty() { &[self.pairs][..] } else { &self.looks[..] };
        for end in ends {
            let from = ways.len() as u32;
            let mut block: Vec<Way> = (from..*end).map(|pair| (pair % 2 == 0, (pair / 2) % 2 == 0)).collect();
            block.shuffle(&mut random);
            ways.extend(block);
        }
        (0..self.pairs).zip(ways).flat_map(|(pair, way)| self.pair(pair, way)).collect()
    }

    fn pair(&self, pair: u32, (base_first, base_on_first): Way) -> [Cell; 2] {
        let sides = if base_first { [Role::Base, Role::Candidate] } else { [Role::Candidate, Role::Base] };
        let cell = |order: u8| {
            let role = sides[usize::from(order)];
            let device = (!self.devices.is_empty()).then(|| u8::from((role == Role::Base) != base_on_first));
            Cell { pair, role, order, device, seed: self.run_seed(pair, role) }
        };
        [cell(0), cell(1)]
    }

    fn run_seed(&self, pair: u32, role: Role) -> u64 {
        let side = match role {
            Role::Base => 0,
            Role::Candidate => 1,
        };
        self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(pair) * 2 + side)
    }
}
