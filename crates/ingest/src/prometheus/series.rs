//! Series out of several pages of one deployment.

use super::text::{Page, part_key};
use crate::vocabulary;
use firstcheck_model::{
    moment::Moment,
    signal::{Labels, Series},
};
use std::collections::HashMap;

type Key = (String, String, Labels, (u8, u64));

/// Gathers pages with their moments into series.
///
/// A sample counts at the moment of its scrape; a timestamp that the page itself carries is not used, because it is on
/// another clock. A series that begins or ends with some page simply has fewer samples.
#[derive(Debug, Default)]
pub struct SeriesSet {
    series: Vec<Series>,
    index: HashMap<Key, usize>,
}

impl SeriesSet {
    /// Adds a page scraped at `at`; `name` tells pages of different addresses apart (`main`). A page without a moment
    /// ([`Moment::NEVER`]) cannot be placed and is not taken: `false`.
    pub fn add(&mut self, page: &Page, name: &str, at: Moment) -> bool {
        if !at.reached() {
            return false;
        }
        for sample in &page.samples {
            let key = (name.to_owned(), sample.name.clone(), sample.labels.clone(), part_key(sample.part));
            let row = *self.index.entry(key).or_insert_with(|| {
                self.series.push(Series {
                    name: sample.name.clone(),
                    labels: sample.labels.clone(),
                    page: name.to_owned(),
                    kind: sample.kind,
                    part: sample.part,
                    signal: None,
                    at: Vec::new(),
                    value: Vec::new(),
                });
                self.series.len() - 1
            });
            let series = &mut self.series[row];
            // Pages usually come in time order; where they do not, each sample finds its place.
            let place = series.at.partition_point(|t| *t <= at);
            series.at.insert(place, at);
            series.value.insert(place, sample.value);
        }
        true
    }

    /// The series in the order in which they were first seen, with the vocabulary applied.
    pub fn finish(self) -> Vec<Series> {
        let mut series = self.series;
        vocabulary::apply(&mut series);
        series
    }
}
