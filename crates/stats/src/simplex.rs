//! The downhill simplex method of Nelder and Mead: a minimum without derivatives.

/// Where a search ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The best point found.
    pub at: Vec<f64>,
    /// The function there.
    pub value: f64,
    /// How often the function was evaluated.
    pub evaluations: usize,
}

/// How a search begins and when it stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Edge of the first simplex.
    pub step: f64,
    /// Difference between the values at the corners below which it stops, once the simplex is a hundredth of its size:
    /// corners on both sides of a minimum can be equal by chance.
    pub tolerance: f64,
    /// Evaluations after which it stops; the iteration in hand is finished.
    pub evaluations: usize,
}

/// Searches a minimum of `function` from `start`. A value that is not a number counts as +∞. For functions of a handful
/// of variables of like scale: search the logarithms of quantities that are positive.
///
/// Coefficients are the usual ones: reflection 1, expansion 2, contraction ½, shrinking ½.
pub fn minimise(start: &[f64], search: Search, function: impl FnMut(&[f64]) -> f64) -> Minimum {
    let mut simplex = Simplex { function, corners: Vec::new(), spent: 0 };
    simplex.add(start.to_vec());
    for axis in 0..start.len() {
        let mut point = start.to_vec();
        point[axis] += search.step;
        simplex.add(point);
    }
    simplex.sort();
    while !simplex.is_settled(search) && simplex.spent < search.evaluations {
        simplex.iterate();
        simplex.sort();
    }
    let Corner { value, at } = simplex.corners.swap_remove(0);
    Minimum { at, value, evaluations: simplex.spent }
}

struct Corner {
    value: f64,
    at: Vec<f64>,
}

struct Simplex<F> {
    function: F,
    /// Best first, after [`Simplex::sort`]; never empty.
    corners: Vec<Corner>,
    spent: usize,
}

impl<F: FnMut(&[f64]) -> f64> Simplex<F> {
    fn measure(&mut self, at: Vec<f64>) -> Corner {
        self.spent += 1;
        let value = (self.function)(&at);
        Corner { value: if value.is_nan() { f64::INFINITY } else { value }, at }
    }

    fn add(&mut self, at: Vec<f64>) {
        let corner = self.measure(at);
        self.corners.push(corner);
    }

    fn sort(&mut self) {
        self.corners.sort_by(|a, b| a.value.total_cmp(&b.value));
    }

    fn is_settled(&self, search: Search) -> bool {
        let (best, worst) = (&self.corners[0], &self.corners[self.corners.len() - 1]);
        if best.value.is_infinite() {
            // Nothing to follow.
            return true;
        }
        let extent =
            |corner: &Corner| corner.at.iter().zip(&best.at).map(|(at, best)| (at - best).abs()).fold(0.0, f64::max);
        let widest = self.corners.iter().map(extent).fold(0.0, f64::max);
        worst.value - best.value <= search.tolerance && widest <= search.step / 100.0
    }

    /// Moves the worst corner through the middle of the others, or shrinks the simplex towards its best corner.
    fn iterate(&mut self) {
        let worst = self.corners.len() - 1;
        let middle = self.middle();
        let along = |corner: &Corner, share: f64| -> Vec<f64> {
            middle.iter().zip(&corner.at).map(|(middle, at)| middle + share * (at - middle)).collect()
        };
        let reflected = self.measure(along(&self.corners[worst], -1.0));
        let second_worst = self.corners[worst - 1].value;
        let replacement = if reflected.value < self.corners[0].value {
            let expanded = self.measure(along(&self.corners[worst], -2.0));
            if expanded.value < reflected.value { expanded } else { reflected }
        } else if reflected.value < second_worst {
            reflected
        } else {
            let share = if reflected.value < self.corners[worst].value { -0.5 } else { 0.5 };
            let contracted = self.measure(along(&self.corners[worst], share));
            if contracted.value >= self.corners[worst].value.min(reflected.value) {
                return self.shrink();
            }
            contracted
        };
        self.corners[worst] = replacement;
    }

    fn middle(&self) -> Vec<f64> {
        let others = &self.corners[..self.corners.len() - 1];
        let axes = 0..self.corners[0].at.len();
        axes.map(|axis| others.iter().map(|corner| corner.at[axis]).sum::<f64>() / others.len() as f64).collect()
    }

    fn shrink(&mut self) {
        for index in 1..self.corners.len() {
            let best = &self.corners[0].at;
            let at = self.corners[index].at.iter().zip(best).map(|(at, best)| (at + best) / 2.0).collect();
            self.corners[index] = self.measure(at);
        }
    }
}
