//! The next definition of a function after our own object, read from the loaded objects' tables.
//!
//! dlsym(3) would find the same, but programs stand before it (allocators, overlays) and take locks
//! there, or allocate, while the thread that made us look up holds that very lock. So nothing is
//! called here: the dynamic linker's list of objects and their hash tables are only read (System V
//! ABI, chapter 5; the GNU hash and version sections as glibc writes them).

use core::arch::asm;
use core::ffi::{CStr, c_char, c_int};

/// What was found.
#[derive(Clone, Copy)]
pub enum Found {
    /// Where it is.
    Function(*const ()),
    /// It chooses its own implementation (STT_GNU_IFUNC): dlsym must be asked.
    Indirect,
    /// No loaded object after us defines it.
    Nothing,
    /// The list does not hold us.
    Lost,
}

/// `struct r_debug` (link.h), its first two members.
#[repr(C)]
struct Debug {
    version: c_int,
    first: *const Object,
}

/// `struct link_map` (link.h), its public members.
#[repr(C)]
struct Object {
    address: u64,
    name: *const c_char,
    dynamic: *const Entry,
    next: *const Object,
    previous: *const Object,
}

#[repr(C)]
struct Entry {
    tag: i64,
    value: u64,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// `Elf64_Verdef` and its first `Elf64_Verdaux`.
#[repr(C)]
struct VersionDefinition {
    version: u16,
    flags: u16,
    index: u16,
    count: u16,
    hash: u32,
    names: u32,
    next: u32,
}

#[repr(C)]
struct VersionName {
    name: u32,
    next: u32,
}

unsafe extern "C" {
    /// Of the dynamic linker, for debuggers: the objects of the program's own namespace.
    static _r_debug: Debug;
}

const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
const DT_VERDEF: i64 = 0x6fff_fffc;
/// Bit of a version index: not the default version.
const HIDDEN: u16 = 0x8000;
const TYPE_FUNCTION: u8 = 2;
const TYPE_INDIRECT: u8 = 10;
/// Longer lists and chains are damaged ones.
const LONGEST: usize = 100_000;

/// Looks `name` up in the objects loaded after ours; `version` empty means the default one. Both
/// end in NUL.
///
/// # Signal safety
/// Loads only.
pub fn next(name: &[u8], version: &[u8]) -> Found {
    let name = bytes(name);
    let version = bytes(version);
    // SAFETY: the dynamic linker's own variable, set before any constructor runs.
    let mut object = unsafe { _r_debug.first };
    let own = own_dynamic();
    let mut past_us = false;
    for _ in 0..LONGEST {
        // SAFETY: null, or an object of the dynamic linker's list; objects loaded at start stay.
        let Some(this) = (unsafe { object.as_ref() }) else {
            break;
        };
        if past_us {
            match Tables::of(this).and_then(|tables| tables.find(name, version)) {
                None => {}
                Some(found) => return found,
            }
        }
        past_us |= this.dynamic == own;
        object = this.next;
    }
    if past_us { Found::Nothing } else { Found::Lost }
}

/// Without the NUL at its end.
fn bytes(text: &[u8]) -> &[u8] {
    text.strip_suffix(b"\0").unwrap_or(text)
}

/// Our own dynamic section, by which we know ourselves.
fn own_dynamic() -> *const Entry {
    let address: *const Entry;
    // SAFETY: the linker defines _DYNAMIC in every shared object; its address is taken.
    unsafe {
        asm!("lea {0}, [rip + _DYNAMIC]", out(reg) address, options(pure, nomem, nostack));
    }
    address
}

/// The tables of one object.
struct Tables {
    base: u64,
    strings: u64,
    symbols: *const Symbol,
    hash: *const u32,
    /// Null if the object has no versions.
    versions: *const u16,
    definitions: u64,
}

impl Tables {
    fn of(object: &Object) -> Option<Tables> {
        let mut tables = Tables {
            base: object.address,
            strings: 0,
            symbols: core::ptr::null(),
            hash: core::ptr::null(),
            versions: core::ptr::null(),
            definitions: 0,
        };
        for at in 0..LONGEST {
            let entry = object.dynamic.wrapping_add(at);
            // SAFETY: inside the dynamic section, whose end was not seen yet.
            let entry = unsafe { &*entry };
            // glibc has relocated the pointers where the section can be written to.
            let place = if entry.value < object.address {
                entry.value.wrapping_add(object.address)
            } else {
                entry.value
            };
            match entry.tag {
                0 => break,
                DT_STRTAB => tables.strings = place,
                DT_SYMTAB => tables.symbols = place as *const Symbol,
                DT_GNU_HASH => tables.hash = place as *const u32,
                DT_VERSYM => tables.versions = place as *const u16,
                DT_VERDEF => tables.definitions = place,
                _ => {}
            }
        }
        let usable = tables.strings != 0 && !tables.symbols.is_null() && !tables.hash.is_null();
        usable.then_some(tables)
    }

    /// The function of this name and version, if the object defines it.
    fn find(&self, name: &[u8], version: &[u8]) -> Option<Found> {
        let hash = gnu_hash(name);
        let [buckets, first, filter, _shift] = self.words::<4>(0);
        if buckets == 0 {
            return None;
        }
        // After the header: the filter, of 64-bit words; then buckets; then a chain a symbol.
        let bucket_at = 4 + filter as usize * 2;
        let [mut index] = self.words::<1>(bucket_at + (hash % buckets) as usize);
        if index < first {
            return None;
        }
        let chain_at = bucket_at + buckets as usize;
        for _ in 0..LONGEST {
            let [chained] = self.words::<1>(chain_at + (index - first) as usize);
            if chained | 1 == hash | 1
                && let Some(found) = self.judge(index as usize, name, version)
            {
                return Some(found);
            }
            if chained & 1 == 1 {
                break;
            }
            index += 1;
        }
        None
    }

    /// Words of the hash table.
    fn words<const COUNT: usize>(&self, at: usize) -> [u32; COUNT] {
        let place = self.hash.wrapping_add(at).cast::<[u32; COUNT]>();
        // SAFETY: the callers follow the table's own sizes, and the object is loaded.
        unsafe { place.read() }
    }

    /// Symbol `index`, if it is the one.
    fn judge(&self, index: usize, name: &[u8], version: &[u8]) -> Option<Found> {
        let symbol = self.symbols.wrapping_add(index);
        // SAFETY: an index of the object's own hash table.
        let symbol = unsafe { &*symbol };
        let kind = symbol.info & 15;
        let defined = symbol.section != 0 && symbol.value != 0;
        if !defined || !matches!(kind, 0 | TYPE_FUNCTION | TYPE_INDIRECT) {
            return None;
        }
        if self.text(symbol.name) != name || !self.has_version(index, version) {
            return None;
        }
        if kind == TYPE_INDIRECT {
            return Some(Found::Indirect);
        }
        Some(Found::Function(
            self.base.wrapping_add(symbol.value) as *const ()
        ))
    }

    fn has_version(&self, index: usize, version: &[u8]) -> bool {
        if self.versions.is_null() {
            return true;
        }
        let number = self.versions.wrapping_add(index);
        // SAFETY: there is a version index for each symbol.
        let number = unsafe { number.read() };
        if version.is_empty() {
            return number & HIDDEN == 0 && number != 0;
        }
        self.version_name(number & !HIDDEN)
            .is_none_or(|name| name == version)
    }

    /// The name of a version that the object defines; nothing for one without versions.
    fn version_name(&self, number: u16) -> Option<&[u8]> {
        if self.definitions == 0 {
            return None;
        }
        let mut at = self.definitions;
        for _ in 0..LONGEST {
            // SAFETY: a link of the object's list of versions.
            let definition = unsafe { &*(at as *const VersionDefinition) };
            if definition.index & !HIDDEN == number {
                let names = at.wrapping_add(u64::from(definition.names)) as *const VersionName;
                // SAFETY: each definition has at least its own name.
                return Some(self.text(unsafe { (*names).name }));
            }
            if definition.next == 0 {
                break;
            }
            at = at.wrapping_add(u64::from(definition.next));
        }
        // The base version stands for the object itself.
        Some(b"")
    }

    fn text(&self, offset: u32) -> &[u8] {
        let start = self.strings.wrapping_add(u64::from(offset)) as *const c_char;
        // SAFETY: an offset of the object's own string table, whose strings end in NUL.
        unsafe { CStr::from_ptr(start) }.to_bytes()
    }
}

/// The hash of DT_GNU_HASH tables.
fn gnu_hash(name: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| hash.wrapping_mul(33).wrapping_add(u32::from(*byte));
    name.iter().fold(5381, step)
}
