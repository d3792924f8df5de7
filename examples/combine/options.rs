//! The command line.

/// What may be asked for.
pub const USAGE: &str = "\
usage: combine [--runs N]
       combine stages [--seconds S] [--sum KERNEL] [--product KERNEL]
KERNEL is combine1 … combine7, lanes or vector.";

/// What the command line asks for.
pub enum Options {
    /// The table of cycles per element, each time the least of so many runs.
    Table { runs: usize },
    /// The threaded program.
    Stages(Stages),
}

/// Options of the threaded program.
pub struct Stages {
    pub seconds: f64,
    pub sum: String,
    pub product: String,
}

impl Options {
    /// Nothing if the words are no command line.
    pub fn read(words: impl Iterator<Item = String>) -> Option<Self> {
        let mut words = words.peekable();
        let staged = words.next_if(|word| word == "stages").is_some();
        let mut stages = Stages {
            seconds: 20.0,
            sum: "combine1".to_owned(),
            product: "combine1".to_owned(),
        };
        let mut runs = 31;
        while let Some(word) = words.next() {
            let value = words.next()?;
            match (&word[..], staged) {
                ("--runs", false) => runs = value.parse().ok().filter(|&runs| runs > 2)?,
                ("--seconds", true) => stages.seconds = value.parse().ok()?,
                ("--sum", true) => stages.sum = value,
                ("--product", true) => stages.product = value,
                _ => return None,
            }
        }
        Some(if staged {
            Options::Stages(stages)
        } else {
            Options::Table { runs }
        })
    }
}
