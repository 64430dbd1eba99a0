//! Requests put in the order of the plan.

use crate::{
    columns,
    error::{Error, Result},
};
use arrow_array::RecordBatch;
use firstcheck_model::{
    moment::Moment,
    request::{Fate, Request, Requests},
};
use std::path::Path;

/// Rows that may be missing before a row: a larger gap is a row number gone wrong, not a plan.
const LARGEST_GAP: usize = 1_000_000;

/// What the error column says of a request that was in flight when its run broke off.
const INTERRUPTED: &str = "run interrupted";

/// What the error column says of a row that nothing was written of.
const NOT_RECORDED: &str = "row was not recorded";

/// Requests by row; the last state of a row that was written is the one that counts.
#[derive(Default)]
pub(crate) struct Placed {
    rows: Vec<Option<Request>>,
}

impl Placed {
    /// Puts the rows of a journal's batch in their places.
    pub(crate) fn add(&mut self, batch: &RecordBatch, path: &Path) -> Result<()> {
        columns::requests::decode(batch, path, |row, request| {
            let at = row as usize;
            if at >= self.rows.len() {
                if at - self.rows.len() > LARGEST_GAP {
                    return Err(Error::malformed(path, format!("row {row} follows row {}", self.rows.len())));
                }
                self.rows.resize(at + 1, None);
            }
            if let Some(place) = self.rows.get_mut(at) {
                *place = Some(request);
            }
            Ok(())
        })
    }

    /// Adds the rows of a finished file, which must follow one another.
    pub(crate) fn add_in_order(&mut self, batch: &RecordBatch, path: &Path) -> Result<()> {
        columns::requests::decode(batch, path, |row, request| {
            if row as usize != self.rows.len() {
                return Err(Error::malformed(path, format!("row {row} stands where {} is due", self.rows.len())));
            }
            self.rows.push(Some(request));
            Ok(())
        })
    }

    /// All rows, and what a reader should know of them. With `interrupted`, what was in flight counts as cancelled.
    pub(crate) fn finish(self, interrupted: bool) -> (Requests, Option<String>) {
        let mut gaps = 0;
        let fill = |row: Option<Request>| match row {
            Some(mut request) => {
                if interrupted && in_flight(&request) {
                    request.fate = Fate::Cancelled;
                    request.error = Some(INTERRUPTED.into());
                }
                request
            }
            None => {
                gaps += 1;
                Request { error: Some(NOT_RECORDED.into()), ..Request::offered(Moment::NEVER) }
            }
        };
        let requests = Requests(self.rows.into_iter().map(fill).collect());
        let note = (gaps > 0).then(|| format!("{gaps} of {} requests were not recorded", requests.len()));
        (requests, note)
    }
}

/// Sent, and nothing said of its end.
fn in_flight(request: &Request) -> bool {
    request.fate == Fate::NeverSent && request.sent.reached()
}
