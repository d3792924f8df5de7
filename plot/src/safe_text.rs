//! Names from a profile made safe to print: a terminal must not obey what a file says.

/// The text on one line: control characters, and those that turn the direction of text, become
/// escapes like `\u{1b}`.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmful(character) {
            safe.extend(character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    safe
}

fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(character,
            // Invisible or reordering: soft hyphen, marks and overrides of direction, joiners,
            // line and paragraph separators, byte order mark, tags.
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(one_line("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\u{a}b");
        assert_eq!(one_line("\u{202e}gnp.exe"), "\\u{202e}gnp.exe");
        assert_eq!(one_line("größe<T>::λ"), "größe<T>::λ");
    }
}
