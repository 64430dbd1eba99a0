//! The floor: the least that a client of event streams can do.
//!
//! One thread, epoll, a receive buffer of 64 KiB, one clock read a receive; chunks and lines are split and `data:` lines
//! counted, no JSON is read. The clock starts when all connections are up and their backlog is drained.

use crate::{
    cpu::{self, Figures},
    ours::RAMP,
};
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
    net::{self, RecvFlags, SendFlags},
};
use std::{
    error::Error,
    net::{Ipv4Addr, TcpStream},
    time::{Duration, Instant},
};

const BUFFER: usize = 64 << 10;
/// Resolution and reach of the gap histogram: 5 µs up to 100 ms.
const GAP_NS: u64 = 5_000;
const GAPS: usize = 20_000;

struct Stream {
    socket: TcpStream,
    /// The part of a chunk whose rest has not come yet.
    carry: Vec<u8>,
    in_body: bool,
    sent: Instant,
    last: Instant,
    /// Events of the present answer.
    seen: u32,
}

/// How the floor is driven.
pub struct Task {
    pub port: u16,
    pub streams: usize,
    pub tokens: u32,
    pub warm_up: Duration,
    pub window: Duration,
    /// Whether gaps and first tokens are kept (paced mode).
    pub times: bool,
}

/// Offers a closed loop of `task.streams` and measures inside the window.
pub fn run(task: &Task) -> Result<Figures, Box<dyn Error>> {
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],"stream":true,"max_tokens":{}}}"#,
        task.tokens
    );
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut streams = Vec::with_capacity(task.streams);
    for key in 0..task.streams {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, task.port))?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        epoll::add(&poll, &socket, epoll::EventData::new_u64(key as u64), epoll::EventFlags::IN)?;
        let now = Instant::now();
        streams.push(Stream { socket, carry: Vec::new(), in_body: false, sent: now, last: now, seen: 0 });
    }
    let start = Instant::now();
    let mut asked = 0;
    let (from, until) = (start + task.warm_up, start + task.warm_up + task.window);
    let mut counted = Counts { gaps: if task.times { vec![0; GAPS] } else { Vec::new() }, ..Counts::default() };
    let mut before = None;
    let mut events = Vec::with_capacity(1024);
    let mut buffer = vec![0_u8; 2 * BUFFER];
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        // The streams start spread over the period of an answer, as the client's do; to the microsecond, hence the polling.
        let due = (start.elapsed().as_secs_f64() / RAMP.as_secs_f64() * task.streams as f64) as usize + 1;
        while asked < due.min(task.streams) {
            ask(&mut streams[asked], request.as_bytes())?;
            asked += 1;
        }
        let patience = if asked < task.streams { &at_once } else { &second };
        events.clear();
        epoll::wait(&poll, spare_capacity(&mut events), Some(patience))?;
        for event in &events {
            let stream = &mut streams[event.data.u64() as usize];
            let carried = stream.carry.len();
            buffer[..carried].copy_from_slice(&stream.carry);
            let space = &mut buffer[carried..carried + BUFFER];
            let Ok((length, _)) = net::recv(&stream.socket, space, RecvFlags::DONTWAIT) else { continue };
            if length == 0 {
                return Err("the server closed".into());
            }
            let now = Instant::now();
            let fed = feed(stream, &buffer[..carried + length], now, &mut counted);
            stream.carry.clear();
            stream.carry.extend_from_slice(&buffer[fed.consumed..carried + length]);
            if fed.done {
                ask(stream, request.as_bytes())?;
            }
        }
        let now = Instant::now();
        if before.is_none() && now >= from {
            counted = Counts { gaps: vec![0; counted.gaps.len()], ..Counts::default() };
            before = Some((now, cpu::used()));
        }
        if let Some((began, cpu_before)) = before
            && now >= until
        {
            return Ok(counted.figures(now - began, cpu::used() - cpu_before));
        }
    }
}

fn ask(stream: &mut Stream, request: &[u8]) -> Result<(), Box<dyn Error>> {
    stream.in_body = false;
    stream.seen = 0;
    stream.sent = Instant::now();
    let sent = net::send(&stream.socket, request, SendFlags::NOSIGNAL)?;
    if sent == request.len() { Ok(()) } else { Err("the request was sent in part".into()) }
}

#[derive(Default)]
struct Counts {
    events: u64,
    gaps: Vec<u64>,
    first: Vec<u64>,
}

impl Counts {
    fn figures(mut self, elapsed: Duration, cpu: Duration) -> Figures {
        self.first.sort_unstable();
        let total: u64 = self.gaps.iter().sum();
        let mut seen = 0;
        let median = self.gaps.iter().position(|n| {
            seen += n;
            total > 0 && seen * 2 >= total
        });
        Figures {
            events: self.events,
            elapsed,
            cpu,
            itl_p50: median.map(|bucket| (bucket as f64 + 0.5) * GAP_NS as f64 * 1e-9),
            ttft_p50: self.first.get(self.first.len() / 2).map(|ns| *ns as f64 * 1e-9),
            notes: String::new(),
        }
    }
}

struct Fed {
    consumed: usize,
    done: bool,
}

/// Splits chunks and lines and counts `data:` lines; an incomplete chunk is left.
fn feed(stream: &mut Stream, bytes: &[u8], now: Instant, counts: &mut Counts) -> Fed {
    let mut at = 0;
    if !stream.in_body {
        let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else { return Fed { consumed: 0, done: false } };
        at = end + 4;
        stream.in_body = true;
    }
    while let Some(line) = memchr::memchr(b'\n', &bytes[at..]) {
        let size = bytes[at..at + line].iter().take_while(|b| b.is_ascii_hexdigit());
        let size = size.fold(0_usize, |size, b| size * 16 + (*b as char).to_digit(16).unwrap_or(0) as usize);
        let data = at + line + 1;
        if bytes.len() < data + size + 2 {
            break;
        }
        at = data + size + 2;
        if size == 0 {
            return Fed { consumed: at, done: true };
        }
        let mut rest = &bytes[data..data + size];
        while let Some(end) = memchr::memchr(b'\n', rest) {
            if rest[..end].starts_with(b"data:") {
                counts.events += 1;
                time(stream, now, counts);
            }
            rest = &rest[end + 1..];
        }
    }
    Fed { consumed: at, done: false }
}

/// Keeps the gap of an event: the first event of a stream is its role, the second its first token.
#[inline]
fn time(stream: &mut Stream, now: Instant, counts: &mut Counts) {
    if counts.gaps.is_empty() {
        return;
    }
    match stream.seen {
        0 => {}
        1 => counts.first.push((now - stream.sent).as_nanos() as u64),
        _ => {
            let gap = (now - stream.last).as_nanos() as u64 / GAP_NS;
            counts.gaps[(gap as usize).min(GAPS - 1)] += 1;
        }
    }
    stream.seen += 1;
    stream.last = now;
}
