//! Small charts of characters, ignorant of what they show.

/// Bars of an eighth of a line each.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A logarithmic axis over so many columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogAxis {
    low: f64,
    high: f64,
    columns: usize,
}

impl LogAxis {
    /// From `low` to `high`; `None` where no logarithm tells them apart.
    pub(super) fn new(low: f64, high: f64, columns: usize) -> Option<Self> {
        let (low, high) = (low.log10(), high.log10());
        (low.is_finite() && high.is_finite() && high > low && columns > 1).then_some(Self { low, high, columns })
    }

    /// Columns it takes.
    pub(super) fn columns(self) -> usize {
        self.columns
    }

    /// The value at the right edge of a column.
    pub(super) fn edge(self, column: usize) -> f64 {
        10f64.powf(self.low + (self.high - self.low) * (column + 1) as f64 / self.columns as f64)
    }

    /// The column that a value is in; those at the ends hold what lies beyond.
    pub(super) fn column(self, value: f64) -> usize {
        let place = (value.log10() - self.low) / (self.high - self.low) * self.columns as f64;
        // A value on an edge is in the column that ends there, as a bucket's bound is.
        ((place - 1e-9).max(0.0) as usize).min(self.columns - 1)
    }

    /// A line of labels under the axis: the powers of ten in it, and where there is none its two ends.
    pub(super) fn labels(self, say: impl Fn(f64) -> String) -> String {
        let tens: Vec<f64> =
            (self.low.ceil() as i32..=self.high.floor() as i32).map(|power| 10f64.powi(power)).collect();
        let ends = [10f64.powf(self.low), 10f64.powf(self.high)];
        let marked = if tens.is_empty() { &ends[..] } else { &tens };
        let mut line = String::new();
        for value in marked {
            let label = say(*value);
            let taken = line.chars().count();
            let at = self.column(*value).min(self.columns.saturating_sub(label.chars().count()));
            if taken == 0 || at > taken + 1 {
                line += &" ".repeat(at.saturating_sub(taken));
                line += &label;
            }
        }
        line
    }
}

/// One line of bars, as high as their share of `highest`; what is `None` leaves its column empty, and what is above nothing
/// shows at least the lowest bar.
pub(super) fn bars(values: &[Option<f64>], highest: f64) -> String {
    let bar = |value: &Option<f64>| match value {
        Some(value) if *value > 0.0 && highest > 0.0 => {
            let eighths = (value / highest * BARS.len() as f64).ceil().max(1.0) as usize;
            BARS[eighths.min(BARS.len()) - 1]
        }
        Some(_) => '·',
        None => ' ',
    };
    values.iter().map(bar).collect::<String>().trim_end().to_owned()
}

/// Curves of shares over the same columns, from `height` lines down to the lowest; each with its mark. Where curves meet
/// stands `both`.
pub(super) fn curves(curves: &[(char, Vec<f64>)], both: char, height: usize) -> Vec<String> {
    let columns = curves.iter().map(|(_, shares)| shares.len()).max().unwrap_or(0);
    let mut lines = vec![vec![' '; columns]; height.max(1)];
    let top = lines.len() - 1;
    for (mark, shares) in curves {
        for (column, share) in shares.iter().enumerate() {
            let line = top - ((share.clamp(0.0, 1.0) * top as f64).round() as usize).min(top);
            let cell = &mut lines[line][column];
            *cell = if *cell == ' ' { *mark } else { both };
        }
    }
    lines.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect()
}
