//! What the stack of a process shows it to be doing.

use super::entered::{COLLECTIVES, spelled};
use firstcheck_model::{
    hang::{Activity, StackDump, StackFrame, ThreadStack},
    measurement::Source,
};

/// What a process is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// It is inside a collective, in one spelling.
    Collective(String),
    /// It waits for another rank's message.
    Receive,
    /// It waits for a message of its leader or its workers: a queue, a socket.
    Queue,
    /// It builds or loads code for the device.
    Compile,
    /// It waits for the device.
    Device,
    /// Anything else: host code.
    Host,
}

/// Where a process stood.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// What it was doing.
    pub doing: Doing,
    /// The frame that tells it, as `function (file:line)`.
    pub frame: String,
    /// Whether it ran; `None`: the dump does not tell.
    pub active: Option<bool>,
    /// Where the dump begins.
    pub source: Source,
}

/// Frames from the innermost in which it is looked for what a thread does: further out stands what every step goes through.
const LOOKED_AT: usize = 8;

/// Functions with the part of their file by which a thread tells what it does. An empty part: wherever it stands.
const TELLING: [(Told, &str, &[&str]); 6] = [
    // A build that another process locks is not a build.
    (Told::Host, "file_baton.py", &["wait", "acquire"]),
    (Told::Host, "filelock/", &["acquire", "wait"]),
    (Told::Receive, "distributed_c10d.py", &["recv", "irecv", "recv_object_list", "recv_object"]),
    (Told::Receive, "parallel_state.py", &["recv", "recv_object", "recv_tensor_dict"]),
    (Told::Queue, "", &["acquire_read", "dequeue", "get_response", "recv_multipart", "recv_pyobj", "epoll_wait"]),
    (Told::Queue, "queue", &["get", "poll", "_poll"]),
];

/// More of them, by the file alone.
const TELLING_FILES: [(Told, &str); 16] = [
    (Told::Queue, "zmq/"),
    (Told::Queue, "selectors.py"),
    (Told::Compile, "triton/compiler"),
    (Told::Compile, "triton/backends"),
    (Told::Compile, "_inductor/compile_fx"),
    (Told::Compile, "_inductor/async_compile"),
    (Told::Compile, "_inductor/codegen"),
    (Told::Compile, "_inductor/graph.py"),
    (Told::Compile, "_inductor/scheduler.py"),
    (Told::Compile, "_dynamo/convert_frame"),
    (Told::Compile, "_dynamo/symbolic_convert"),
    (Told::Compile, "utils/cpp_extension.py"),
    (Told::Compile, "flashinfer/jit"),
    (Told::Compile, "deep_gemm/jit"),
    (Told::Compile, "libnvrtc"),
    (Told::Compile, "libcudnn"),
];

/// Parts of native functions.
const TELLING_NATIVE: [(Told, &str); 10] = [
    (Told::Compile, "cuModuleLoad"),
    (Told::Compile, "cuLibraryLoad"),
    (Told::Compile, "nvrtcCompile"),
    (Told::Compile, "ptxas"),
    (Told::Compile, "make_cubin"),
    (Told::Compile, "_do_compile"),
    (Told::Device, "cudaStreamSynchronize"),
    (Told::Device, "cudaDeviceSynchronize"),
    (Told::Device, "cudaEventSynchronize"),
    (Told::Device, "cuStreamSynchronize"),
];

/// Files whose functions are collectives.
const COLLECTIVE_FILES: [&str; 5] =
    ["distributed_c10d.py", "pynccl.py", "custom_all_reduce.py", "quick_all_reduce.py", "symm_mem.py"];

/// A collective whose kind no frame tells.
const UNNAMED: &str = "collective";

#[derive(Clone, Copy)]
enum Told {
    Host,
    Receive,
    Queue,
    Compile,
    Device,
}

impl From<Told> for Doing {
    fn from(told: Told) -> Self {
        match told {
            Told::Host => Self::Host,
            Told::Receive => Self::Receive,
            Told::Queue => Self::Queue,
            Told::Compile => Self::Compile,
            Told::Device => Self::Device,
        }
    }
}

impl Standing {
    /// What the dump of a process shows; `None` for one without frames. The main thread decides, unless another one is
    /// inside a collective: some backends run them in threads of their own.
    pub(super) fn of(label: &str, dump: &StackDump) -> Option<Self> {
        let main = dump.threads.iter().find(|thread| thread.name.as_deref() == Some("MainThread"));
        // gdb lists the first thread last.
        let main = main.or_else(|| dump.threads.iter().rev().find(|thread| !thread.frames.is_empty()))?;
        let of_thread = |thread: &ThreadStack| {
            let (doing, frame) = doing(&thread.frames)?;
            let active = thread.activity.map(|activity| activity == Activity::Active);
            Some(Self { doing, frame: words(frame), active, source: Source::line(label, dump.line) })
        };
        let of_main = of_thread(main)?;
        if matches!(of_main.doing, Doing::Host | Doing::Device) {
            let mut others = dump.threads.iter().filter_map(of_thread);
            if let Some(inside) = others.find(|standing| matches!(standing.doing, Doing::Collective(_))) {
                return Some(inside);
            }
        }
        Some(of_main)
    }
}

/// What a thread does and the frame that tells it: the innermost that tells anything, else the innermost of Python that is
/// not the wait itself.
fn doing(frames: &[StackFrame]) -> Option<(Doing, &StackFrame)> {
    let looked_at = || frames.iter().filter(|frame| !is_plumbing(frame)).take(LOOKED_AT);
    let telling = || looked_at().filter_map(|frame| Some((told(frame)?, frame)));
    let first = telling().next();
    // A wait for some collective stands further in than its name.
    let named = || telling().find(|(doing, _)| matches!(doing, Doing::Collective(operation) if operation != UNNAMED));
    if matches!(&first, Some((Doing::Collective(operation), _)) if operation == UNNAMED) {
        return named().or(first);
    }
    let python = |frame: &&StackFrame| frame.file.as_deref().is_some_and(|file| file.ends_with(".py"));
    let waits = |frame: &StackFrame| frame.file.as_deref().is_some_and(|file| file.ends_with("threading.py"));
    let innermost = || looked_at().find(|frame| python(frame) && !waits(frame)).or_else(|| looked_at().find(python));
    first.or_else(|| Some((Doing::Host, innermost().or_else(|| frames.first())?)))
}

/// Frames of the interpreter and of bindings between Python and C++: they stand in every stack.
fn is_plumbing(frame: &StackFrame) -> bool {
    let function = frame.function.as_str();
    ["_PyEval", "_PyObject", "PyObject", "pybind11", "0x", "??"].iter().any(|start| function.starts_with(start))
}

fn told(frame: &StackFrame) -> Option<Doing> {
    let file = frame.file.as_deref().unwrap_or_default();
    let function = frame.function.split('(').next().unwrap_or_default();
    let last = function.rsplit("::").next().unwrap_or_default();
    let by_function = TELLING.iter().find(|(_, part, functions)| file.contains(part) && functions.contains(&last));
    if let Some((told, ..)) = by_function {
        return Some((*told).into());
    }
    if let Some(operation) = collective(file, function, last) {
        return Some(Doing::Collective(operation));
    }
    let by_file = TELLING_FILES.iter().find(|(_, part)| file.contains(part)).map(|(told, _)| *told);
    let native = || TELLING_NATIVE.iter().find(|(_, part)| function.contains(part)).map(|(told, _)| *told);
    let synchronises = last == "synchronize" && file.contains("torch/");
    by_file.or_else(native).or_else(|| synchronises.then_some(Told::Device)).map(Doing::from)
}

/// The operation of a frame that is a collective's.
fn collective(file: &str, function: &str, last: &str) -> Option<String> {
    let native =
        function.starts_with("nccl") || function.starts_with("gloo::") || function.contains("ProcessGroupNCCL");
    let known = COLLECTIVE_FILES.iter().any(|part| file.ends_with(part));
    let operation = spelled(last);
    if (native || known) && COLLECTIVES.contains(&operation.as_str()) {
        return Some(operation);
    }
    // Which one a wait is for stands further out, or is not told.
    (function.starts_with("c10d::Work::wait") || function.ends_with("WorkNCCL::synchronize")).then(|| UNNAMED.into())
}

fn words(frame: &StackFrame) -> String {
    let place = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        (None, _) => String::new(),
    };
    format!("{}{place}", frame.function)
}
