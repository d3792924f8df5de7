//! Puts the points that the user named into processes, before these reach their `main`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use coz_rs_plot::record::Record;

use super::placing::{NotPlaced, places};
use super::spec::PointSpec;
use super::uprobes::Uprobes;
use crate::commands::in_one_sentence;
use crate::symbols::{CodePlace, Scope, Symbols};
use crate::targets::shared_region::{PointKind, SharedRegion};

/// The user's points and where they are.
#[derive(Debug)]
pub struct Placer {
    specs: Vec<PointSpec>,
    /// Kind and name of each point; several places may count for one.
    points: Vec<(PointKind, String)>,
    symbols: Symbols,
    /// Where each spec was found last.
    known: Vec<Vec<CodePlace>>,
    uprobes: Uprobes,
    /// Numbers of the specs that have had a place.
    placed: BTreeSet<usize>,
    /// What went wrong, one sentence each.
    problems: BTreeSet<String>,
}

impl Placer {
    /// Points for a program whose executable is known; what a script starts may have them as well.
    ///
    /// # Errors
    /// If a place cannot be, or the way to count is refused.
    pub fn new(
        specs: Vec<PointSpec>,
        executable: &Path,
        is_script: bool,
    ) -> anyhow::Result<Placer> {
        let mut points: Vec<(PointKind, String)> = Vec::new();
        for spec in &specs {
            let point = (spec.kind, spec.name.clone());
            if !points.contains(&point) {
                points.push(point);
            }
        }
        let mut symbols = Symbols::new(everywhere()?, executable);
        let mut known = vec![Vec::new(); specs.len()];
        if !is_script {
            for (spec, known) in specs.iter().zip(&mut known) {
                match places(&mut symbols, spec) {
                    Ok(found) => {
                        log::info!("{}: counted at {}", spec.place(), list(&found));
                        *known = found;
                    }
                    // A typing error should not show only at the end.
                    Err(error) if error.may_come() => eprintln!(
                        "coz-rs: {error}. `{}` is looked for in what the program loads and starts.",
                        spec.place()
                    ),
                    Err(error) => return Err(in_one_sentence(error)),
                }
            }
        }
        let uprobes = Uprobes::new(points.len()).map_err(|error| {
            anyhow::anyhow!(
                "visits of places without marks are counted by uprobes, which are refused here \
                 ({error:#}); run as root or with CAP_PERFMON and CAP_BPF"
            )
        })?;
        Ok(Placer {
            specs,
            points,
            symbols,
            known,
            uprobes,
            placed: BTreeSet::new(),
            problems: BTreeSet::new(),
        })
    }

    /// Makes the points of a process that waits to be greeted.
    pub fn arm(&mut self, pid: u32, region: &mut SharedRegion) {
        if let Err(error) = self.symbols.update_modules(pid.cast_signed()) {
            self.problems.insert(format!("{error:#}"));
            return;
        }
        let mut found: Vec<(usize, CodePlace)> = Vec::new();
        for (number, spec) in self.specs.iter().enumerate() {
            let loaded = |place: &CodePlace| !self.symbols.loaded_at(*place).is_empty();
            if !self.known[number].iter().any(loaded) {
                match places(&mut self.symbols, spec) {
                    Ok(places) => self.known[number] = places,
                    Err(error) => {
                        log::debug!("{} in process {pid}: {error}", spec.place());
                        continue;
                    }
                }
            }
            let loaded = |place: &CodePlace| !self.symbols.loaded_at(*place).is_empty();
            let before = found.len();
            let here = self.known[number].iter().copied();
            found.extend(here.filter(loaded).map(|place| (number, place)));
            if found.len() > before {
                self.placed.insert(number);
            }
        }
        if found.is_empty() {
            return;
        }
        self.by_uprobes(pid, region, &found);
    }

    fn by_uprobes(&mut self, pid: u32, region: &mut SharedRegion, found: &[(usize, CodePlace)]) {
        for (number, place) in found {
            let spec = &self.specs[*number];
            let wanted = (spec.kind, spec.name.as_str());
            let point = self
                .points
                .iter()
                .position(|(kind, name)| (*kind, name.as_str()) == wanted);
            let offset = self.symbols.file_offset(*place);
            let file = self
                .symbols
                .binary_path(place.binary)
                .map(|path| seen_by(pid, path));
            let (Some(point), Some(offset), Some(file)) = (point, offset, file) else {
                continue;
            };
            if let Err(error) = self.uprobes.attach(&file, offset, point) {
                self.problems
                    .insert(format!("{}: {error:#}.", spec.place()));
            }
        }
        match self.uprobes.process(pid) {
            Some(counts) => region.count_by(counts, self.points.clone()),
            None => drop(self.problems.insert(
                "There were more processes at once than uprobes can tell apart; try `--no-follow`."
                    .to_owned(),
            )),
        }
    }

    /// What is to be said at the end, one sentence each; `records` tell the visits.
    pub fn notes(&mut self, records: &[Record]) -> Vec<String> {
        let mut notes: Vec<String> = self.problems.iter().cloned().collect();
        for (kind, name) in &self.points {
            let visits = records.iter().filter_map(|record| match record {
                Record::Visits { points } => Some(points),
                _ => None,
            });
            let of_this = visits
                .flatten()
                .filter(|point| point.name == *name && point.kind == kind.name());
            let count: u64 = of_this.map(|point| point.count).sum();
            let here = |number: &usize| {
                let spec = &self.specs[*number];
                (spec.kind, &spec.name) == (*kind, name)
            };
            let placed = self.placed.iter().filter(|number| here(number));
            let places: usize = placed.map(|number| self.known[*number].len()).sum();
            if places > 0 {
                let (visit, place) = (plural(count, "visit"), plural(places as u64, "place"));
                notes.push(format!("`{name}`: {visit}, counted by uprobes at {place}."));
            }
        }
        for number in 0..self.specs.len() {
            if self.placed.contains(&number) {
                continue;
            }
            let spec = &self.specs[number];
            let cause = places(&mut self.symbols, spec).err();
            let cause = cause.map_or_else(
                || "no process had it loaded when it started".to_owned(),
                |error: NotPlaced| error.to_string(),
            );
            notes.push(format!(
                "The point `{}` was not placed: {cause}.",
                spec.place()
            ));
        }
        notes
    }
}

/// Points may be anywhere, whatever experiments select.
fn everywhere() -> anyhow::Result<Scope> {
    Scope::new(&[], &[], &["MAIN".to_owned(), "%".to_owned()])
}

fn plural(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A file as the process sees it, which may live in another root.
fn seen_by(pid: u32, path: &Path) -> PathBuf {
    let inner = path.strip_prefix("/").unwrap_or(path);
    let other = Path::new("/proc")
        .join(pid.to_string())
        .join("root")
        .join(inner);
    if other.exists() {
        other
    } else {
        path.to_owned()
    }
}

fn list(places: &[CodePlace]) -> String {
    let addresses: Vec<String> = places
        .iter()
        .map(|place| format!("{:#x}", place.address))
        .collect();
    addresses.join(", ")
}
