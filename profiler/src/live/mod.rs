//! `coz-rs run --live`: the ranking as it grows, on the whole terminal, drawn by a thread of its own
//! so that no window waits for it. The terminal is left as it was, whatever ends the run.

mod patient_writer;
mod program_output;
mod screen;
mod view;

use std::io::Write as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use coz_rs_plot::estimates::Analysis;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};

use program_output::ProgramOutput;
use screen::{Screen, Writer};
use view::Scene;

/// Time between two pictures.
const EVERY: Duration = Duration::from_millis(250);

/// The view, until it is dropped.
#[derive(Debug)]
pub struct Live {
    scene: Arc<Mutex<Scene>>,
    stop: Arc<AtomicBool>,
    painter: Option<JoinHandle<()>>,
    output: Option<ProgramOutput>,
}

impl Live {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// If neither standard error nor standard output is a terminal that can be drawn on.
    pub fn start(command: &str) -> anyhow::Result<Live> {
        let terminal = screen::terminal().context(
            "--live draws on the terminal, and neither standard error nor standard output is one; \
             leave --live away",
        )?;
        let output = ProgramOutput::open(&terminal)?;
        let scene = Arc::new(Mutex::new(Scene::new(command)));
        let stop = Arc::new(AtomicBool::new(false));
        let painter = {
            let (scene, stop) = (Arc::clone(&scene), Arc::clone(&stop));
            let tail = output.as_ref().map(ProgramOutput::tail);
            let screen = Screen::enter(terminal, &stop)?;
            std::thread::Builder::new()
                .name("coz-rs-live".to_owned())
                .spawn(move || paint(screen, &scene, &stop, tail))
                .context("starting the thread that draws")?
        };
        Ok(Live {
            scene,
            stop,
            painter: Some(painter),
            output,
        })
    }

    /// Where the program's standard output and error go, if they would disturb the view: to a
    /// terminal of their own, from which they are printed when the view is over.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn program_output(&self) -> anyhow::Result<(Option<Stdio>, Option<Stdio>)> {
        match &self.output {
            Some(output) => output.streams(),
            None => Ok((None, None)),
        }
    }

    fn scene(&self) -> MutexGuard<'_, Scene> {
        // A painter that panicked left the scene as it was.
        self.scene.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts, and the time when experiments end.
    pub fn count(&self, experiments: u64, until: Option<u64>) {
        let mut scene = self.scene();
        scene.experiments = experiments;
        scene.until = until;
    }

    /// The window that begins.
    pub fn window(&self, location: &str, speedup: f64) {
        self.scene().window = Some((location.to_owned(), speedup));
    }

    /// What is known by now; `share` gives the function of a line and its part of the samples, which
    /// the analysis learns later.
    pub fn learn<'a>(&self, analysis: &Analysis, share: &dyn Fn(&str) -> Option<(&'a str, f64)>) {
        self.scene().learn(analysis, share);
    }

    /// Gives the terminal back for the time that the user stops us.
    pub fn suspend(&mut self) {
        self.stop_painting();
    }

    /// Takes it over again.
    pub fn resume(&mut self) {
        let Some(terminal) = screen::terminal() else {
            return;
        };
        self.stop = Arc::new(AtomicBool::new(false));
        let Ok(screen) = Screen::enter(terminal, &self.stop) else {
            return;
        };
        let (scene, stop) = (Arc::clone(&self.scene), Arc::clone(&self.stop));
        let tail = self.output.as_ref().map(ProgramOutput::tail);
        self.painter = std::thread::Builder::new()
            .name("coz-rs-live".to_owned())
            .spawn(move || paint(screen, &scene, &stop, tail))
            .ok();
    }

    fn stop_painting(&mut self) {
        // Pairs with the painter's look at it.
        self.stop.store(true, Ordering::Release);
        if let Some(painter) = self.painter.take() {
            painter.thread().unpark();
            // It restored the terminal when it panicked.
            let _ = painter.join();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop_painting();
        screen::leave_if_owed();
        if let Some(output) = self.output.take() {
            output.print();
        }
    }
}

/// Draws until it is told to stop, then leaves the screen.
fn paint(
    screen: Screen,
    scene: &Mutex<Scene>,
    stop: &AtomicBool,
    tail: Option<Arc<Mutex<program_output::Tail>>>,
) {
    let ability = screen.ability();
    let mut area = screen.area();
    let mut canvas = canvas(&screen, area);
    // Pairs with the one that stops us.
    while !stop.load(Ordering::Acquire) {
        let now: Rect = screen.area();
        if now != area {
            area = now;
            canvas = self::canvas(&screen, area);
        }
        if let Some(tail) = &tail {
            let lines = tail.lock().unwrap_or_else(PoisonError::into_inner).lines();
            scene.lock().unwrap_or_else(PoisonError::into_inner).output = lines;
        }
        // A copy: a terminal that takes nothing more (Ctrl-S) must not hold up the experiments.
        let shown = scene.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let drawn = canvas.as_mut().is_some_and(|canvas| {
            canvas
                .draw(|frame| view::draw(frame, &shown, ability))
                .is_ok()
        });
        if !drawn {
            break;
        }
        std::thread::park_timeout(EVERY);
    }
}

/// An empty canvas of this size. A new one for each size: the one at hand would ask the terminal where
/// its cursor is, and the answer would be typed into the program's input.
fn canvas(screen: &Screen, area: Rect) -> Option<Terminal<CrosstermBackend<Writer>>> {
    let mut writer = screen.writer();
    writer.write_all(b"\x1b[2J\x1b[H").ok()?;
    let options = TerminalOptions {
        viewport: Viewport::Fixed(area),
    };
    Terminal::with_options(CrosstermBackend::new(writer), options).ok()
}
