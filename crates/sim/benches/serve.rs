//! CPU time of the server's thread a streamed token, while clients of the same process read as fast as tokens come:
//! `cargo bench -p firstcheck-sim --features serve --bench serve` (Linux).

use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::Instant,
};

const STREAMS: usize = 300;
const TOKENS: usize = 500;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start(EngineConfig::default(), ServeOptions::default())?;
    let addr = server.addr();
    let (began, before) = (Instant::now(), cpu_seconds());
    let clients: Vec<_> = (0..STREAMS).map(|number| thread::spawn(move || read_stream(addr, number))).collect();
    let mut events = 0;
    for client in clients {
        events += client.join().map_err(|_| "a client panicked")??;
    }
    let wall = began.elapsed().as_secs_f64();
    println!("{STREAMS} streams of {TOKENS} tokens: {events} events in {wall:.2} s");
    if let (Some(before), Some(after)) = (before, cpu_seconds()) {
        let cpu = after - before;
        println!(
            "server: {cpu:.2} CPU s, {:.1} us an event, {:.0} % of a core",
            cpu / events as f64 * 1e6,
            cpu / wall * 100.0
        );
    }
    server.shutdown()?;
    Ok(())
}

fn read_stream(addr: SocketAddr, number: usize) -> std::io::Result<usize> {
    let body = format!(r#"{{"prompt":[{number},2,3],"max_tokens":{TOKENS},"ignore_eos":true,"stream":true}}"#);
    let mut socket = TcpStream::connect(addr)?;
    let head = "POST /v1/completions HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-length";
    write!(socket, "{head}: {}\r\n\r\n{body}", body.len())?;
    let (mut buffer, mut events) = (vec![0; 65536], 0);
    loop {
        let read = socket.read(&mut buffer)?;
        if read == 0 {
            return Ok(events);
        }
        events += buffer[..read].windows(6).filter(|window| window == b"data: ").count();
    }
}

/// CPU time of the server's thread so far, where the system tells it.
fn cpu_seconds() -> Option<f64> {
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let path = task.ok()?.path();
        if std::fs::read_to_string(path.join("comm")).ok()?.trim() == "sim-serve" {
            let stat = std::fs::read_to_string(path.join("stat")).ok()?;
            // User and system time are the 14th and 15th field, in hundredths of a second; the name, which could hold
            // spaces, ends with the last parenthesis and is the second.
            let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
            let ticks: f64 = fields.get(11..13)?.iter().filter_map(|field| field.parse::<f64>().ok()).sum();
            return Some(ticks / 100.0);
        }
    }
    None
}
