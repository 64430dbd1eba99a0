//! Which side runs first in which pair, and on which device.

//!
//! In blocks of more than two arms each arm is at each place equally often: every `n` blocks are a Latin square, by the
//! construction of Williams (1949), in which for an even `n` each arm also follows each other arm equally often.

use super::Plan;
use firstcheck_model::run::Role;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// One run of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// Its pair or block, from 0.
    pub pair: u32,
    /// Which side; of several arms the first is base.
    pub role: Role,
    /// 0 when it runs first of its pair or block, 1 when second, and so on.
    pub order: u8,
    /// Which of the plan's arms; none in a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<u8>,
    /// Which of the plan's devices it runs on; none where there is one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u8>,
    /// Seed of what is random in this run beside the trace (a simulated engine's noise).
    pub seed: u64,
}

impl Cell {
    /// Its arm by number: base is 0, the candidate 1.
    pub fn index(&self) -> usize {
        self.arm.map_or(usize::from(self.role == Role::Candidate), usize::from)
    }
}

/// How a pair goes: whether base is first, and whether it has the first device.
type Way = (bool, bool);

impl Plan {
    /// All cells in the order in which they run. Up to each look all ways of running a pair occur equally often.
    pub fn cells(&self) -> Vec<Cell> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        if !self.arms.is_empty() {
            return self.blocks(&mut random);
        }
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
            Cell {
                pair,
                role,
                order,
                arm: None,
                device,
                seed: self.run_seed(pair, usize::from(role == Role::Candidate)),
            }
        };
        [cell(0), cell(1)]
    }

    fn blocks(&self, random: &mut ChaCha8Rng) -> Vec<Cell> {
        let arms = self.arms.len();
        let mut cells = Vec::with_capacity(self.pairs as usize * arms);
        let mut square: Vec<Vec<usize>> = Vec::new();
        for pair in 0..self.pairs {
            if square.is_empty() {
                square = latin_square(arms, random);
            }
            let row = square.pop().unwrap_or_default();
            cells.extend(row.into_iter().zip(0..).map(|(arm, order)| Cell {
                pair,
                role: if arm == 0 { Role::Base } else { Role::Candidate },
                order,
                arm: Some(arm as u8),
                device: None,
                seed: self.run_seed(pair, arm),
            }));
        }
        cells
    }

    fn run_seed(&self, pair: u32, arm: usize) -> u64 {
        let number = u64::from(pair) * u64::from(self.runs_a_block()) + arm as u64;
        self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number)
    }

    /// The folder of a cell's bundle: `pair-03-candidate`, `block-03-new+old`; `run-03` where one arm is all.
    pub fn folder(&self, cell: &Cell) -> String {
        let number = cell.pair + 1;
        match (cell.arm.and_then(|arm| self.arms.get(usize::from(arm))), self.arms.len()) {
            (None, _) => format!("pair-{number:02}-{}", cell.role.name()),
            (Some(_), 1) => format!("run-{number:02}"),
            (Some(arm), _) => format!("block-{number:02}-{}", file_name(arm)),
        }
    }

    /// What a cell runs, in words.
    pub fn name_of(&self, cell: &Cell) -> &str {
        cell.arm.and_then(|arm| self.arms.get(usize::from(arm))).map_or(cell.role.name(), String::as_str)
    }
}

/// A name in which what has no place in one of a file is a dash.
pub(crate) fn file_name(text: &str) -> String {
    let text = text.replace(" + ", "+");
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let name: String = text.chars().map(|c| if fits(c) { c } else { '-' }).collect();
    if name.starts_with('.') { format!("-{name}") } else { name }
}

/// Orders of `arms` arms in which each is at each place once, by a random relabelling, in random order.
fn latin_square(arms: usize, random: &mut ChaCha8Rng) -> Vec<Vec<usize>> {
    // 0, 1, n − 1, 2, n − 2, …: the differences of neighbours are all different.
    let first = (0..arms).map(|at| if at % 2 == 1 { at.div_ceil(2) } else { (arms - at / 2) % arms });
    let first: Vec<usize> = first.collect();
    let mut labels: Vec<usize> = (0..arms).collect();
    labels.shuffle(random);
    let row = |shift: usize| first.iter().map(|arm| labels[(arm + shift) % arms]).collect();
    let mut rows: Vec<Vec<usize>> = (0..arms).map(row).collect();
    rows.shuffle(random);
    rows
}
