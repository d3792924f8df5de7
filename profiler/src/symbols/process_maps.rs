//! The mappings of a process, from `/proc/PID/maps`.

use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// One mapping of a file, or the vDSO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) executable: bool,
    pub(super) offset: u64,
    /// Device as `major:minor`, as the kernel prints it: only compared.
    pub(super) device: String,
    pub(super) inode: u64,
    pub(super) path: PathBuf,
}

/// The path that stands for the vDSO.
pub(super) const VDSO: &str = "[vdso]";

/// The mappings that can hold code of a module, in the kernel's order: ascending.
pub(super) fn parse(text: &[u8]) -> Vec<Mapping> {
    text.split(|&byte| byte == b'\n')
        .filter_map(mapping)
        .collect()
}

/// The file that is mapped at `address`, from the text of `/proc/PID/maps`.
#[must_use]
pub fn mapped_file(maps: &[u8], address: u64) -> Option<PathBuf> {
    let mappings = parse(maps).into_iter();
    let mut found = mappings.filter(|mapping| (mapping.start..mapping.end).contains(&address));
    found.next().map(|mapping| mapping.path)
}

fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        rest = rest.trim_ascii_start();
        let end = rest
            .iter()
            .position(|byte| *byte == b' ')
            .unwrap_or(rest.len());
        let (field, after) = rest.split_at(end);
        rest = after;
        std::str::from_utf8(field).ok()
    };
    let (start, end) = field()?.split_once('-')?;
    let (permissions, offset, device, inode) = (field()?, field()?, field()?.to_owned(), field()?);
    let path = unescaped(rest.trim_ascii_start());
    let inode = inode.parse().ok()?;
    if path.is_empty() || (inode == 0 && path != VDSO.as_bytes()) {
        return None;
    }
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        executable: permissions.as_bytes().get(2) == Some(&b'x'),
        offset: u64::from_str_radix(offset, 16).ok()?,
        device,
        inode,
        path: PathBuf::from(std::ffi::OsString::from_vec(path)),
    })
}

/// The kernel writes a newline as `\012` and a backslash as `\134`, and appends ` (deleted)`.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        plain.push(match (byte, after) {
            (b'\\', [b'0', b'1', b'2', more @ ..]) => {
                rest = more;
                b'\n'
            }
            (b'\\', [b'1', b'3', b'4', more @ ..]) => {
                rest = more;
                b'\\'
            }
            _ => byte,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_and_the_vdso_are_read() {
        let text = b"\
55d0c8a00000-55d0c8a05000 r--p 00000000 fe:01 123                        /opt/my app (deleted)
55d0c8a05000-55d0c8a0b000 r-xp 00005000 fe:01 123                        /opt/a\\012b\\134c
55d0c9000000-55d0c9021000 rw-p 00000000 00:00 0                          [heap]
7ffd1b5f1000-7ffd1b5f3000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n";
        let maps = parse(text);
        assert_eq!(maps.len(), 3);
        assert_eq!(maps[0].path, PathBuf::from("/opt/my app"));
        assert!(!maps[0].executable);
        assert_eq!(maps[1].path, PathBuf::from("/opt/a\nb\\c"));
        assert_eq!(
            (maps[1].start, maps[1].end, maps[1].offset, maps[1].inode),
            (0x55d0_c8a0_5000, 0x55d0_c8a0_b000, 0x5000, 123)
        );
        assert_eq!(
            (maps[2].path.as_path(), maps[2].executable),
            (VDSO.as_ref(), true)
        );
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&text);
        }
    }
}
