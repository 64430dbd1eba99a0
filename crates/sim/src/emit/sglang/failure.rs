//! How a start of SGLang that fails ends.

use crate::{
    config::EngineConfig,
    memory::{Failure, GIB, start::Phase},
};

/// How far a start has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Its command line is read.
    Parsing,
    /// Its arguments are known and checked.
    Called,
    /// Ranks load the weights.
    Loading,
    /// They have.
    Loaded,
    /// The pool is there, and graphs are captured.
    Capturing,
    /// They are.
    Captured,
    /// The server answers.
    Ready,
}

/// A part of the last words.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    /// A line of the log, of a rank or of the parent.
    Line(Option<u32>, String),
    /// Text without the log's beginning of a line.
    Bare(String),
}

/// The end of a start that fails.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ending {
    /// The stage after which it comes.
    pub(super) after: Stage,
    /// The last words.
    pub(super) told: Vec<Told>,
}

/// What both a pool without room and one beside others' memory come to: there is no check of what is free before.
const NO_ROOM: &str = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.";

impl Ending {
    /// `None`: the pool is the one that is stated, so that it fits is not worked out.
    pub(super) fn of(config: &EngineConfig, failure: &Failure) -> Option<Self> {
        let raised = |after, gpu: u32, exception: String| Self { after, told: raised(gpu, &exception) };
        Some(match failure {
            Failure::UnknownArgument(argument) => {
                let usage = "usage: launch_server.py [-h] --model-path MODEL_PATH ...";
                let text = format!("{usage}\nlaunch_server.py: error: unrecognized arguments: {argument}\n");
                Self { after: Stage::Parsing, told: vec![Told::Bare(text)] }
            }
            Failure::LongerThanModel { asked, allowed } => {
                let frame = "  File \"/usr/lib/python3/site-packages/sglang/srt/configs/model_config.py\", line 337, in \
                             _derive_context_length\n    raise ValueError(";
                let error = format!(
                    "ValueError: Warning: User-specified context_length ({asked}) is greater than the derived \
                     context_length ({allowed}). This may lead to incorrect model outputs or CUDA errors."
                );
                let text = format!("Traceback (most recent call last):\n{frame}\n{error}\n");
                Self { after: Stage::Called, told: vec![Told::Bare(text)] }
            }
            Failure::Killed { .. } => Self { after: Stage::Loading, told: vec![Told::Bare(parent(-9))] },
            Failure::NotFree { gpu } => raised(Stage::Loaded, *gpu, NO_ROOM.into()),
            Failure::OutOfMemory { gpu, phase, tried, free } => {
                let after = match phase {
                    Phase::Load => Stage::Loading,
                    Phase::Profile | Phase::Allocate => Stage::Loaded,
                    Phase::Capture => Stage::Capturing,
                    Phase::Sampler => Stage::Captured,
                };
                let total = config.memory.gpu_gib;
                let exception = format!(
                    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {:.2} GiB. GPU {gpu} has a total \
                     capacity of {total:.2} GiB of which {:.2} GiB is free.",
                    tried / GIB,
                    free / GIB
                );
                raised(after, *gpu, exception)
            }
            Failure::NoKv { .. } | Failure::TooLittleKv { .. } => return None,
        })
    }
}

/// An exception in the scheduler of a rank, and what its parent makes of it.
fn raised(rank: u32, exception: &str) -> Vec<Told> {
    let frame = "  File \"/usr/lib/python3/site-packages/sglang/srt/managers/scheduler.py\", line 4630, in \
                 run_scheduler_process\n    scheduler = Scheduler(";
    let text = format!("Scheduler hit an exception: Traceback (most recent call last):\n{frame}\n{exception}\n");
    let child = "Received sigquit from a child process. It usually means the child failed.";
    vec![Told::Line(Some(rank), text), Told::Line(None, child.into()), Told::Bare(parent(-3))]
}

/// What the parent raises when a rank is gone.
fn parent(exit: i32) -> String {
    let frame = "  File \"/usr/lib/python3/site-packages/sglang/srt/entrypoints/engine.py\", line 1305, in \
                 _wait_for_scheduler_ready\n    raise RuntimeError(";
    let error = format!(
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: {exit}). If exit code is -9 (SIGKILL), a \
         common cause is the OS OOM killer."
    );
    format!("Traceback (most recent call last):\n{frame}\n{error}\n")
}
