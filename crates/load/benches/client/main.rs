//! What the client costs, side by side with the least that any client can cost.
//!
//! `cargo bench -p firstcheck-load` starts a server in a process of its own on one core, and on another core first the
//! floor and then the client, each in a process of its own: CPU is all that process used inside the window. Three loads:
//! 512 and 1,024 streams of 10 ms tokens, and 16 streams as fast as they go.

mod cpu;
mod floor;
mod ours;
mod server;

use cpu::Figures;
use std::{
    error::Error,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

const SERVER_CORE: usize = 1;
const CLIENT_CORE: usize = 0;

/// One load that both clients are put under.
struct Load {
    name: &'static str,
    pace: &'static str,
    streams: usize,
    tokens: u32,
    /// Rows of the client's trace: more than it can use up.
    requests: usize,
}

const LOADS: [Load; 3] = [
    Load { name: "paced-512", pace: "paced", streams: 512, tokens: 128, requests: 40_000 },
    Load { name: "paced-1024", pace: "paced", streams: 1024, tokens: 128, requests: 40_000 },
    Load { name: "fast-16", pace: "fast", streams: 16, tokens: 100_000_000, requests: 100 },
];
/// Runs of each client under each load.
const REPEATS: usize = 3;
const WARM_UP: Duration = Duration::from_secs(2);
const WINDOW: Duration = Duration::from_secs(8);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", pace] => {
            cpu::pin(SERVER_CORE)?;
            server::serve(if *pace == "fast" { server::Pace::Fast } else { server::Pace::Paced })
        }
        ["measure", client, load, port] => {
            cpu::pin(CLIENT_CORE)?;
            let load = LOADS.iter().find(|l| l.name == *load).ok_or("no such load")?;
            let figures = measure(client, load, port.parse()?)?;
            println!("{}", serde_json::to_string(&figures)?);
            Ok(())
        }
        // Cargo passes `--bench`; a bare word selects the loads whose names hold it.
        words => compare(words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("")),
    }
}

fn measure(client: &str, load: &Load, port: u16) -> Result<Figures, Box<dyn Error>> {
    match client {
        "floor" => floor::run(&floor::Task {
            port,
            streams: load.streams,
            tokens: load.tokens,
            warm_up: WARM_UP,
            window: WINDOW,
            times: load.pace == "paced",
        }),
        "firstcheck" => ours::run_client(&ours::Task {
            port,
            streams: load.streams,
            tokens: load.tokens,
            requests: load.requests,
            warm_up: WARM_UP,
            window: WINDOW,
        }),
        _ => Err("no such client".into()),
    }
}

fn compare(filter: &str) -> Result<(), Box<dyn Error>> {
    println!(
        "{:<12} {:<12} {:>12} {:>10} {:>9} {:>9} {:>9} {:>14}  notes",
        "load", "client", "events/s", "CPU us/ev", "x floor", "ITL p50", "TTFT p50", "events/CPU-s"
    );
    for load in LOADS.iter().filter(|load| load.name.contains(filter)) {
        // By turns, so that both see the same neighbours on this machine.
        let (mut floors, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let floor = in_own_process("floor", load)?;
            let client = in_own_process("firstcheck", load)?;
            ratios.push(client.cpu_us() / floor.cpu_us());
            floors.push(floor);
            ours.push(client);
        }
        ratios.sort_by(f64::total_cmp);
        row(load, "floor", 1.0, &median(floors), "");
        let range = format!("x {:.2} to {:.2}, ", ratios[0], ratios[REPEATS - 1]);
        row(load, "firstcheck", ratios[REPEATS / 2], &median(ours), &range);
    }
    println!("truth: ITL {:.0} ms, TTFT {:.0} ms", server::ITL.as_secs_f64() * 1e3, server::TTFT.as_secs_f64() * 1e3);
    println!(
        "medians of {REPEATS} runs by turns, {} s each after {} s of warm-up",
        WINDOW.as_secs(),
        WARM_UP.as_secs()
    );
    Ok(())
}

/// The run whose CPU an event is the median.
fn median(mut runs: Vec<Figures>) -> Figures {
    runs.sort_by(|a, b| a.cpu_us().total_cmp(&b.cpu_us()));
    runs.swap_remove(REPEATS / 2)
}

fn row(load: &Load, client: &str, ratio: f64, figures: &Figures, range: &str) {
    let milliseconds = |s: Option<f64>| s.map_or("-".to_owned(), |s| format!("{:.2}", s * 1e3));
    println!(
        "{:<12} {:<12} {:>12.0} {:>10.3} {:>9.2} {:>9} {:>9} {:>14.0}  {range}{}",
        load.name,
        client,
        figures.events as f64 / figures.elapsed.as_secs_f64(),
        figures.cpu_us(),
        ratio,
        milliseconds(figures.itl_p50),
        milliseconds(figures.ttft_p50),
        figures.per_cpu_second(),
        figures.notes,
    );
}

/// A server process that ends with the benchmark.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        if self.0.kill().is_ok() {
            self.0.wait().ok();
        }
    }
}

fn in_own_process(client: &str, load: &Load) -> Result<Figures, Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let child = Command::new(&own).args(["serve", load.pace]).stdout(Stdio::piped()).spawn()?;
    let mut server = Server(child);
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().ok_or("no output of the server")?).read_line(&mut port)?;
    let output =
        Command::new(&own).args(["measure", client, load.name, port.trim()]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the {client} client failed: {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
