//! A table of plain text that fits a width: columns that matter less are left out, long names are
//! cut.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Names are not cut to less, whatever the width.
const LEAST: usize = 8;
/// Space between columns.
const GAP: usize = 2;

/// One column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub title: &'static str,
    pub right: bool,
    /// Left out from the highest number on when the width is short; 0 stays.
    pub dispensable: u8,
    /// Least width that it may be cut to; cut only if set. Cut names lose their middle.
    pub cut_to: Option<usize>,
}

/// A cell, and how it is to look.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub text: String,
    /// Parameters of the escape sequence that sets its colour, without colour if empty.
    pub style: &'static str,
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, style: "" }
    }
}

/// The table, each line ended.
pub(super) fn render(columns: &[Column], rows: &[Vec<Cell>], width: usize, colour: bool) -> String {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.title.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.width());
        }
    }
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    let total = |widths: &[usize], shown: &[usize]| {
        shown
            .iter()
            .map(|column| widths[*column] + GAP)
            .sum::<usize>()
            - GAP.min(shown.len() * GAP)
    };
    loop {
        let over = total(&widths, &shown).saturating_sub(width);
        if over == 0 {
            break;
        }
        // Cut the widest first, but not to nothing; then leave a column out.
        let cuttable = shown.iter().copied().filter(|column| {
            columns[*column]
                .cut_to
                .is_some_and(|least| widths[*column] > least)
        });
        if let Some(widest) = cuttable.max_by_key(|column| widths[*column]) {
            let least = columns[widest].cut_to.unwrap_or(0);
            widths[widest] = widths[widest].saturating_sub(over.min(8)).max(least);
            continue;
        }
        let droppable = shown
            .iter()
            .copied()
            .filter(|column| columns[*column].dispensable > 0);
        let Some(dropped) = droppable.max_by_key(|column| columns[*column].dispensable) else {
            // Nothing is left to leave out: what may be cut is cut further.
            let mut names = shown
                .iter()
                .copied()
                .filter(|column| columns[*column].cut_to.is_some());
            if let Some(widest) = names.next() {
                widths[widest] = widths[widest]
                    .saturating_sub(over)
                    .max(LEAST.min(widths[widest]));
            }
            break;
        };
        shown.retain(|column| *column != dropped);
        // What was cut may grow again.
        for column in &shown {
            let natural = rows
                .iter()
                .map(|row| row[*column].text.width())
                .max()
                .unwrap_or(0);
            widths[*column] = natural.max(columns[*column].title.width());
        }
    }
    let mut text = String::new();
    let titles: Vec<Cell> = columns
        .iter()
        .map(|column| Cell {
            text: column.title.to_owned(),
            style: "1",
        })
        .collect();
    for row in std::iter::once(&titles).chain(rows) {
        let mut line = String::new();
        for (place, column) in shown.iter().enumerate() {
            if place > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let cell = &row[*column];
            let cut = cut(&cell.text, widths[*column]);
            let blank = " ".repeat(widths[*column].saturating_sub(cut.width()));
            let cut = paint(&cut, cell.style, colour);
            if columns[*column].right {
                line.push_str(&blank);
                line.push_str(&cut);
            } else {
                line.push_str(&cut);
                line.push_str(&blank);
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The text in a colour, if there are colours.
pub(super) fn paint(text: &str, style: &str, colour: bool) -> String {
    if colour && !style.is_empty() && !text.is_empty() {
        format!("\u{1b}[{style}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

/// The text without its middle if it is too wide: both ends of a name tell most.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let take = |characters: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        let mut taken = Vec::new();
        for character in characters {
            used += character.width().unwrap_or(0);
            if used > room {
                break;
            }
            taken.push(character);
        }
        taken
    };
    let front = take(&mut text.chars(), room / 2);
    let mut back = take(&mut text.chars().rev(), room - room / 2);
    back.reverse();
    let mut cut: String = front.into_iter().collect();
    cut.push('…');
    cut.extend(back);
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COLUMNS: [Column; 3] = [
        Column {
            title: "line",
            right: false,
            dispensable: 0,
            cut_to: Some(4),
        },
        Column {
            title: "gain",
            right: true,
            dispensable: 0,
            cut_to: None,
        },
        Column {
            title: "samples",
            right: true,
            dispensable: 1,
            cut_to: None,
        },
    ];

    fn rows() -> Vec<Vec<Cell>> {
        vec![
            vec![
                "a_long_name.c:10".to_owned().into(),
                "3 %".to_owned().into(),
                "7".to_owned().into(),
            ],
            vec![
                "b.c:1".to_owned().into(),
                "11 %".to_owned().into(),
                "123".to_owned().into(),
            ],
        ]
    }

    #[test]
    fn it_fits_by_cutting_and_then_by_leaving_out() {
        assert_eq!(
            render(&COLUMNS, &rows(), 80, false),
            "line              gain  samples\n\
             a_long_name.c:10   3 %        7\n\
             b.c:1             11 %      123\n"
        );
        assert_eq!(
            render(&COLUMNS, &rows(), 22, false),
            "line     gain  samples\n\
             a_l….c:10   3 %        7\n"
                .replace("a_l….c:10", "a_l…:10")
                + "b.c:1    11 %      123\n"
        );
        assert_eq!(
            render(&COLUMNS, &rows(), 12, false),
            "line    gain\na_….c:10   3 %\n".replace("a_….c:10", "a_…:10") + "b.c:1   11 %\n"
        );
    }

    proptest! {
        #[test]
        fn cutting_keeps_the_width(text in "[a-z0-9:äλ中🦀]{0,40}", width in 1usize..30) {
            prop_assert!(cut(&text, width).width() <= width);
        }
    }
}
