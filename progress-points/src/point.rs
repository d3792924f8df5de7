//! One place in the program where progress is counted.

use crate::abi::{Kind, Slot};
use crate::name::as_c_string;
use core::ffi::CStr;

/// A place where visits are counted. The macros make one static of it for each place.
///
/// ```
/// use progress_points::Point;
/// static ROWS: Point = Point::throughput(b"rows\0");
/// ROWS.visit();
/// ```
#[derive(Debug)]
pub struct Point {
    slot: Slot,
    kind: Kind,
    name: &'static CStr,
}

impl Point {
    /// A unit of work is done. The name ends with a NUL, else this panics (while compiling, in a
    /// static).
    #[must_use]
    pub const fn throughput(name: &'static [u8]) -> Self {
        Self::new(Kind::Throughput, name)
    }

    /// A unit of work arrives. The name as in [`Point::throughput`].
    #[must_use]
    pub const fn begin(name: &'static [u8]) -> Self {
        Self::new(Kind::Begin, name)
    }

    /// A unit of work leaves. The name as in [`Point::throughput`].
    #[must_use]
    pub const fn end(name: &'static [u8]) -> Self {
        Self::new(Kind::End, name)
    }

    const fn new(kind: Kind, name: &'static [u8]) -> Self {
        Self {
            slot: Slot::new(),
            kind,
            name: as_c_string(name),
        }
    }

    /// Counts a visit.
    #[inline]
    pub fn visit(&'static self) {
        self.slot.visit(self.kind, self.name);
    }
}

/// Visits the end of a latency pair when dropped. Made by [`scope!`](crate::scope).
#[derive(Debug)]
#[must_use = "the unit of work ends where this is dropped"]
pub struct Scope(&'static Point);

impl Scope {
    /// Visits `begin` now, and `end` when dropped.
    #[inline]
    pub fn enter(begin: &'static Point, end: &'static Point) -> Self {
        begin.visit();
        Self(end)
    }
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        self.0.visit();
    }
}
