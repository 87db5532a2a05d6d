//! Wrong usage in one line: what is wrong, and where to read how it is right.

use std::env;

use clap::CommandFactory as _;
use clap::error::{Error, ErrorKind};

use crate::cli::Cli;

/// What the error says, in one line, of a mistake on this command line; `None` when it is none.
pub(crate) fn mistake(error: &Error) -> Option<String> {
    told(error, env::args().nth(1).as_deref())
}

/// The paragraphs of the error in one line; `None` when it is help that was asked for. Not all errors
/// say which command they are about: most lines begin with it.
fn told(error: &Error, first_word: Option<&str>) -> Option<String> {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        return None;
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(in_one_line);
    let mut told = paragraphs.next()?.trim_start_matches("error: ").to_owned();
    for paragraph in paragraphs {
        for tip in paragraph.split("tip: ").map(str::trim).skip(1) {
            told = format!("{told}; {tip}");
        }
    }
    let command = first_word.filter(|word| Cli::command().find_subcommand(word).is_some());
    let command = command.map_or_else(String::new, |name| format!(" {name}"));
    Some(format!("{told}; try 'roce-sniff{command} --help'"))
}

fn in_one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::told;
    use crate::cli::Cli;

    fn of(line: &str) -> Option<String> {
        told(&Cli::try_parse_from(line.split(' ')).unwrap_err(), line.split(' ').nth(1))
    }

    #[test]
    fn a_mistake_takes_one_line() {
        let cases = [
            (
                "roce-sniff packets --foo",
                "unexpected argument '--foo' found; to pass '--foo' as a value, use '-- --foo'; \
                 try 'roce-sniff packets --help'",
            ),
            (
                "roce-sniff check --format jsn x",
                "invalid value 'jsn' for '--format <FORMAT>' [possible values: text, json, csv]; \
                 a similar value exists: 'json'; try 'roce-sniff check --help'",
            ),
            (
                "roce-sniff x.pcap --duration 5d",
                "invalid value '5d' for '--duration <TIME>': the unit must be us, ms, s, m or h; \
                 try 'roce-sniff --help'",
            ),
        ];
        for (line, wanted) in cases {
            assert_eq!(of(line).unwrap(), wanted);
        }
        let said = of("roce-sniff craft").unwrap();
        assert!(said.ends_with("<SCENARIO>; try 'roce-sniff craft --help'"), "{said}");
    }

    #[test]
    fn help_is_no_mistake() {
        assert_eq!(of("roce-sniff --help"), None);
        assert_eq!(of("roce-sniff check --help"), None);
        assert_eq!(of("roce-sniff --version"), None);
    }
}
