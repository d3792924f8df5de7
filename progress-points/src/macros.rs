//! The macros: each makes the static of its place and visits it.

/// A unit of work is done: counts a visit of a throughput point.
///
/// Without a name the point is named after its place, `file:line`. The name is a constant `&str`.
///
/// ```
/// use progress_points::progress;
///
/// const WRITTEN: &str = "block written";
/// for block in 0..3 {
///     progress!(); // "src/writer.rs:7"
///     progress!("block");
///     progress!(WRITTEN); // the same counter as every other `progress!("block written")`
/// }
/// ```
#[macro_export]
macro_rules! progress {
    () => {
        $crate::progress!(::core::concat!(::core::file!(), ":", ::core::line!()))
    };
    ($name:expr $(,)?) => {
        $crate::__point!(throughput, $name).visit()
    };
}

/// A unit of work arrives: counts a visit of the begin point of a latency pair.
///
/// The pair's other half is [`end!`](crate::end) with the same name, on any thread.
///
/// ```
/// use progress_points::{begin, end};
/// use std::sync::mpsc::channel;
///
/// let (send, receive) = channel();
/// for request in 0..3 {
///     begin!("request");
///     send.send(request)?;
/// }
/// drop(send);
/// for _answered in receive {
///     end!("request");
/// }
/// # Ok::<(), std::sync::mpsc::SendError<i32>>(())
/// ```
#[macro_export]
macro_rules! begin {
    ($name:expr $(,)?) => {
        $crate::__point!(begin, $name).visit()
    };
}

/// A unit of work leaves: counts a visit of the end point of a latency pair.
///
/// ```
/// use progress_points::{begin, end};
///
/// begin!("lookup");
/// let found = [3, 1, 4].iter().position(|&digit| digit == 4);
/// end!("lookup");
/// # assert_eq!(found, Some(2));
/// ```
#[macro_export]
macro_rules! end {
    ($name:expr $(,)?) => {
        $crate::__point!(end, $name).visit()
    };
}

/// A unit of work that is the rest of the enclosing scope: [`begin!`](crate::begin) here and
/// [`end!`](crate::end) where the scope is left, also by `return`, `?` or a panic.
///
/// ```
/// use progress_points::scope;
///
/// fn parse(text: &str) -> Result<i32, std::num::ParseIntError> {
///     scope!("parse");
///     Ok(text.trim().parse::<i32>()? + 1)
/// }
/// assert!(parse("x").is_err());
/// ```
#[macro_export]
macro_rules! scope {
    ($name:expr $(,)?) => {
        let _scope =
            $crate::Scope::enter($crate::__point!(begin, $name), $crate::__point!(end, $name));
    };
}

/// The static of one place. Its names are ugly because items are not hygienic: `$name` sees them.
#[doc(hidden)]
#[macro_export]
macro_rules! __point {
    ($kind:ident, $name:expr) => {{
        const __COZ_RS_NAME: &::core::primitive::str = $name;
        static __COZ_RS_ENDED: [::core::primitive::u8; __COZ_RS_NAME.len() + 1] =
            $crate::terminated(__COZ_RS_NAME);
        static __COZ_RS_POINT: $crate::Point = $crate::Point::$kind(&__COZ_RS_ENDED);
        &__COZ_RS_POINT
    }};
}
