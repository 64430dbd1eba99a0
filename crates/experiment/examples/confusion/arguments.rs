//! What is asked of the matrix.

use firstcheck_analyze::registry;
use firstcheck_experiment::confusion::{Against, Dose, Load, Stage};
use firstcheck_sim::{
    EngineKind,
    fault::{FaultSpec, Severity, catalogue},
};
use std::{error::Error, path::Path, path::PathBuf, thread};

/// What is asked.
#[derive(Debug)]
pub struct Asked {
    /// Faults to play.
    pub faults: Vec<&'static FaultSpec>,
    /// Codes of the checks whose word counts; empty: all.
    pub checks: Vec<String>,
    /// How bad the faults are.
    pub severities: Vec<Severity>,
    /// Loads to play them under.
    pub loads: Vec<Load>,
    /// Seeds.
    pub seeds: u64,
    /// How parameters are chosen.
    pub dose: Dose,
    /// Threads.
    pub threads: usize,
    /// Whether runs that went wrong are not listed.
    pub quiet: bool,
    /// Whether runs that went as they should are listed as well.
    pub every_run: bool,
    /// Whether a run that is listed is shown with what its findings rest on.
    pub facts: bool,
    /// Where tables are written.
    pub write: Option<PathBuf>,
    engine: EngineKind,
    against: Against,
}

impl Asked {
    /// Reads arguments.
    ///
    /// # Errors
    /// The first that there is not, or whose value is none.
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut asked = Self {
            faults: catalogue().filter(|spec| registry::by_code_or_slug(spec.symptom).is_some()).collect(),
            checks: Vec::new(),
            severities: Severity::ALL.to_vec(),
            loads: Load::ALL.to_vec(),
            seeds: 3,
            dose: Dose::Declared,
            threads: thread::available_parallelism()?.get(),
            quiet: false,
            every_run: false,
            facts: false,
            write: None,
            engine: EngineKind::Vllm,
            against: Against::Healthy,
        };
        while let Some(name) = arguments.next() {
            if name == "--quiet" {
                asked.quiet = true;
                continue;
            }
            if name == "--every-run" {
                asked.every_run = true;
                continue;
            }
            if name == "--facts" {
                asked.facts = true;
                continue;
            }
            let value = arguments.next().ok_or(format!("{name} needs a value"))?;
            match name.as_str() {
                "--faults" => asked.faults = faults(&value)?,
                "--checks" => asked.checks = value.split(',').map(|code| code.trim().to_uppercase()).collect(),
                "--severities" => asked.severities = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
                "--loads" => asked.loads = value.split(',').map(load).collect::<Result<_, _>>()?,
                "--seeds" => asked.seeds = value.parse()?,
                "--engine" => asked.engine = engine(&value)?,
                "--against" => asked.against = against(&value)?,
                "--random-parameters" => asked.dose = Dose::Random(value.parse()?),
                "--threads" => asked.threads = value.parse()?,
                "--write" => asked.write = Some(value.into()),
                _ => {
                    return Err(format!("unknown argument {name}: the head of the example's main.rs lists them").into());
                }
            }
        }
        Ok(asked)
    }

    /// Where the runs are played.
    pub fn stage(&self, folder: &Path) -> Stage {
        Stage { engine: self.engine, against: self.against, folder: folder.into() }
    }

    /// Whether parameters are drawn.
    pub fn is_random(&self) -> bool {
        matches!(self.dose, Dose::Random(_))
    }
}

fn faults(names: &str) -> Result<Vec<&'static FaultSpec>, String> {
    if names == "all" {
        return Ok(catalogue().collect());
    }
    let mut all = Vec::new();
    for name in names.split(',').map(str::trim) {
        let named = catalogue().filter(|spec| spec.symptom.eq_ignore_ascii_case(name) || spec.slug == name);
        let before = all.len();
        all.extend(named);
        if all.len() == before {
            return Err(format!(
                "no fault and no symptom of a fault is named {name}: firstcheck sim faults lists them"
            ));
        }
    }
    Ok(all)
}

fn load(name: &str) -> Result<Load, String> {
    let named = Load::ALL.into_iter().find(|load| load.name == name.trim());
    named.ok_or_else(|| format!("no load {name}: {}", Load::ALL.map(|load| load.name).join(", ")))
}

fn engine(name: &str) -> Result<EngineKind, String> {
    match name {
        "vllm" => Ok(EngineKind::Vllm),
        "sglang" => Ok(EngineKind::Sglang),
        _ => Err(format!("no engine {name}: vllm, sglang")),
    }
}

fn against(name: &str) -> Result<Against, String> {
    match name {
        "healthy" => Ok(Against::Healthy),
        "nothing" => Ok(Against::Nothing),
        "onset" => Ok(Against::Onset),
        _ => Err(format!("cannot play against {name}: healthy, nothing, onset")),
    }
}
