//! A server that does to each request what a test tells it to.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// What the server does with a connection, in order.
#[derive(Debug, Clone)]
pub enum Act {
    /// Writes these bytes at once.
    Write(Vec<u8>),
    /// Writes these bytes again and again until the client goes.
    Repeat(Vec<u8>),
    /// Closes the connection in good order.
    Close,
    /// Breaks the connection off with a reset.
    Reset,
    /// Does nothing until the client goes.
    Hang,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    /// Number of the connection, from 0.
    pub connection: usize,
    /// Request line and headers.
    pub head: String,
    /// The body.
    pub body: serde_json::Value,
}

impl Received {
    /// The value of the header `name`, which is written in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

type Script = dyn Fn(&Received, usize) -> Vec<Act> + Send + Sync;

/// A server on a free port of the loopback. Its threads end with their connections.
pub struct Server {
    pub address: SocketAddr,
    pub received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// A server that follows `script`, which is given each POST request and its number.
    pub fn start(script: impl Fn(&Received, usize) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (script, log): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&received));
        thread::spawn(move || {
            for (number, socket) in listener.incoming().enumerate() {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                thread::spawn(move || serve(socket.unwrap(), number, &script, &log));
            }
        });
        Self { address, received }
    }

    /// A server that answers each request with the same bytes and then keeps the connection.
    pub fn answering(bytes: Vec<u8>) -> Self {
        Self::start(move |_, _| vec![Act::Write(bytes.clone())])
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The POST requests so far.
    pub fn posts(&self) -> Vec<Received> {
        self.received.lock().unwrap().iter().filter(|r| r.head.starts_with("POST")).cloned().collect()
    }
}

fn serve(mut socket: TcpStream, connection: usize, script: &Arc<Script>, log: &Arc<Mutex<Vec<Received>>>) {
    while let Some(request) = read_request(&mut socket, connection) {
        let number = {
            let mut log = log.lock().unwrap();
            log.push(request.clone());
            log.iter().filter(|request| request.head.starts_with("POST")).count().saturating_sub(1)
        };
        if request.head.starts_with("GET") {
            let body = page(&request.head);
            let status = if body.is_empty() { "404 Not Found" } else { "200 OK" };
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
            if socket.write_all((head + body).as_bytes()).is_err() {
                return;
            }
            continue;
        }
        for act in script(&request, number) {
            match act {
                Act::Write(bytes) => {
                    if socket.write_all(&bytes).is_err() {
                        return;
                    }
                }
                Act::Repeat(bytes) => while socket.write_all(&bytes).is_ok() {},
                Act::Close => return,
                Act::Reset => {
                    rustix::net::sockopt::set_socket_linger(&socket, Some(std::time::Duration::ZERO)).unwrap();
                    return;
                }
                Act::Hang => {
                    // Ends when the client closes.
                    let mut rest = Vec::new();
                    drop(socket.read_to_end(&mut rest));
                    return;
                }
            }
        }
    }
}

fn page(head: &str) -> &'static str {
    if head.starts_with("GET /metrics ") {
        "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"m\"} 1\n\
         # TYPE vllm:num_preemptions counter\nvllm:num_preemptions_total{model_name=\"m\"} 3\n"
    } else if head.starts_with("GET /v1/models ") {
        r#"{"object":"list","data":[{"id":"served-model","object":"model","max_model_len":4096}]}"#
    } else if head.starts_with("GET /version ") {
        r#"{"version":"0.32.0"}"#
    } else {
        ""
    }
}

fn read_request(socket: &mut TcpStream, connection: usize) -> Option<Received> {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 4096];
    let end = loop {
        if let Some(at) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            break at + 4;
        }
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let length: usize = length.unwrap_or(0);
    while bytes.len() < end + length {
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
    let body = serde_json::from_slice(&bytes[end..]).unwrap_or(serde_json::Value::Null);
    Some(Received { connection, head, body })
}

/// The head of a chunked event stream.
pub const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// One chunk.
pub fn chunk(data: impl AsRef<[u8]>) -> Vec<u8> {
    let data = data.as_ref();
    [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
}

/// One event with `data`, in a chunk of its own.
pub fn event(data: &str) -> Vec<u8> {
    chunk(format!("data: {data}\n\n"))
}

/// A chat event with this delta.
pub fn delta(delta: &str) -> Vec<u8> {
    event(&format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#))
}

/// A chat event with this text.
pub fn text(text: &str) -> Vec<u8> {
    delta(&format!(r#"{{"content":{}}}"#, serde_json::to_string(text).unwrap()))
}

/// The event that says why generation ended.
pub fn finish(reason: &str) -> Vec<u8> {
    event(&format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#))
}

/// The event with token counts.
pub fn usage(prompt: u32, output: u32) -> Vec<u8> {
    event(&format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{output}}}}}"#))
}

/// `[DONE]` and the end of the body.
pub fn done() -> Vec<u8> {
    [event("[DONE]"), b"0\r\n\r\n".to_vec()].concat()
}

/// A whole stream of `tokens` tokens, as a server sends it.
pub fn stream(tokens: u32) -> Vec<u8> {
    let mut bytes = STREAM.as_bytes().to_vec();
    bytes.extend(delta(r#"{"role":"assistant","content":""}"#));
    for _ in 0..tokens {
        bytes.extend(text(" word"));
    }
    bytes.extend(finish("length"));
    bytes.extend(usage(7, tokens));
    bytes.extend(done());
    bytes
}
