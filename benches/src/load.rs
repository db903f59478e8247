//! The load generator: so many connections, each sending the same request again and again. It knows just enough HTTP to
//! find the end of an answer, so that it costs little itself.

use std::time::{Duration, Instant};

use clap::Args;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

#[derive(Args)]
pub struct LoadArgs {
    /// `127.0.0.1:8787`
    pub address: String,
    /// A file with the request as it goes over the wire.
    pub request: std::path::PathBuf,
    #[arg(long, default_value_t = 1)]
    pub connections: usize,
    #[arg(long, default_value_t = 1.0)]
    pub seconds: f64,
}

/// What a run came to.
pub struct Loaded {
    pub requests: f64,
    pub seconds: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub errors: f64,
}

impl Loaded {
    pub fn parse(text: &str) -> Self {
        let mut numbers = text.split_whitespace().map(|number| number.parse().expect("a number"));
        let mut next = || numbers.next().expect("five numbers");
        Self { requests: next(), seconds: next(), p50_us: next(), p99_us: next(), errors: next() }
    }
}

pub async fn run(args: &LoadArgs) {
    let request = std::fs::read(&args.request).expect("the request");
    let until = Instant::now() + Duration::from_secs_f64(args.seconds);
    let began = Instant::now();
    let connections =
        (0..args.connections).map(|_| tokio::spawn(one(args.address.clone(), request.clone(), until)));
    let (mut times, mut errors) = (Vec::new(), 0);
    for connection in connections.collect::<Vec<_>>() {
        match connection.await {
            Ok((taken, failed)) => {
                times.extend(taken);
                errors += failed;
            }
            Err(_) => errors += 1,
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let (p50, p99) = (crate::process::percentile(&times, 0.5), crate::process::percentile(&times, 0.99));
    println!("{} {seconds} {p50} {p99} {errors}", times.len());
}

async fn one(address: String, request: Vec<u8>, until: Instant) -> (Vec<f64>, usize) {
    let (mut times, mut errors) = (Vec::new(), 0);
    let mut buffer = Vec::with_capacity(64 * 1024);
    'connect: while Instant::now() < until {
        let Ok(mut stream) = TcpStream::connect(&address).await else {
            errors += 1;
            continue;
        };
        let _ = stream.set_nodelay(true);
        while Instant::now() < until {
            let began = Instant::now();
            if stream.write_all(&request).await.is_err() || !read_answer(&mut stream, &mut buffer).await {
                errors += 1;
                continue 'connect;
            }
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
    }
    (times, errors)
}

/// Whether a whole answer with status 200 came.
async fn read_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    buffer.clear();
    let mut need = None;
    loop {
        if need.is_some_and(|need| buffer.len() >= need) {
            return buffer.starts_with(b"HTTP/1.1 200");
        }
        match stream.read_buf(buffer).await {
            Ok(0) | Err(_) => return false,
            Ok(_) => {}
        }
        if need.is_none()
            && let Some(head) = find(buffer, b"\r\n\r\n")
        {
            let text = String::from_utf8_lossy(&buffer[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let Some(length) = length.and_then(|length| length.trim().parse::<usize>().ok()) else {
                return false;
            };
            need = Some(head + 4 + length);
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
