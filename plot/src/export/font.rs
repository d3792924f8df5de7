//! The letters of pictures. SVG names fonts that the viewer has; a PNG has to carry its letters, so
//! they are drawn as outlines of DejaVu, which is compiled in: a picture looks the same on a machine
//! without any font.

use ttf_parser::{Face as Outlines, GlyphId, OutlineBuilder};

/// A kind of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Face {
    Plain,
    Bold,
    /// For code.
    Mono,
}

impl Face {
    /// As attributes of an SVG text.
    pub fn attributes(self) -> &'static str {
        match self {
            Face::Plain => "font-family=\"DejaVu Sans,Verdana,sans-serif\"",
            Face::Bold => "font-family=\"DejaVu Sans,Verdana,sans-serif\" font-weight=\"700\"",
            Face::Mono => "font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\"",
        }
    }

    fn outlines(self) -> Option<Outlines<'static>> {
        let bytes = match self {
            Face::Plain => dejavu::sans::regular(),
            Face::Bold => dejavu::sans::bold(),
            Face::Mono => dejavu::sans_mono::regular(),
        };
        Outlines::parse(bytes, 0).ok()
    }

    /// How wide the text is at a size, in pixels, as DejaVu has it; other fonts are narrower.
    pub fn width(self, text: &str, size: f64) -> f64 {
        let Some(face) = self.outlines() else {
            return 0.0;
        };
        let advance = |character| f64::from(advance(&face, glyph(&face, character)));
        text.chars().map(advance).sum::<f64>() * size / f64::from(face.units_per_em())
    }

    /// The text, cut with an ellipsis where it is wider than this.
    pub fn cut(self, text: &str, size: f64, widest: f64) -> String {
        if self.width(text, size) <= widest {
            return text.to_owned();
        }
        let mut kept: Vec<char> = text.chars().collect();
        while kept.pop().is_some() {
            let shorter = kept.iter().collect::<String>() + "…";
            if self.width(&shorter, size) <= widest {
                return shorter;
            }
        }
        String::new()
    }

    /// The text in lines no wider than this.
    pub fn wrap(self, text: &str, size: f64, widest: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line) if self.width(&format!("{line} {word}"), size) <= widest => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(self.cut(word, size, widest)),
            }
        }
        lines
    }

    /// Draws the outlines of a text, glyph by glyph: `outline` gets each with how far right of the
    /// text's start it stands, in units of the font, and the units of an em.
    pub fn draw(
        self,
        text: &str,
        mut outline: impl FnMut(&dyn Fn(&mut dyn OutlineBuilder), f64, f64),
    ) {
        let Some(face) = self.outlines() else {
            return;
        };
        let em = f64::from(face.units_per_em());
        let mut right = 0.0;
        for character in text.chars() {
            let glyph = glyph(&face, character);
            outline(
                &|builder| {
                    // A space has no outline.
                    let _ = face.outline_glyph(glyph, builder);
                },
                right,
                em,
            );
            right += f64::from(advance(&face, glyph));
        }
    }
}

/// The glyph of a character; the box for unknown ones if the font has none.
fn glyph(face: &Outlines, character: char) -> GlyphId {
    face.glyph_index(character).unwrap_or_default()
}

fn advance(face: &Outlines, glyph: GlyphId) -> u16 {
    face.glyph_hor_advance(glyph).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_and_wrapped_to_its_width() {
        let text = "The quick brown fox jumps over the lazy dog";
        assert!(Face::Bold.width(text, 12.0) > Face::Plain.width(text, 12.0));
        assert_eq!(
            Face::Mono.width("iiii", 10.0),
            Face::Mono.width("MMMM", 10.0)
        );
        let cut = Face::Plain.cut(text, 12.0, 100.0);
        assert!(
            cut.ends_with('…') && Face::Plain.width(&cut, 12.0) <= 100.0,
            "{cut}"
        );
        let lines = Face::Plain.wrap(text, 12.0, 100.0);
        assert_eq!(lines.join(" "), text);
        assert!(lines.len() > 2);
        assert!(
            lines
                .iter()
                .all(|line| Face::Plain.width(line, 12.0) <= 100.0)
        );
    }
}
