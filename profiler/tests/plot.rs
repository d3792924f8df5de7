//! The command `coz-rs plot`: which files it writes, what it prints, and what it refuses; and the
//! manual pages and completions.

#![allow(clippy::unwrap_used, reason = "a test says by its panic what failed")]

#[path = "command/bench.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod bench;

use std::process::{Command, Output, Stdio};

use bench::{Bench, text};
use serde_json::Value;

/// A profile with ten experiments on each of two lines: one that matters, one that does not.
fn profile() -> String {
    profile_at(1.0)
}

/// The same at another pace: 0.8 is a program that needs 20 % less time.
fn profile_at(pace: f64) -> String {
    let session =
        r#"{"type":"startup","session":{"format_version":1,"command":["./app"],"period":1000000}}"#;
    let mut lines = vec![
        session.to_owned(),
        r#"{"type":"startup","time":1}"#.to_owned(),
    ];
    for block in 0..40_u64 {
        let (line, gain) = if block % 2 == 0 { (3, 0.4) } else { (7, 0.0) };
        for speedup in [0.0, 0.5] {
            let noise = (block * 7919 % 13) * 40_000;
            let period = pace * 100_000_000.0 * (1.0 - gain * speedup);
            let duration = period as u64 + noise;
            lines.push(format!(
                r#"{{"type":"experiment","selected":"src/a.c:{line}","speedup":{speedup},"duration":{duration},"block":{block},"selected_samples":4}}"#
            ));
            lines.push(r#"{"type":"throughput-point","name":"round","delta":100}"#.to_owned());
            lines.push(r#"{"type":"throughput-point","name":"other","delta":10}"#.to_owned());
        }
    }
    for (line, count) in [(3, 60), (7, 40)] {
        lines.push(format!(
            r#"{{"type":"samples","location":"src/a.c:{line}","count":{count},"function":"work"}}"#
        ));
    }
    lines.push(r#"{"type":"samples","location":"src/a.c:3","count":0,"callers":[{"count":45,"frames":[["serve","src/a.c:20"],["main","src/a.c:30"]]},{"count":15,"frames":[["main","src/a.c:31"]]}]}"#.to_owned());
    lines.push(r#"{"type":"runtime","time":5000000000}"#.to_owned());
    lines.join("\n") + "\n"
}

fn bench(name: &str) -> Bench {
    let bench = Bench::new(name);
    std::fs::write(bench.path("profile.coz"), profile()).unwrap();
    bench
}

fn plot(bench: &Bench, arguments: &[&str]) -> Output {
    let mut command = bench.coz_rs(&["plot"]);
    for name in [
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "BROWSER",
        "NO_COLOR",
        "COLUMNS",
    ] {
        command.env_remove(name);
    }
    command
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn several_files_are_written_at_once() {
    let bench = bench("plot-several");
    let names = [
        "r.html", "p.svg", "p.png", "t.csv", "r.json", "e.txt", "s.json", "f.json",
    ];
    let options = [
        "-o",
        "--svg",
        "--png",
        "--csv",
        "--json",
        "--editor",
        "--speedscope",
        "--firefox",
    ];
    let arguments: Vec<&str> = options
        .into_iter()
        .zip(names)
        .flat_map(|(a, b)| [a, b])
        .collect();
    let output = plot(&bench, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    for name in names {
        assert!(
            stderr(&output).contains(&format!("coz-rs: wrote {name}\n")),
            "{name}"
        );
    }
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    let json = |name: &str| serde_json::from_slice::<Value>(&read(name)).unwrap();
    assert!(read("p.png").starts_with(b"\x89PNG\r\n\x1a\n"));
    assert!(text(&read("p.svg")).contains("src/a.c") || text(&read("p.svg")).contains("a.c:3"));
    assert_eq!(json("r.json")["format_version"], 1);
    assert_eq!(json("r.json")["callers"]["src/a.c:3"][0]["count"], 45);
    assert!(text(&read("e.txt")).starts_with("src/a.c:3: worth it: "));
    // Both lines and their two points at one level, and the head.
    assert_eq!(text(&read("t.csv")).lines().count(), 5);
    let flame = json("s.json");
    let frames = flame["shared"]["frames"].as_array().unwrap();
    let matters = &flame["profiles"][1];
    assert_eq!(flame["activeProfileIndex"], 1);
    let stack: Vec<&str> = matters["samples"][0]
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| {
            frames[frame.as_u64().unwrap() as usize]["name"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(stack, ["main (a.c:30)", "serve (a.c:20)", "work (a.c:3)"]);
    let weights: Vec<f64> = matters["weights"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w.as_f64().unwrap())
        .collect();
    // Three quarters of the samples came that way, and the gain at 50 % is 20 %.
    assert!((weights[0] / weights[1] - 3.0).abs() < 1e-6, "{weights:?}");
    assert!(
        (weights.iter().sum::<f64>() - 20.0).abs() < 3.0,
        "{weights:?}"
    );
    assert_eq!(flame["profiles"][0]["unit"], "milliseconds");
    assert_eq!(flame["profiles"][0]["endValue"], 100.0);
    let threads = json("f.json")["threads"].as_array().unwrap().len();
    assert_eq!(threads, 3, "hot and two points");
}

#[test]
fn a_dash_prints_one_result() {
    let bench = bench("plot-dash");
    let output = plot(&bench, &["--json", "-"]);
    assert_eq!(
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["experiments"],
        40
    );
    assert!(text(&plot(&bench, &["--editor"]).stdout).starts_with("src/a.c:3: "));
    for wrong in [
        ["--json", "-", "--csv", "-"],
        ["--text", "--svg", "-", "--text"],
        ["--json", "x", "--csv", "x"],
    ] {
        let output = plot(&bench, &wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(output.stdout.is_empty() && !bench.path("x").exists());
    }
}

#[test]
fn nothing_of_the_users_is_overwritten_unasked() {
    let bench = bench("plot-overwrite");
    let first = plot(&bench, &[]);
    assert!(first.status.success());
    assert!(
        stderr(&first).contains("wrote profile.html; open it in a browser"),
        "{}",
        stderr(&first)
    );
    assert!(
        plot(&bench, &[]).status.success(),
        "our own report is replaced"
    );
    std::fs::write(bench.path("profile.html"), "<html>mine").unwrap();
    let refused = plot(&bench, &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("is no report of coz-rs"),
        "{}",
        stderr(&refused)
    );
    let itself = plot(&bench, &["--json", "./profile.coz"]);
    assert!(
        stderr(&itself).contains("is the profile itself"),
        "{}",
        stderr(&itself)
    );
    assert_eq!(
        std::fs::read_to_string(bench.path("profile.coz")).unwrap(),
        profile()
    );
    assert_eq!(
        std::fs::read_to_string(bench.path("profile.html")).unwrap(),
        "<html>mine"
    );
}

#[test]
fn a_point_is_chosen_by_its_name() {
    let bench = bench("plot-point");
    let picture = plot(&bench, &["--svg", "-", "--point", "other"]);
    assert!(text(&picture.stdout).contains("progress point other"));
    let unknown = plot(&bench, &["--svg", "-", "--point", "nothing"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        stderr(&unknown).contains("no progress point `nothing`, but "),
        "{}",
        stderr(&unknown)
    );
    let both = plot(&bench, &["profile.coz", "profile.coz", "--json", "-"]);
    assert_eq!(
        serde_json::from_slice::<Value>(&both.stdout).unwrap()["experiments"],
        80
    );
}

#[test]
fn colours_come_when_they_are_wanted() {
    let bench = bench("plot-colour");
    assert!(!text(&plot(&bench, &["--text"]).stdout).contains('\x1b'));
    assert!(text(&plot(&bench, &["--text", "--color", "always"]).stdout).contains("\x1b[32m"));
    let wide = |columns: &str| {
        let mut command = bench.coz_rs(&["plot", "--text"]);
        let output = command.env("COLUMNS", columns).output().unwrap();
        let lines = text(&output.stdout)
            .lines()
            .map(|line| line.chars().count());
        lines.max().unwrap()
    };
    assert!(wide("50") <= 50 && wide("120") > 50);
}

#[test]
fn an_empty_profile_says_that_there_is_nothing_to_draw() {
    let bench = Bench::new("plot-empty");
    std::fs::write(bench.path("profile.coz"), "").unwrap();
    let output = plot(&bench, &["--png", "p.png"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("nothing to draw"),
        "{}",
        stderr(&output)
    );
    assert_eq!(plot(&bench, &["--text"]).status.code(), Some(1));
}

#[test]
fn manual_pages_and_completions_are_of_this_command() {
    let bench = Bench::new("manual");
    let output = bench
        .coz_rs(&["man", "--out", "pages/man1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    for name in ["coz-rs.1", "coz-rs-run.1", "coz-rs-plot.1", "coz-rs-demo.1"] {
        let page = std::fs::read_to_string(bench.path("pages/man1").join(name)).unwrap();
        assert!(
            page.contains(".TH") && page.contains(".SH SYNOPSIS"),
            "{name}"
        );
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.coz_rs(&["completions", shell]).output().unwrap();
        assert!(text(&script.stdout).contains("speedscope"), "{shell}");
        if shell == "bash" {
            std::fs::write(bench.path("complete.bash"), &script.stdout).unwrap();
            let ask = "source complete.bash; f=$(complete -p coz-rs); f=${f#*-F }; f=${f%% *}; \
                       COMP_WORDS=(coz-rs pl); COMP_CWORD=1; $f coz-rs pl coz-rs; \
                       echo \"${COMPREPLY[@]}\"";
            let answer = Command::new("bash")
                .args(["-c", ask])
                .current_dir(bench.path("."))
                .output();
            assert_eq!(text(&answer.unwrap().stdout), "plot\n");
        }
    }
}

#[test]
fn a_prediction_is_verified_by_what_came() {
    let bench = bench("verify");
    std::fs::write(bench.path("after.coz"), profile_at(0.8)).unwrap();
    let ask = |arguments: &[&str]| {
        let output = bench
            .coz_rs(&["verify", "profile.coz", "after.coz"])
            .args(["--point", "round"])
            .args(arguments)
            .output()
            .unwrap();
        (
            output.status.code(),
            text(&output.stdout).to_owned(),
            stderr(&output),
        )
    };
    let (code, said, _) = ask(&["--line", "a.c:3", "--cut", "50"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.starts_with("round: 20 % faster (95 % interval "),
        "{said}"
    );
    assert!(
        said.contains("as predicted") && said.contains("repeat both"),
        "{said}"
    );
    let (code, said, _) = ask(&["--line", "a.c:3", "--cut", "20"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("more came than was predicted"), "{said}");
    let (code, said, _) = ask(&["--line", "a.c:3"]);
    assert!(
        code == Some(0) && said.contains("% of its time cut"),
        "{said}"
    );
    let (code, said, _) = ask(&["--line", "a.c:7"]);
    assert!(
        code == Some(1) && said.contains("No cut of src/a.c:7"),
        "{said}"
    );
    let (code, _, error) = ask(&["--line", "b.c:7"]);
    assert!(
        code == Some(2) && error.contains("no experiment with b.c:7"),
        "{error}"
    );
}

#[test]
fn two_profiles_are_compared() {
    let bench = bench("compare");
    std::fs::write(bench.path("after.coz"), profile_at(0.8)).unwrap();
    let compare = |arguments: &[&str]| {
        let mut command = bench.coz_rs(&["compare", "profile.coz", "after.coz"]);
        command
            .args(arguments)
            .env_remove("COLUMNS")
            .output()
            .unwrap()
    };
    let output = compare(&[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = text(&output.stdout);
    assert!(
        said.contains("every 1.002 ms before, 802.") && said.contains("a.c:3"),
        "{said}"
    );
    let json: Value = serde_json::from_slice(&compare(&["--json"]).stdout).unwrap();
    assert_eq!(json["points"][0]["lines"].as_array().unwrap().len(), 2);
    let output = compare(&["-o", "compared.html"]);
    assert!(stderr(&output).contains("coz-rs: wrote compared.html\n") && output.stdout.is_empty());
    let page = std::fs::read_to_string(bench.path("compared.html")).unwrap();
    assert!(page.contains("every 1.002 ms before, 802.") && page.contains("title=\"src/a.c:3\""));
    assert_eq!(text(&compare(&["-o", "-"]).stdout), page);
}

#[test]
fn profiles_of_one_program_merge() {
    let bench = bench("merge");
    let cut = profile();
    std::fs::write(bench.path("cut.coz"), &cut[..cut.len() - 1]).unwrap();
    std::fs::write(bench.path("other.coz"), cut.replace("./app", "./other")).unwrap();
    let merge = |arguments: &[&str]| {
        let output = bench.coz_rs(&["merge"]).args(arguments).output().unwrap();
        (output.status.code(), stderr(&output))
    };
    let (code, said) = merge(&["cut.coz", "profile.coz", "-o", "all.coz"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        std::fs::read_to_string(bench.path("all.coz")).unwrap(),
        profile() + &profile()
    );
    let (code, said) = merge(&["profile.coz", "cut.coz", "-o", "all.coz"]);
    assert!(
        code == Some(2) && said.contains("does not exist, or give --force"),
        "{said}"
    );
    let (code, said) = merge(&["profile.coz", "other.coz", "-o", "new.coz"]);
    assert!(
        code == Some(2) && said.contains("is of `./other`, not of `./app`"),
        "{said}"
    );
    assert!(!bench.path("new.coz").exists());
    assert_eq!(
        merge(&["profile.coz", "other.coz", "-o", "new.coz", "--force"]).0,
        Some(0)
    );
}
