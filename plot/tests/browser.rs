//! Promises about the report in a real browser: it draws, filters by its address, reports no error,
//! and names in a profile stay names. Skipped where there is no chromium.

mod simulation;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use coz_rs_plot::estimates::analyse;
use coz_rs_plot::html::report;
use coz_rs_plot::record::{CallerChain, CallerFrame, Record, Session};
use coz_rs_plot::source_text::Excerpt;
use simulation::{Line, Program};

/// Would run if it could: as markup, as an attribute, as script, as a template.
const HOSTILE: &str = "</script><script>document.title='run'</script><img src=x \
                       onerror=\"document.title='run'\">${1}{{data}}'\"&lt;";

struct Browser {
    directory: PathBuf,
    program: &'static str,
}

/// What the browser says after the page has settled.
struct Seen {
    dom: String,
    errors: Vec<String>,
}

impl Browser {
    fn find(name: &str) -> Option<Browser> {
        let works = |program: &&str| {
            let version = Command::new(program).arg("--version").output();
            version.is_ok_and(|output| output.status.success())
        };
        let Some(program) = ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find(works)
        else {
            eprintln!("skipped: there is no chromium here");
            return None;
        };
        let directory =
            std::env::temp_dir().join(format!("coz-rs-report-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("the temporary directory is writable");
        Some(Browser { directory, program })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
            ])
            .args(["--window-size=1400,1000", "--virtual-time-budget=4000"])
            .arg(format!(
                "--user-data-dir={}",
                self.directory.join("browser").display()
            ));
        command
    }

    fn address(&self, page: &str, fragment: &str) -> String {
        let file = self.directory.join("report.html");
        fs::write(&file, page).expect("the temporary directory is writable");
        format!("file://{}{fragment}", file.display())
    }

    fn open(&self, page: &str, fragment: &str) -> Seen {
        let output = self
            .command()
            .arg("--dump-dom")
            .arg(self.address(page, fragment))
            .output();
        let output = output.expect("chromium has been found");
        let errors = String::from_utf8_lossy(&output.stderr);
        Seen {
            dom: String::from_utf8_lossy(&output.stdout).into_owned(),
            // The page's own messages and refusals; chromium itself also complains of its surroundings.
            errors: errors
                .lines()
                .filter(|line| line.contains("CONSOLE"))
                .map(str::to_owned)
                .collect(),
        }
    }

    fn screenshot(&self, page: &str) -> Vec<u8> {
        let picture = self.directory.join("picture.png");
        let output = self
            .command()
            .arg(format!("--screenshot={}", picture.display()))
            .arg(self.address(page, ""))
            .output();
        assert!(output.expect("chromium has been found").status.success());
        fs::read(picture).expect("chromium wrote the picture")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn page(lines: usize, name: impl Fn(usize) -> String) -> String {
    let mut program = Program::new(2);
    program.records.insert(
        0,
        Record::Session(Session {
            command: vec![name(0)],
            ..Session::default()
        }),
    );
    for number in 0..lines {
        let line = Line {
            location: name(number),
            slope: if number == 0 { 0.4 } else { 0.0 },
            knee: 0.6,
            after: 0.0,
            noise: (0.01, 0.01),
        };
        for step in 1..=20 {
            program.measure(&line, f64::from(step) / 20.0);
        }
        program.records.push(Record::Callers {
            location: line.location.clone(),
            chains: vec![CallerChain {
                count: 9,
                frames: vec![CallerFrame(name(number), name(number + 1))],
            }],
        });
        program.records.push(Record::Samples {
            location: line.location,
            count: 10 + number as u64,
            function: Some(name(number)),
        });
    }
    program.records.push(Record::Doubt {
        doubt: name(0),
        text: name(0),
        location: Some(name(1)),
    });
    let excerpt = |_: &str, line: u32| {
        Some(Excerpt {
            first: line,
            lines: vec![name(1), "    second".to_owned()],
            changed: None,
        })
    };
    report(&analyse(&program.records), &mut { excerpt })
}

/// Rows of the list of lines: the only table rows that name a line.
fn rows(dom: &str) -> usize {
    dom.matches("<tr class=\"tone-").count()
}

#[test]
fn it_draws_and_filters_and_reports_no_error() {
    let Some(browser) = Browser::find("draws") else {
        return;
    };
    let page = page(40, |number| {
        format!("/src/part{}/file.rs:{}", number % 3, number + 1)
    });
    let seen = browser.open(&page, "");
    assert_eq!(seen.errors, Vec::<String>::new());
    assert!(seen.dom.contains("Work on file.rs:1 "), "no verdict");
    assert_eq!(rows(&seen.dom), 40);
    assert!(seen.dom.contains("40 lines, those that matter most first"));
    assert!(seen.dom.contains("knee at 60 %"));
    let filtered = browser.open(&page, "#find=part1&hide=worth-it");
    assert!(
        filtered.dom.contains("13 of 40 lines"),
        "the filter did not work"
    );
    assert_eq!(rows(&filtered.dom), 13);
    let other = browser.open(&page, "#line=%2Fsrc%2Fpart2%2Ffile.rs%3A3");
    assert!(
        other
            .dom
            .contains("title=\"/src/part2/file.rs:3\">part2/file.rs:3</h2>"),
        "the line was not chosen"
    );
    let picture = browser.screenshot(&page);
    let blank = browser.screenshot("<!doctype html><title>blank</title>");
    assert!(
        picture.len() > 10 * blank.len() && picture.len() > 50_000,
        "{}",
        picture.len()
    );
}

#[test]
fn a_thousand_lines_are_paged() {
    let Some(browser) = Browser::find("thousand") else {
        return;
    };
    let page = page(1000, |number| format!("/src/file.rs:{}", number + 1));
    let seen = browser.open(&page, "");
    assert_eq!(seen.errors, Vec::<String>::new());
    assert_eq!(rows(&seen.dom), 60);
    assert!(seen.dom.contains("Show 200 more"));
}

#[test]
fn hostile_names_are_inert() {
    let Some(browser) = Browser::find("hostile") else {
        return;
    };
    let page = page(3, |number| format!("{HOSTILE}:{}", number + 1));
    let seen = browser.open(&page, "");
    // Not even refused by the policy: they never are anything but text.
    assert_eq!(seen.errors, Vec::<String>::new());
    assert!(!seen.dom.contains("<title>run</title>"));
    assert!(!seen.dom.contains("<img"));
    assert_eq!(rows(&seen.dom), 3);
}

/// The policy holds if something did get into the page.
#[test]
fn injected_script_is_refused() {
    let Some(browser) = Browser::find("injected") else {
        return;
    };
    let page = page(2, |number| format!("a.rs:{}", number + 1));
    let injected = page.replace("</body>", "<script>document.title='run'</script></body>");
    let seen = browser.open(&injected, "");
    assert!(!seen.dom.contains("<title>run</title>"));
    assert!(
        seen.errors
            .iter()
            .any(|line| line.contains("Content Security Policy")),
        "{:?}",
        seen.errors
    );
}

#[test]
fn a_profile_without_experiments_says_so() {
    let Some(browser) = Browser::find("empty") else {
        return;
    };
    let seen = browser.open(&report(&analyse(&[]), &mut |_, _| None), "");
    assert_eq!(seen.errors, Vec::<String>::new());
    assert!(
        seen.dom
            .contains("No progress point was visited in any experiment")
    );
}

/// A user who has a keyboard only, or hears the page: a script in the page's stead presses keys and
/// writes down what it finds.
#[test]
fn it_is_used_by_keyboard_and_by_ear() {
    const DRIVER: &str = include_str!("keyboard.js");
    let Some(browser) = Browser::find("keyboard") else {
        return;
    };
    let page = page(12, |number| format!("/src/file.rs:{}", number + 1));
    let (before, policy) = page
        .split_once("<meta http-equiv")
        .expect("it has a policy");
    let (_, after) = policy.split_once('>').expect("the policy ends");
    let driven =
        format!("{before}{after}").replace("</body>", &format!("<script>{DRIVER}</script></body>"));
    let seen = browser.open(&driven, "");
    assert_eq!(seen.errors, Vec::<String>::new());
    let (_, found) = seen.dom.split_once("<pre id=\"found\">").expect("it ran");
    let (found, _) = found.split_once("</pre>").expect("it ended");
    let found = found
        .replace("&gt;", ">")
        .replace("&lt;", "<")
        .replace("&amp;", "&");
    let found: serde_json::Value = serde_json::from_str(&found).expect("it is JSON");
    assert_eq!(found["moved"], true, "{found}");
    assert_eq!(found["current"], 1, "{found}");
    let second = found["chosen"].as_str().expect("a title");
    assert!(
        found["said"]
            .as_str()
            .is_some_and(|said| said.starts_with(second)),
        "{found}"
    );
    assert!(
        found["tip"]
            .as_str()
            .is_some_and(|tip| tip.contains("100 % of its time cut")),
        "{found}"
    );
    assert_eq!(
        (&found["kept"], &found["sorted"]),
        (&"Hot".into(), &"descending".into()),
        "{found}"
    );
    assert_eq!(found["pressed"], "false", "{found}");
    assert!(
        found["filtered"]
            .as_str()
            .is_some_and(|said| said.contains(" of 12 lines")),
        "{found}"
    );
    assert_eq!(found["help"], true, "{found}");
    assert_eq!(found["nameless"], serde_json::json!([]), "{found}");
    assert_eq!(found["unlabelled"], serde_json::json!([]), "{found}");
}

#[test]
fn callers_and_doubts_stand_with_their_line() {
    let Some(browser) = Browser::find("callers") else {
        return;
    };
    let page = page(3, |number| format!("/src/file.rs:{}", number + 1));
    let seen = browser.open(&page, "#line=%2Fsrc%2Ffile.rs%3A2");
    assert_eq!(seen.errors, Vec::<String>::new());
    assert!(seen.dom.contains("Called from"), "no callers");
    let (_, detail) = seen
        .dom
        .split_once("id=\"detail\"")
        .expect("it has details");
    let (detail, _) = detail.split_once("</section>").expect("they end");
    assert!(
        detail.contains("class=\"doubts\""),
        "the doubt about this line"
    );
    assert!(
        detail.contains("title=\"/src/file.rs:2 /src/file.rs:3\""),
        "{detail}"
    );
}
