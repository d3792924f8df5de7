//! From a place that the user names to the instructions at which its visits are counted.
//!
//! The rule for lines: a visit is one arrival of control at the line. In each function, and in each
//! copy inlined into it, the compiler's recommended stopping places of the line are taken; one is
//! left out if every passage of it was preceded by a passage of another of its own, unless it is
//! that one's copy, as unrolling makes them (a call of the same function from the same column counts
//! as a copy). So statements whose instructions were moved about
//! count once, and a loop's head counts once on the way in and once for each round.

use std::path::Path;

use super::flow::Flow;
use super::spec::{Location, PointSpec};
use crate::symbols::{CodePlace, FunctionCode, FunctionNotFound, LineNotFound, LineStart, Symbols};

/// Why a point has no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPlaced {
    /// The line is not to be found.
    #[error(transparent)]
    Line(#[from] LineNotFound),
    /// The function is not to be found.
    #[error(transparent)]
    Function(#[from] FunctionNotFound),
    /// The executable has no debug information to find a line by.
    #[error(
        "{executable} has no debug information, so `{spec}` cannot be found in it; build it with -g \
         or name a function, for instance `--progress-fn main`"
    )]
    NoDebugInformation {
        /// The executable.
        executable: String,
        /// What was asked for.
        spec: String,
    },
    /// The address is no instruction of the executable.
    #[error("{address:#x} is not the address of an instruction of {executable}")]
    NoInstruction {
        /// What was asked for.
        address: u64,
        /// The executable.
        executable: String,
    },
}

impl NotPlaced {
    /// Whether a library or a process to come may have the place.
    #[must_use]
    pub fn may_come(&self) -> bool {
        matches!(
            self,
            NotPlaced::Line(LineNotFound::NoSuchFile { .. })
                | NotPlaced::Function(FunctionNotFound::NoSuchFunction { .. })
                | NotPlaced::NoDebugInformation { .. }
        )
    }
}

/// Where the point is counted, in all binaries known to the symbols.
///
/// # Errors
/// See [`NotPlaced`].
pub fn places(symbols: &mut Symbols, spec: &PointSpec) -> Result<Vec<CodePlace>, NotPlaced> {
    let mut places = match &spec.location {
        Location::Line(text) => line_places(symbols, text)?,
        Location::Function(name) => {
            let entries = symbols.functions_named(name)?;
            let entries = entries.into_iter();
            entries
                .map(|entry| function_place(symbols, entry))
                .collect()
        }
        Location::Address(address) => vec![address_place(symbols, *address)?],
    };
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

fn name(symbols: &Symbols, binary: Option<usize>) -> String {
    let path = binary.and_then(|binary| symbols.binary_path(binary));
    path.map_or_else(String::new, |path: &Path| path.display().to_string())
}

fn line_places(symbols: &mut Symbols, text: &str) -> Result<Vec<CodePlace>, NotPlaced> {
    let id = match symbols.find_line(text) {
        Err(LineNotFound::NoSuchFile { .. }) if !symbols.has_debug_info() => {
            return Err(NotPlaced::NoDebugInformation {
                executable: name(symbols, symbols.executable()),
                spec: text.to_owned(),
            });
        }
        found => found?,
    };
    let mut places = Vec::new();
    for function in symbols.line_code(id) {
        let addresses = choose(&function, |start, size| {
            let place = CodePlace {
                binary: function.binary,
                address: start,
            };
            symbols.code(place, size).map(<[u8]>::to_vec)
        });
        places.extend(addresses.into_iter().map(|address| CodePlace {
            binary: function.binary,
            address,
        }));
    }
    Ok(places)
}

/// Addresses at which visits of a line are counted in one function; `read` gives loaded bytes.
fn choose(function: &FunctionCode, read: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Vec<u64> {
    let mut stretches: Vec<(u64, Vec<u8>)> = (function.code.iter())
        .filter_map(|(start, end)| {
            Some((*start, read(*start, usize::try_from(end - start).ok()?)?))
        })
        .collect();
    // The entry is in the largest; the others are cold parts.
    stretches.sort_by_key(|(_, bytes)| std::cmp::Reverse(bytes.len()));
    let borrowed: Vec<(u64, &[u8])> = stretches
        .iter()
        .map(|(at, b)| (*at, b.as_slice()))
        .collect();
    let flow = Flow::new(&borrowed, &read);
    let ordered = |landings: bool| -> Vec<(usize, LineStart)> {
        let order = flow.order(landings);
        let starts = function.starts.iter().filter_map(|start| {
            let number = flow.number(start.address)?;
            let rank = order.iter().position(|other| *other == number)?;
            Some((rank, number, *start))
        });
        let mut starts: Vec<_> = starts.collect();
        starts.sort_by_key(|start| start.0);
        starts
            .into_iter()
            .map(|(_, number, start)| (number, start))
            .collect()
    };
    // What only an exception leads to counts if there is nothing else.
    let mut starts = ordered(false);
    if starts.is_empty() {
        starts = ordered(true);
    }
    if starts.is_empty() {
        // Code without a function around it: hand-written, or its description is damaged.
        let first = function.starts.iter().min_by_key(|start| start.address);
        return first.map(|start| start.address).into_iter().collect();
    }
    let mut copies: Vec<u32> = starts.iter().map(|(_, start)| start.copy).collect();
    copies.sort_unstable();
    copies.dedup();
    let kept: Vec<usize> = copies
        .into_iter()
        .flat_map(|copy| {
            let own: Vec<(usize, LineStart)> = starts
                .iter()
                .filter(|(_, start)| start.copy == copy)
                .copied()
                .collect();
            stand_ins(&flow, &own)
        })
        .collect();
    let cheap = kept.iter().map(|number| flow.cheapest(*number, &kept));
    cheap
        .filter_map(|number| Some(flow.place(number)?.address))
        .collect()
}

/// Of the starts of a line in one copy of a function, nearest to the entry first, those that stand
/// for all.
fn stand_ins(flow: &Flow, starts: &[(usize, LineStart)]) -> Vec<usize> {
    let classes: [fn(&LineStart) -> bool; 3] = [
        |start| start.statement && start.own,
        |start| start.statement,
        |start| start.own,
    ];
    let class = classes
        .iter()
        .find(|class| starts.iter().any(|(_, start)| class(start)));
    let Some(class) = class else {
        return Vec::new();
    };
    let mut kept: Vec<(usize, LineStart)> = Vec::new();
    for (number, start) in starts.iter().filter(|(_, start)| class(start)) {
        let others: Vec<usize> = kept.iter().map(|(number, _)| *number).collect();
        let is_copy = || {
            let mut same = (kept.iter()).filter(|(_, kept)| kept.column == start.column);
            same.any(|(other, _)| flow.look_alike(*other, *number))
        };
        if !flow.is_covered(*number, &others) || is_copy() {
            kept.push((*number, *start));
        }
    }
    // One that only leads to another, as the jump to a loop's condition, is that one's arrival.
    let mut places: Vec<usize> = kept.iter().map(|(number, _)| *number).collect();
    let own: Vec<(u64, u64)> = (starts.iter())
        .filter(|(_, start)| start.own && start.end != u64::MAX)
        .map(|(_, start)| (start.address, start.end))
        .collect();
    let leads_on = |(number, _): &(usize, LineStart)| {
        let next = flow.after(*number, &own, &places);
        next.is_some_and(|next| next != *number && places.contains(&next))
    };
    kept.retain(|start| !leads_on(start));
    places = kept.iter().map(|(number, _)| *number).collect();
    let more = more_calls(flow, starts, &places);
    places.extend(more);
    places
}

/// Calls that are copies of one that a kept place leads to, where the compiler began no row anew
/// for each copy of a line that it unrolled.
fn more_calls(flow: &Flow, starts: &[(usize, LineStart)], kept: &[usize]) -> Vec<usize> {
    let firsts: Vec<Option<(usize, u64)>> =
        kept.iter().map(|number| flow.first_call(*number)).collect();
    let mut more = Vec::new();
    for (call, callee) in firsts.iter().flatten() {
        let address = flow.place(*call).map_or(0, |place| place.address);
        let own = starts.iter().filter(|(_, start)| start.own);
        let holds = |start: &LineStart| (start.address..start.end).contains(&address);
        let column = own.clone().find(|(_, start)| holds(start));
        let Some(column) = column.map(|(_, start)| start.column) else {
            continue;
        };
        let own = own.filter(|(_, start)| start.column == column);
        let ranges = own.filter(|(_, start)| start.end != u64::MAX);
        let calls = ranges.flat_map(|(_, start)| flow.calls(start.address, start.end, *callee));
        let calls = calls.filter(|call| !firsts.iter().flatten().any(|(first, _)| first == call));
        more.extend(calls);
    }
    more.sort_unstable();
    more.dedup();
    more
}

/// The cheapest place that counts the calls of the function with this entry.
fn function_place(symbols: &Symbols, entry: CodePlace) -> CodePlace {
    let Some(flow) = whole_function(symbols, entry) else {
        return entry;
    };
    let place = flow
        .number(entry.address)
        .map(|number| flow.cheapest(number, &[]));
    let place = place.and_then(|number| flow.place(number));
    CodePlace {
        address: place.map_or(entry.address, |place| place.address),
        ..entry
    }
}

fn whole_function(symbols: &Symbols, entry: CodePlace) -> Option<Flow> {
    let (start, size) = symbols.function_around(entry)?;
    let read = |address: u64, size: usize| {
        let place = CodePlace { address, ..entry };
        symbols.code(place, size).map(<[u8]>::to_vec)
    };
    let bytes = read(start, usize::try_from(size).ok()?)?;
    Some(Flow::new(&[(start, &bytes)], &read))
}

fn address_place(symbols: &Symbols, address: u64) -> Result<CodePlace, NotPlaced> {
    let refused = || NotPlaced::NoInstruction {
        address,
        executable: name(symbols, symbols.executable()),
    };
    let binary = symbols.executable().ok_or_else(refused)?;
    let place = CodePlace { binary, address };
    if !symbols.is_code(place) {
        return Err(refused());
    }
    // Where no symbol says where instructions begin, the user is believed.
    match whole_function(symbols, place) {
        Some(flow) if flow.number(address).is_none() => Err(refused()),
        _ => Ok(place),
    }
}
