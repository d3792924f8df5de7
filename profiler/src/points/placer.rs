//! Puts the points that the user named into processes, before these reach their `main`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use coz_rs_plot::record::Record;
use coz_rs_runtime_preload::layout::breakpoint;

use super::displacing::displaced;
use super::placing::{NotPlaced, places};
use super::spec::PointSpec;
use super::uprobes::Uprobes;
use crate::commands::in_one_sentence;
use crate::launch::tracer::tracer_of;
use crate::symbols::{CodePlace, Scope, Symbols};
use crate::targets::shared_region::{PointKind, SharedRegion};

/// How visits are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By the kernel.
    Uprobe,
    /// By breakpoints in the program's code.
    Breakpoint,
}

/// The user's points and where they are.
#[derive(Debug)]
pub struct Placer {
    specs: Vec<PointSpec>,
    /// Kind and name of each point; several places may count for one.
    points: Vec<(PointKind, String)>,
    symbols: Symbols,
    /// Where each spec was found last.
    known: Vec<Vec<CodePlace>>,
    /// The way that the user demands.
    demanded: Option<Way>,
    /// Nothing where they are refused or not wanted.
    uprobes: Option<Uprobes>,
    /// The breakpoints that a process has been asked to set: spec and address.
    asked: Vec<(usize, u64)>,
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
        way: Option<Way>,
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
        let latency = specs.iter().any(|spec| spec.kind != PointKind::Throughput);
        if latency && way == Some(Way::Uprobe) {
            anyhow::bail!(
                "the kernel does not know the program's virtual time, so --begin and --end need \
                 breakpoints; leave `--progress-by uprobe` out"
            );
        }
        let uprobes = match way {
            Some(Way::Breakpoint) => None,
            _ => match Uprobes::new(points.len()) {
                Ok(uprobes) => Some(uprobes),
                Err(error) if way == Some(Way::Uprobe) => anyhow::bail!(
                    "uprobes are refused here ({error:#}); run as root or with CAP_PERFMON and \
                     CAP_BPF, or leave `--progress-by uprobe` out"
                ),
                Err(error) => {
                    log::info!("points are counted by breakpoints: uprobes are refused: {error:#}");
                    None
                }
            },
        };
        Ok(Placer {
            specs,
            points,
            symbols,
            known,
            demanded: way,
            uprobes,
            asked: Vec::new(),
            placed: BTreeSet::new(),
            problems: BTreeSet::new(),
        })
    }

    /// Makes the points of a process that waits to be greeted.
    pub fn arm(&mut self, pid: u32, region: &mut SharedRegion) {
        self.asked.clear();
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
        let (by_kernel, by_program): (Vec<_>, Vec<_>) =
            (found.into_iter()).partition(|(number, _)| self.way(*number) == Way::Uprobe);
        if !by_kernel.is_empty() {
            self.by_uprobes(pid, region, &by_kernel);
        }
        if !by_program.is_empty() {
            self.by_breakpoints(pid, region, &by_program);
        }
    }

    /// How the visits of a spec's places are counted: by uprobes where they are allowed and the
    /// kernel need not step over the instructions.
    fn way(&self, number: usize) -> Way {
        let spec = &self.specs[number];
        if spec.kind != PointKind::Throughput || self.uprobes.is_none() {
            return Way::Breakpoint;
        }
        let cheap = |place: &CodePlace| {
            let path = self.symbols.binary_path(place.binary);
            if path.is_some_and(blocks_signals) {
                return true;
            }
            let found = displaced(self.code(*place).unwrap_or_default(), place.address);
            // What cannot be displaced is left to the kernel.
            found.is_none_or(|found| found.kernel_emulates())
        };
        if self.demanded == Some(Way::Uprobe) || self.known[number].iter().all(cheap) {
            Way::Uprobe
        } else {
            Way::Breakpoint
        }
    }

    /// The longest instruction that may be at a place, or what there is at the end of the code.
    fn code(&self, place: CodePlace) -> Option<&[u8]> {
        let mut sizes = (1..=15).rev();
        sizes.find_map(|size| self.symbols.code(place, size))
    }

    fn by_breakpoints(
        &mut self,
        pid: u32,
        region: &mut SharedRegion,
        found: &[(usize, CodePlace)],
    ) {
        if tracer_of(pid).is_some() {
            self.problems.insert(format!(
                "Process {pid} is traced, and its tracer would stop at breakpoints, so it has none."
            ));
            return;
        }
        let mut breakpoints = Vec::new();
        for (number, place) in found {
            let spec = &self.specs[*number];
            let path = self.symbols.binary_path(place.binary);
            if let Some(path) = path.filter(|path| blocks_signals(path)) {
                self.problems.insert(format!(
                    "{}: no breakpoint can be in {}, which blocks signals at times; only uprobes \
                     count there.",
                    spec.place(),
                    path.display()
                ));
                continue;
            }
            let code = self.code(*place).map(<[u8]>::to_vec);
            for address in self.symbols.loaded_at(*place) {
                let found = code.as_deref().and_then(|code| displaced(code, address));
                let Some(displaced) = found else {
                    self.problems.insert(format!(
                        "{}: the instruction at {:#x} cannot run elsewhere, so no breakpoint can be \
                         there; name another line.",
                        spec.place(),
                        place.address
                    ));
                    continue;
                };
                if let Some(counter) = region.add_point(spec.kind, &spec.name) {
                    breakpoints.push((address, counter, displaced));
                    self.asked.push((*number, address));
                }
            }
        }
        breakpoints.sort_by_key(|(address, counter, _)| (*address, *counter));
        let left_out = region.ask_for_breakpoints(&breakpoints);
        if left_out > 0 {
            self.problems.insert(format!(
                "There is room for {} breakpoints; {left_out} places are not counted.",
                breakpoints.len() - left_out
            ));
        }
    }

    /// Hears what became of the breakpoints of a process that has got ready.
    pub fn settle(&mut self, region: &SharedRegion) {
        for (number, address) in std::mem::take(&mut self.asked) {
            let cause = match region.breakpoint_state(address) {
                // A forked child has its parent's and sets none.
                Some(breakpoint::SET | breakpoint::WAITING) => continue,
                Some(breakpoint::OTHER_CODE) => "other code than in the file stands there",
                Some(breakpoint::NO_SLOT) => "there is no executable memory near it",
                Some(breakpoint::NOT_WRITABLE) => "the code cannot be written to",
                Some(breakpoint::NO_HANDLER) => "SIGTRAP cannot be handled",
                _ => "there was no room for it",
            };
            self.problems.insert(format!(
                "{}: no breakpoint at {address:#x}: {cause}.",
                self.specs[number].place()
            ));
        }
    }

    fn by_uprobes(&mut self, pid: u32, region: &mut SharedRegion, found: &[(usize, CodePlace)]) {
        let Some(uprobes) = &mut self.uprobes else {
            return;
        };
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
            if let Err(error) = uprobes.attach(&file, offset, point) {
                self.problems
                    .insert(format!("{}: {error:#}.", spec.place()));
            }
        }
        match uprobes.process(pid) {
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
                let ways: Vec<Way> = (0..self.specs.len())
                    .filter(here)
                    .map(|number| self.way(number))
                    .collect();
                let way = match (ways.contains(&Way::Uprobe), ways.contains(&Way::Breakpoint)) {
                    (true, true) => "uprobes and breakpoints",
                    (true, false) => "uprobes",
                    _ => "breakpoints",
                };
                let side = match kind {
                    PointKind::Throughput => "",
                    PointKind::Begin => " (begin)",
                    PointKind::End => " (end)",
                };
                notes.push(format!(
                    "`{name}`{side}: {visit}, counted by {way} at {place}."
                ));
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

/// Whether the file is of the C library, the loader, or our runtime: they block signals, and a trap
/// that is blocked is deadly.
fn blocks_signals(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let starts = [
        "libc.so",
        "libc-",
        "libpthread",
        "ld-",
        "ld.so",
        "libcoz-rs-",
    ];
    starts.iter().any(|start| name.starts_with(start))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_gets_no_breakpoints() {
        for path in [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib64/ld-linux-x86-64.so.2",
            "/usr/lib/libc-2.31.so",
            "/lib/libpthread.so.0",
        ] {
            assert!(blocks_signals(Path::new(path)), "{path}");
        }
        for path in [
            "/usr/bin/ld",
            "/usr/lib/libcurl.so.4",
            "/home/me/libc",
            "/opt/ldap",
        ] {
            assert!(!blocks_signals(Path::new(path)), "{path}");
        }
    }
}
