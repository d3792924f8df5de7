//! The live stack of the interrupted thread, and the row that holds at an address.

use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use super::syscalls::read_own_memory;
use crate::layout::{MAX_MODULES, MAX_ROWS, Module, Region};
use crate::stack_walk::StackMemory;
use crate::unwind_row::Row;

/// Reads outside the known stack that one walk may make: each is a system call.
const READS: u32 = 64;

/// The stack between the interrupted stack pointer and its top is read directly; anything else
/// (fibres, alternate stacks) through the kernel, which checks it.
pub struct LiveStack {
    low: u64,
    high: u64,
    reads: Cell<u32>,
}

impl LiveStack {
    /// The stack from `stack_pointer` up to `top` (0: unknown).
    pub fn new(stack_pointer: u64, top: u64) -> LiveStack {
        LiveStack {
            low: stack_pointer,
            high: top,
            reads: Cell::new(READS),
        }
    }
}

impl StackMemory for LiveStack {
    fn word(&self, address: u64) -> Option<u64> {
        if !address.is_multiple_of(8) {
            return None;
        }
        if address >= self.low && address < self.high.saturating_sub(7) {
            // SAFETY: between the thread's stack pointer and the top of its stack, as noted when
            // the thread was registered; aligned.
            return Some(unsafe { (address as *const u64).read_volatile() });
        }
        let left = self.reads.get().checked_sub(1)?;
        self.reads.set(left);
        let mut word = [0];
        read_own_memory(address, &mut word).then_some(word[0])
    }
}

/// The published modules.
pub struct Modules {
    list: &'static [Module],
    region: &'static Region,
}

impl Modules {
    /// The modules in force; `None` before the first publication.
    pub fn current(region: &'static Region) -> Option<Modules> {
        // Acquire: partner of the controller's Release after it filled the list and the rows.
        let generation = region.modules[0].generation.load(Acquire);
        if generation == 0 {
            return None;
        }
        let list = &region.modules[(generation & 1) as usize];
        let count = (list.count.load(Relaxed) as usize).min(MAX_MODULES);
        Some(Modules {
            list: &list.modules[..count],
            region,
        })
    }

    /// The module that `address` is in.
    fn module(&self, address: u64) -> Option<&'static Module> {
        let after = self
            .list
            .partition_point(|module| module.start.load(Relaxed) <= address);
        let module = &self.list[after.checked_sub(1)?];
        (address < module.end.load(Relaxed)).then_some(module)
    }

    /// The row that holds at `address`.
    pub fn row(&self, address: u64) -> Option<Row> {
        let module = self.module(address)?;
        let pc = u32::try_from(address.checked_sub(module.base.load(Relaxed))?).ok()?;
        let first = module.first_row.load(Relaxed) as usize;
        let last = first.checked_add(module.rows.load(Relaxed) as usize)?;
        let rows = self.region.rows.get(first..last.min(MAX_ROWS))?;
        let after = rows.partition_point(|row| row[0].load(Relaxed) <= pc);
        let row = &rows[after.checked_sub(1)?];
        Some(Row::decode([
            row[0].load(Relaxed),
            row[1].load(Relaxed),
            row[2].load(Relaxed),
        ]))
    }
}

/// Whether `address` is inside a published module.
pub fn in_module(region: &'static Region, address: u64) -> bool {
    Modules::current(region).is_some_and(|modules| modules.module(address).is_some())
}
