//! The server of the benchmark: one thread, events at known times or as fast as the sockets take them.

use rustix::{
    buffer::spare_capacity,
    event::epoll,
    fd::OwnedFd,
    net::{self, RecvFlags, SendFlags},
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime},
};
use std::{
    collections::VecDeque,
    error::Error,
    io::Write,
    net::{Ipv4Addr, TcpListener, TcpStream},
    time::{Duration, Instant},
};

/// Time from the request to its first token.
pub const TTFT: Duration = Duration::from_millis(50);
/// Time from token to token.
pub const ITL: Duration = Duration::from_millis(10);

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const WORDS: [&str; 8] = [" the", " deploy", " ment", " serves", " a", " token", " each", " step"];
/// One writing in the fast mode: this many events, rendered once.
const BURST: usize = 256;
const LISTENER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// One event each [`ITL`], the first [`TTFT`] after the request.
    Paced,
    /// As fast as the socket takes them, without end.
    Fast,
}

struct Stream {
    socket: TcpStream,
    request: Vec<u8>,
    id: u64,
    left: u32,
    total: u32,
    due: Instant,
    /// Where in the burst the next byte stands (fast mode).
    offset: usize,
}

fn chunk(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// Each answer has its own id, as a real server's has.
fn delta(id: u64, delta: &str) -> String {
    chunk(&format!(
        r#"{{"id":"chatcmpl-{id:032x}","object":"chat.completion.chunk","created":1764483600,"model":"bench/paced-8b-instruct","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":null}}]}}"#
    ))
}

fn token(id: u64, number: u32) -> String {
    delta(id, &format!(r#"{{"content":"{}"}}"#, WORDS[number as usize % WORDS.len()]))
}

fn opening(id: u64) -> String {
    format!("{HEAD}{}", delta(id, r#"{"role":"assistant","content":""}"#))
}

fn closing(tokens: u32) -> String {
    let finish = r#"{"id":"chatcmpl-5b7c0e1f2a3d4c5e","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
    let usage = format!(
        r#"{{"id":"chatcmpl-5b7c0e1f2a3d4c5e","choices":[],"usage":{{"prompt_tokens":32,"completion_tokens":{tokens}}}}}"#
    );
    format!("{}{}{}0\r\n\r\n", chunk(finish), chunk(&usage), chunk("[DONE]"))
}

/// Serves until the parent closes; prints its port first.
pub fn serve(pace: Pace) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    println!("{}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    // A timer of its own: epoll's time-outs count milliseconds.
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let edge = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&poll, &timer, epoll::EventData::new_u64(TIMER), edge)?;
    let mut streams: Vec<Option<Stream>> = Vec::new();
    // The time between tokens is one for all, so streams come due in the order in which they were put in the queue.
    let (mut first, mut next): (VecDeque<usize>, VecDeque<usize>) = Default::default();
    let burst: String = (0..BURST as u32).map(|number| token(0, number)).collect();
    let mut answers = 0_u64;
    let mut events = Vec::with_capacity(1024);
    loop {
        set(&timer, &streams, &first, &next)?;
        events.clear();
        epoll::wait(&poll, spare_capacity(&mut events), None)?;
        for event in &events {
            let key = event.data.u64();
            if key == TIMER {
                continue;
            }
            if key == LISTENER {
                accept(&listener, &poll, pace, &mut streams)?;
                continue;
            }
            let Some(Some(stream)) = streams.get_mut(key as usize) else { continue };
            match hear(stream) {
                Heard::Request => {
                    stream.due = Instant::now() + TTFT;
                    answers += 1;
                    stream.id = answers.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    send(&stream.socket, opening(stream.id).as_bytes());
                    first.push_back(key as usize);
                }
                Heard::Nothing => {}
                Heard::Closed => streams[key as usize] = None,
            }
            if pace == Pace::Fast
                && let Some(Some(stream)) = streams.get_mut(key as usize)
            {
                pour(stream, burst.as_bytes());
            }
        }
        if pace == Pace::Paced {
            release(&mut streams, &mut first, &mut next);
        }
    }
}

fn due_of(streams: &[Option<Stream>], queue: &VecDeque<usize>) -> Option<Instant> {
    let stream = streams.get(*queue.front()?)?;
    // A closed stream is due at once, to be dropped from its queue.
    Some(stream.as_ref().map_or_else(Instant::now, |stream| stream.due))
}

fn set(
    timer: &OwnedFd,
    streams: &[Option<Stream>],
    first: &VecDeque<usize>,
    next: &VecDeque<usize>,
) -> Result<(), Box<dyn Error>> {
    let Some(due) = [due_of(streams, first), due_of(streams, next)].into_iter().flatten().min() else { return Ok(()) };
    // Zero would disarm the timer.
    let wait = due.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
    let value = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &once)?;
    Ok(())
}

fn accept(
    listener: &TcpListener,
    poll: &OwnedFd,
    pace: Pace,
    streams: &mut Vec<Option<Stream>>,
) -> Result<(), Box<dyn Error>> {
    while let Ok((socket, _)) = listener.accept() {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let flags = match pace {
            Pace::Paced => epoll::EventFlags::IN,
            Pace::Fast => epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET,
        };
        epoll::add(poll, &socket, epoll::EventData::new_u64(streams.len() as u64), flags)?;
        let stream = Stream { socket, request: Vec::new(), id: 0, left: 0, total: 0, due: Instant::now(), offset: 0 };
        streams.push(Some(stream));
    }
    Ok(())
}

enum Heard {
    Request,
    Nothing,
    Closed,
}

/// Reads what came; a request is complete with its body.
fn hear(stream: &mut Stream) -> Heard {
    let mut buffer = [0_u8; 16 << 10];
    match net::recv(&stream.socket, &mut buffer, RecvFlags::DONTWAIT) {
        Ok((0, _)) => return Heard::Closed,
        Ok((length, _)) => stream.request.extend_from_slice(&buffer[..length]),
        Err(rustix::io::Errno::WOULDBLOCK) => return Heard::Nothing,
        Err(_) => return Heard::Closed,
    }
    let Some(head) = find(&stream.request, b"\r\n\r\n") else { return Heard::Nothing };
    let length = number_after(&stream.request, b"content-length: ").unwrap_or(0) as usize;
    if stream.request.len() < head + 4 + length {
        return Heard::Nothing;
    }
    stream.total = number_after(&stream.request, b"\"max_tokens\":").unwrap_or(1);
    stream.left = stream.total;
    stream.request.clear();
    Heard::Request
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, what)
}

fn number_after(bytes: &[u8], what: &[u8]) -> Option<u32> {
    let rest = &bytes[find(bytes, what)? + what.len()..];
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

fn send(socket: &TcpStream, bytes: &[u8]) -> usize {
    net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).unwrap_or(0)
}

/// Fast mode: writes bursts until the socket is full.
fn pour(stream: &mut Stream, burst: &[u8]) {
    while stream.left > 0 {
        let sent = send(&stream.socket, &burst[stream.offset..]);
        if sent == 0 {
            return;
        }
        stream.offset = (stream.offset + sent) % burst.len();
    }
}

/// Paced mode: sends each token that is due.
fn release(streams: &mut [Option<Stream>], first: &mut VecDeque<usize>, next: &mut VecDeque<usize>) {
    loop {
        let now = Instant::now();
        let mut queues = [&mut *first, &mut *next];
        queues.sort_by_key(|queue| due_of(streams, queue).unwrap_or(now + TTFT));
        let queue = &mut queues[0];
        if due_of(streams, queue).is_none_or(|due| due > now) {
            return;
        }
        let Some(key) = queue.pop_front() else { return };
        let Some(Some(stream)) = streams.get_mut(key) else { continue };
        send(&stream.socket, token(stream.id, stream.left).as_bytes());
        stream.left -= 1;
        if stream.left == 0 {
            send(&stream.socket, closing(stream.total).as_bytes());
        } else {
            stream.due += ITL;
            next.push_back(key);
        }
    }
}
