//! Counting by uprobes: the kernel stops at an instruction of a file, whoever runs it, and a small
//! BPF program counts the visits of our targets, each by itself.
//!
//! One event counts on all processors; the program finds the process in a table and adds to a cell
//! of an array that is mapped here, so reading a count is one load. Nothing in the target changes
//! and no visit is lost. Needs the capabilities that opening such events and loading programs need.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use memmap2::{MmapOptions, MmapRaw};

/// Processes that are counted at the same time.
const PROCESSES: u32 = 1024;

// bpf(2) and linux/bpf.h.
const MAP_CREATE: u32 = 0;
const MAP_LOOKUP: u32 = 1;
const MAP_UPDATE: u32 = 2;
const MAP_DELETE: u32 = 3;
const PROGRAM_LOAD: u32 = 5;
const MAP_HASH: u32 = 1;
const MAP_ARRAY: u32 = 2;
const MAP_MMAPABLE: u32 = 1 << 10;
const PROGRAM_KPROBE: u32 = 2;
const HELPER_MAP_LOOKUP: i32 = 1;
const HELPER_NAMESPACE_PID: i32 = 120;

// perf_event_open(2) and linux/perf_event.h.
const OPEN_CLOEXEC: u64 = 1 << 3;
const FLAG_DISABLED: u64 = 1;
const IOC_ENABLE: libc::Ioctl = 0x2400;
const IOC_SET_BPF: libc::Ioctl = 0x4004_2408;

/// `union bpf_attr`: each command uses the fields at its front.
#[repr(C, align(8))]
struct BpfArguments([u8; 128]);

impl BpfArguments {
    fn new(words: &[(usize, u32)], wide: &[(usize, u64)]) -> BpfArguments {
        let mut bytes = [0; 128];
        for (at, word) in words {
            bytes[*at..*at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        for (at, word) in wide {
            bytes[*at..*at + 8].copy_from_slice(&word.to_ne_bytes());
        }
        BpfArguments(bytes)
    }

    /// # Safety
    /// The arguments' pointers must be valid for what `command` does with them.
    unsafe fn call(&self, command: u32) -> io::Result<i32> {
        let size = size_of::<BpfArguments>();
        // SAFETY: bpf(2) reads `size` bytes of the arguments; their pointers are the caller's
        // promise.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), size) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        i32::try_from(result).map_err(io::Error::other)
    }
}

fn owned(descriptor: i32) -> OwnedFd {
    // SAFETY: only called with a descriptor that the kernel has just made for us.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

fn map(kind: u32, value: u32, entries: u32, flags: u32) -> io::Result<OwnedFd> {
    let words = [(0, kind), (4, 4), (8, value), (12, entries), (16, flags)];
    // SAFETY: no pointers.
    unsafe { BpfArguments::new(&words, &[]).call(MAP_CREATE) }.map(owned)
}

/// One instruction of a BPF program (linux/bpf.h: `struct bpf_insn`).
fn instruction(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> [u8; 8] {
    let mut bytes = [code, (from << 4) | to, 0, 0, 0, 0, 0, 0];
    bytes[2..4].copy_from_slice(&offset.to_ne_bytes());
    bytes[4..8].copy_from_slice(&immediate.to_ne_bytes());
    bytes
}

/// Loads 64 bits; `from` 1 means that they are a map's descriptor.
fn load(to: u8, from: u8, value: u64) -> [[u8; 8]; 2] {
    let (low, high) = (value as u32, (value >> 32) as u32);
    [
        instruction(0x18, to, from, 0, low.cast_signed()),
        instruction(0, 0, 0, 0, high.cast_signed()),
    ]
}

/// The counts of all points and processes.
#[derive(Debug)]
struct Counts {
    /// From process to the number of its first cell.
    processes: OwnedFd,
    cells: MmapRaw,
    points: u32,
    free: Mutex<Vec<u32>>,
}

impl Counts {
    fn cell(&self, number: u32) -> &AtomicU64 {
        let number = number.min(PROCESSES * self.points - 1) as usize;
        let cell = self.cells.as_ptr().cast::<AtomicU64>().wrapping_add(number);
        // SAFETY: inside the mapping, which has a cell for each point of each process and lives as
        // long as self; the kernel maps arrays page-aligned, and every word is a valid atomic.
        unsafe { &*cell }
    }

    /// The process's row in the table, if it is there.
    fn row(&self, pid: u32) -> Option<u32> {
        let mut value = 0u32;
        let words = [(0, self.processes.as_raw_fd().cast_unsigned())];
        let wide = [(8, &raw const pid as u64), (16, &raw mut value as u64)];
        // SAFETY: key and value are the four bytes each that the map was made with.
        let found = unsafe { BpfArguments::new(&words, &wide).call(MAP_LOOKUP) };
        found.ok().map(|_| value)
    }
}

/// Uprobes and what they count.
#[derive(Debug)]
pub struct Uprobes {
    counts: Arc<Counts>,
    programs: Vec<OwnedFd>,
    kind: u32,
    events: Vec<((u64, u64, u64, usize), OwnedFd)>,
}

/// One process's counts.
#[derive(Debug)]
pub struct ProcessCounts {
    counts: Arc<Counts>,
    pid: u32,
    first: u32,
    /// What the cells held before.
    before: Vec<u64>,
}

impl ProcessCounts {
    /// Visits of point `number`.
    #[must_use]
    pub fn visits(&self, number: usize) -> u64 {
        let Some(before) = self.before.get(number) else {
            return 0;
        };
        let now = self.counts.cell(self.first + number as u32).load(Relaxed);
        now.wrapping_sub(*before)
    }
}

impl Drop for ProcessCounts {
    fn drop(&mut self) {
        // After exec the same process has another row, which stays.
        if self.counts.row(self.pid) == Some(self.first) {
            let words = [(0, self.counts.processes.as_raw_fd().cast_unsigned())];
            let wide = [(8, &raw const self.pid as u64)];
            // SAFETY: the key is four bytes, as the map was made with.
            let _ = unsafe { BpfArguments::new(&words, &wide).call(MAP_DELETE) };
        }
        let mut free = self
            .counts
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        free.push(self.first);
    }
}

impl Uprobes {
    /// Prepares to count so many points.
    ///
    /// # Errors
    /// If the kernel refuses, mostly for want of privilege.
    pub fn new(points: usize) -> anyhow::Result<Uprobes> {
        let kind = std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type")
            .context("this kernel has no uprobe events")?;
        let kind = kind.trim().parse().context("the uprobe events' type")?;
        let points = u32::try_from(points.max(1))?;
        let processes = map(MAP_HASH, 4, PROCESSES, 0).context("making a BPF map")?;
        let entries = PROCESSES * points;
        let array = map(MAP_ARRAY, 8, entries, MAP_MMAPABLE).context("making a BPF map")?;
        let cells = MmapOptions::new()
            .len(entries as usize * 8)
            .map_raw_read_only(&array)
            .context("mapping a BPF map")?;
        let mut programs = Vec::new();
        for point in 0..points {
            let program = program(&processes, &array, point).context("loading a BPF program")?;
            programs.push(program);
        }
        Ok(Uprobes {
            counts: Arc::new(Counts {
                processes,
                cells,
                points,
                free: Mutex::new((0..PROCESSES).rev().map(|row| row * points).collect()),
            }),
            programs,
            kind,
            events: Vec::new(),
        })
    }

    /// Counts a process's visits from now on; nothing if there are too many processes.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<ProcessCounts> {
        let counts = &self.counts;
        let first = counts
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()?;
        let before = (0..counts.points).map(|point| counts.cell(first + point).load(Relaxed));
        let process = ProcessCounts {
            before: before.collect(),
            counts: Arc::clone(counts),
            pid,
            first,
        };
        let words = [(0, counts.processes.as_raw_fd().cast_unsigned())];
        let wide = [(8, &raw const pid as u64), (16, &raw const first as u64)];
        // SAFETY: key and value are the four bytes each that the map was made with.
        let added = unsafe { BpfArguments::new(&words, &wide).call(MAP_UPDATE) };
        added.ok().map(|_| process)
    }

    /// Counts passages of the instruction at `offset` of the file for point `point`.
    ///
    /// # Errors
    /// If the kernel refuses the place.
    pub fn attach(&mut self, file: &Path, offset: u64, point: usize) -> anyhow::Result<()> {
        let about = || format!("counting at offset {offset:#x} of {}", file.display());
        let meta = std::fs::metadata(file).with_context(about)?;
        let identity = (meta.dev(), meta.ino(), offset, point);
        if self.events.iter().any(|event| event.0 == identity) {
            return Ok(());
        }
        let program = self.programs.get(point).with_context(about)?;
        let event = open(self.kind, file, offset).with_context(about)?;
        // SAFETY: an event and a program of ours.
        let set = unsafe { libc::ioctl(event.as_raw_fd(), IOC_SET_BPF, program.as_raw_fd()) };
        if set != 0 {
            return Err(io::Error::last_os_error()).with_context(about);
        }
        // SAFETY: an event of ours.
        let enabled = unsafe { libc::ioctl(event.as_raw_fd(), IOC_ENABLE, 0) };
        if enabled != 0 {
            return Err(io::Error::last_os_error()).with_context(about);
        }
        self.events.push((identity, event));
        Ok(())
    }
}

/// An event that stops any process, on any processor, at an instruction of a file.
fn open(kind: u32, file: &Path, offset: u64) -> io::Result<OwnedFd> {
    let path = CString::new(file.as_os_str().as_bytes())?;
    // struct perf_event_attr: type and size, config, …, flags, …, uprobe_path, probe_offset.
    let mut attributes = [0u64; 16];
    attributes[0] = u64::from(kind) | (size_of_val(&attributes) as u64) << 32;
    attributes[5] = FLAG_DISABLED;
    attributes[7] = path.as_ptr() as u64;
    attributes[8] = offset;
    // A BPF program runs on whatever processor the visit happens; the event itself needs one.
    let (any_process, processor, no_group) = (-1i64, 0i64, -1i64);
    // SAFETY: the attributes have the size they say and the path outlives the call.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            any_process,
            processor,
            no_group,
            OPEN_CLOEXEC,
        )
    };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(event).map(owned).map_err(io::Error::other)
}

/// The program that counts for one point: finds the process by the id that it has for us, and adds
/// one to the point's cell in the process's row.
fn program(processes: &OwnedFd, array: &OwnedFd, point: u32) -> io::Result<OwnedFd> {
    let namespace = std::fs::metadata("/proc/self/ns/pid")?;
    let (key, stack) = (-4, 10);
    let lookup = |map: &OwnedFd| {
        let mut part = load(1, 1, map.as_raw_fd().cast_unsigned().into()).to_vec();
        part.push(instruction(0xbf, 2, stack, 0, 0)); // r2 = r10
        part.push(instruction(0x07, 2, 0, 0, key)); // r2 += key
        part.push(instruction(0x85, 0, 0, 0, HELPER_MAP_LOOKUP));
        part
    };
    let mut code: Vec<[u8; 8]> = Vec::new();
    let mut to_end = Vec::new();
    code.extend(load(1, 0, namespace.dev()));
    code.extend(load(2, 0, namespace.ino()));
    code.push(instruction(0xbf, 3, stack, 0, 0)); // r3 = r10
    code.push(instruction(0x07, 3, 0, 0, -8)); // r3 += -8: { thread, process }
    code.push(instruction(0xb7, 4, 0, 0, 8)); // r4 = 8
    code.push(instruction(0x85, 0, 0, 0, HELPER_NAMESPACE_PID));
    to_end.push(code.len());
    code.push(instruction(0x55, 0, 0, 0, 0)); // if r0 != 0 goto end
    code.extend(lookup(processes));
    to_end.push(code.len());
    code.push(instruction(0x15, 0, 0, 0, 0)); // if r0 == 0 goto end
    code.push(instruction(0x61, 1, 0, 0, 0)); // r1 = *(u32 *) r0
    code.push(instruction(0x07, 1, 0, 0, point.cast_signed())); // r1 += point
    code.push(instruction(0x63, stack, 1, key as i16, 0)); // *(u32 *) (r10 + key) = r1
    code.extend(lookup(array));
    to_end.push(code.len());
    code.push(instruction(0x15, 0, 0, 0, 0)); // if r0 == 0 goto end
    code.push(instruction(0xb7, 1, 0, 0, 1)); // r1 = 1
    code.push(instruction(0xdb, 0, 1, 0, 0)); // lock *(u64 *) r0 += r1
    let end = code.len();
    code.push(instruction(0xb7, 0, 0, 0, 0)); // end: r0 = 0
    code.push(instruction(0x95, 0, 0, 0, 0)); // exit
    for at in to_end {
        let distance = (end - at - 1) as i16;
        code[at][2..4].copy_from_slice(&distance.to_ne_bytes());
    }
    let license = c"";
    let words = [(0, PROGRAM_KPROBE), (4, code.len() as u32)];
    let wide = [(8, code.as_ptr() as u64), (16, license.as_ptr() as u64)];
    // SAFETY: the code has so many instructions and the license is NUL-terminated.
    unsafe { BpfArguments::new(&words, &wide).call(PROGRAM_LOAD) }.map(owned)
}
