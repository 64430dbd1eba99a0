//! Does what a plan says: runs cells, keeps the ledger, tells progress.

use crate::{
    error::Error,
    event::{Event, RatioSoFar},
    ledger::{Entry, LedgerFile},
    plan::pairs::{Cell, PairPlan, Step},
};
use firstcheck_model::{evidence::RunEvidence, run::Role};
use std::path::{Path, PathBuf};

/// A run of a cell: given the cell and where its bundle goes, the run as evidence.
pub type RunCell<'r> = dyn FnMut(Cell, &Path) -> Result<RunEvidence, Error> + 'r;

/// Runs of both sides as they are completed.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    /// Base's runs, by pair.
    pub base: Vec<RunEvidence>,
    /// Candidate's runs, by pair.
    pub candidate: Vec<RunEvidence>,
    /// Their bundles.
    pub bundles: Vec<PathBuf>,
}

/// Drives `plan` in `folder` until it is done. Cells that the ledger there has are read back instead of run.
///
/// `after_pair` sees the runs so far after each pair and may compute what progress shows.
///
/// # Errors
/// What a run, a bundle or the ledger reports.
pub fn drive_pairs(
    plan: PairPlan,
    folder: &Path,
    run: &mut RunCell<'_>,
    after_pair: &mut dyn FnMut(u32, &Runs) -> Option<RatioSoFar>,
    tell: &mut dyn FnMut(Event),
) -> Result<Runs, Error> {
    let fail = |source| Error::File { action: "create", path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(fail)?;
    let mut ledger = LedgerFile::open(&folder.join("ledger.jsonl"), plan)?;
    let mut runs = Runs::default();
    let mut add = |cell: Cell, bundle: PathBuf, evidence: RunEvidence| {
        tell(Event::RunDone { pair: cell.pair, pairs: plan.pairs, role: cell.role, bundle: bundle.clone() });
        runs.bundles.push(bundle);
        match cell.role {
            Role::Base => runs.base.push(evidence),
            Role::Candidate => runs.candidate.push(evidence),
        }
        if cell.order == 1 {
            let ratio = after_pair(cell.pair, &runs);
            tell(Event::PairDone { pair: cell.pair, pairs: plan.pairs, ratio });
        }
    };
    for cell in plan.cells() {
        if let Some(bundle) = ledger.ledger().bundle(&cell).map(|bundle| folder.join(bundle)) {
            let evidence = read_back(&bundle)?;
            add(cell, bundle, evidence);
        }
    }
    while let Step::Run(cell) = plan.next(ledger.ledger()) {
        let name = cell_folder(cell);
        let bundle = folder.join(&name);
        let evidence = run(cell, &bundle)?;
        ledger.append(Entry::RunDone { cell, bundle: name })?;
        add(cell, bundle, evidence);
    }
    Ok(runs)
}

pub(crate) fn read_back(bundle: &Path) -> Result<RunEvidence, Error> {
    firstcheck_ingest::read_runs(bundle)?.pop().ok_or_else(|| {
        let source = std::io::Error::other("the bundle holds no run");
        Error::File { action: "read", path: bundle.to_owned(), source }
    })
}

/// The folder of a cell's bundle: `pair-03-candidate`.
pub fn cell_folder(cell: Cell) -> String {
    format!("pair-{:02}-{}", cell.pair + 1, cell.role.name())
}
