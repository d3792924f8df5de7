//! How long a user of a very large report waits, in a real browser:
//! `cargo run --release -p coz-rs-plot --example report_speed [LINES LEVELS]` (1000 and 20).

#[path = "../tests/simulation/mod.rs"]
#[allow(dead_code, reason = "others need more of it")]
mod simulation;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use coz_rs_plot::estimates::analyse;
use coz_rs_plot::html::report;
use coz_rs_plot::record::Record;
use coz_rs_plot::source_text::Excerpt;
use simulation::{Line, Program};

const DRIVER: &str = include_str!("report_speed.js");
/// How long the browser may take for all of it.
const LONGEST: Duration = Duration::from_secs(90);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let lines = numbers.next().unwrap_or(Ok(1000))?;
    let levels = numbers.next().unwrap_or(Ok(20))?;
    let begin = Instant::now();
    let page = page(lines, levels);
    let made = begin.elapsed().as_millis();
    let size = page.len() / 1000;
    println!("{lines} lines at {levels} levels: a report of {size} kB, made in {made} ms");
    let empty = report(&analyse(&[]), &mut |_, _| None).len() / 1000;
    println!("an empty report has {empty} kB");

    let folder = std::env::temp_dir().join(format!("coz-rs-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("report.html");
    std::fs::write(&file, driven(&page).ok_or("the page has no policy")?)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let to = format!("http://{}/", listener.local_addr()?);
    let child = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .arg("--window-size=1400,1000")
        .arg(format!("--user-data-dir={}", folder.join("b").display()))
        .arg(format!("file://{}?to={to}", file.display()))
        .stderr(Stdio::null())
        .spawn();
    let told = child.map_err(Failure::from).and_then(|mut child| {
        let told = hear(&listener, &mut child);
        let _ = child.kill();
        let _ = child.wait();
        told
    });
    let _ = std::fs::remove_dir_all(&folder);
    let told: serde_json::Value = serde_json::from_str(&told?)?;
    for (name, value) in told.as_object().ok_or("no object")? {
        println!("{name:<34} {:>7.0}", value.as_f64().unwrap_or(f64::NAN));
    }
    Ok(())
}

/// The report with the driver in the place of its policy, which would refuse it.
fn driven(page: &str) -> Option<String> {
    let (before, policy) = page.split_once("<meta http-equiv")?;
    let (_, after) = policy.split_once('>')?;
    let script = format!("<script>{DRIVER}</script></body>");
    Some(format!("{before}{after}").replace("</body>", &script))
}

/// What the page says.
fn hear(listener: &TcpListener, child: &mut Child) -> Result<String, Failure> {
    let begin = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => return body(stream),
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {
                return Err(error.into());
            }
            Err(_) if begin.elapsed() > LONGEST => return Err("the browser says nothing".into()),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
        if let Some(status) = child.try_wait()? {
            return Err(format!("the browser ended: {status}").into());
        }
    }
}

fn body(mut stream: TcpStream) -> Result<String, Failure> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while !text.ends_with('}') {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err("half a message".into());
        }
        text += &String::from_utf8_lossy(&buffer[..count]);
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?;
    let (_, body) = text.split_once("\r\n\r\n").ok_or("no body")?;
    Ok(body.to_owned())
}

fn page(lines: usize, levels: usize) -> String {
    let mut program = Program::new(1);
    for number in 0..lines {
        let line = Line {
            location: format!("/home/ada/src/part{}/file.rs:{}", number % 40, number + 1),
            slope: 0.5 / (number + 1) as f64,
            knee: 0.6,
            after: 0.0,
            noise: (0.01, 0.01),
        };
        for step in 1..=levels {
            program.measure(&line, step as f64 / levels as f64);
            program.measure(&line, step as f64 / levels as f64);
        }
        program.records.push(Record::Samples {
            location: line.location,
            count: 10 + (number * 7919 % 1000) as u64,
            function: Some(format!("part{}::function_{number}", number % 40)),
        });
    }
    let excerpt = |_: &str, line: u32| {
        Some(Excerpt {
            first: line.saturating_sub(7).max(1),
            lines: vec!["    let next = self.table[at].wrapping_add(step);".to_owned(); 15],
            changed: None,
        })
    };
    report(&analyse(&program.records), &mut { excerpt })
}
