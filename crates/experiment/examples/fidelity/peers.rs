//! What other simulators were off by, from the error records of a published comparison.

use crate::table::{self, size};
use std::{collections::BTreeMap, error::Error, path::Path};

/// Error records by simulator and family of metrics, as shares.
type Errors = BTreeMap<(String, &'static str), Vec<f64>>;

/// Median absolute error of each simulator over its experiments and over mean, p90 and p99 of each metric.
pub fn table(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut errors = Errors::new();
    let mut experiments = BTreeMap::<String, std::collections::BTreeSet<String>>::new();
    for file in ["results_trainval/error_records.csv", "results/llmservingsim_error_records_matched.csv"] {
        let mut reader = csv::Reader::from_path(folder.join(file))?;
        let header = reader.headers()?.clone();
        let column = |name: &str| header.iter().position(|given| given == name).ok_or(format!("{file}: no {name}"));
        let (simulator, experiment) = (column("simulator")?, column("experiment_folder")?);
        let (metric, predicted, actual) = (column("metric_name")?, column("predicted")?, column("actual")?);
        for record in reader.records() {
            let record = record?;
            let family = ["ttft", "itl", "e2e"].into_iter().find(|family| record[metric].starts_with(family));
            let Some(family) = family else { continue };
            let error = record[predicted].parse::<f64>()? / record[actual].parse::<f64>()? - 1.0;
            errors.entry((record[simulator].into(), family)).or_default().push(error.abs());
            experiments.entry(record[simulator].into()).or_default().insert(record[experiment].into());
        }
    }
    let rows: Vec<Vec<String>> = experiments
        .iter()
        .map(|(simulator, experiments)| {
            let cell = |family| errors.get(&(simulator.clone(), family)).and_then(|errors| median(errors)).map(size);
            let cells = ["ttft", "itl", "e2e"].map(|family| cell(family).unwrap_or_else(|| "–".into()));
            [vec![simulator.clone(), experiments.len().to_string()], cells.to_vec()].concat()
        })
        .collect();
    Ok(table::table(&["simulator", "experiments", "TTFT", "ITL", "E2E"], &rows))
}

/// Median; `None` without a value.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[n / 2]),
        n => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}
