//! A plain HTTP/1.1 client: one connection a request, read to its end.

use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// Longest wait for a byte: a test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The JSON of each event of a stream; the last must be `[DONE]`.
    pub fn events(&self) -> Vec<Value> {
        let mut data: Vec<&str> = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        assert_eq!(data.pop(), Some("[DONE]"));
        data.into_iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }
}

pub fn open(addr: SocketAddr, method: &str, path: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(body.as_bytes()).unwrap();
    socket
}

pub fn send(addr: SocketAddr, method: &str, path: &str, body: &str) -> Reply {
    read(open(addr, method, path, body))
}

pub fn post(addr: SocketAddr, path: &str, body: &Value) -> Reply {
    send(addr, "POST", path, &body.to_string())
}

pub fn get(addr: SocketAddr, path: &str) -> Reply {
    send(addr, "GET", path, "")
}

pub fn read(socket: TcpStream) -> Reply {
    let mut reader = BufReader::new(socket);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "the head is cut: {head:?}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = String::new();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        read_chunks(&mut reader, &mut body);
    } else {
        reader.read_to_string(&mut body).unwrap();
    }
    Reply { status, head, body }
}

fn read_chunks(reader: &mut impl BufRead, body: &mut String) {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).expect("a chunk length");
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk).unwrap();
        if length == 0 {
            return;
        }
        body.push_str(std::str::from_utf8(&chunk[..length]).unwrap());
    }
}

/// The value of a series of the metrics page, by name and part of its labels.
pub fn metric(addr: SocketAddr, name: &str, label: &str) -> f64 {
    let page = get(addr, "/metrics").body;
    let line = page.lines().find(|line| line.starts_with(&format!("{name}{{")) && line.contains(label));
    line.unwrap_or_else(|| panic!("no {name}")).rsplit(' ').next().unwrap().parse().unwrap()
}
