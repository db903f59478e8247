//! Writes a moment, piece by piece.

use jiff::Zoned;
use jiff::civil::Weekday;

use super::options::{Digits, Month, Options, Word, ZoneName};
use super::{Part, zones};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The pieces in order.
pub(super) fn parts(moment: &Zoned, options: &Options) -> Vec<Part> {
    let mut out = Out(Vec::new());
    date(&mut out, moment, options);
    let (has_date, has_time) = (!out.0.is_empty(), options.has_time());
    if has_date && has_time {
        let only_weekday = options.day.is_none() && options.month.is_none() && options.year.is_none();
        out.literal(match options.month {
            Some(Month::Long) => " at ",
            None if only_weekday => " ",
            _ => ", ",
        });
    }
    time(&mut out, moment, options);
    if let Some(name) = options.time_zone_name {
        if !has_time {
            out.literal(", ");
        } else {
            out.literal(" ");
        }
        let name = match name {
            ZoneName::Short => zones::short(moment),
            ZoneName::Long => zones::long(moment),
        };
        out.push("timeZoneName", name);
    }
    out.0
}

struct Out(Vec<Part>);

impl Out {
    fn push(&mut self, kind: &'static str, value: impl Into<String>) {
        self.0.push(Part { kind, value: value.into() });
    }

    fn literal(&mut self, text: &str) {
        self.push("literal", text);
    }

    /// A piece behind another, if there is one.
    fn push_after(&mut self, between: &str, first: &mut bool, kind: &'static str, value: String) {
        if !std::mem::take(first) {
            self.literal(between);
        }
        self.push(kind, value);
    }
}

fn date(out: &mut Out, moment: &Zoned, options: &Options) {
    let in_words = matches!(options.month, Some(Month::Long | Month::Short | Month::Narrow));
    let has_more = options.day.is_some() || options.month.is_some() || options.year.is_some();
    if let Some(word) = options.weekday {
        out.push("weekday", weekday(moment.weekday(), word));
        if has_more {
            out.literal(", ");
        }
    }
    let month = options.month.map(|form| month(moment.month(), form));
    let day = options.day.map(|form| digits(i32::from(moment.day()), form));
    let year = options.year.map(|form| year(moment.year(), form));
    let mut first = true;
    if !in_words {
        for (kind, value) in [("month", month), ("day", day), ("year", year)] {
            if let Some(value) = value {
                out.push_after("/", &mut first, kind, value);
            }
        }
        return;
    }
    let comma = if day.is_some() { ", " } else { " " };
    for (between, kind, value) in [("", "month", month), (" ", "day", day), (comma, "year", year)] {
        if let Some(value) = value {
            out.push_after(between, &mut first, kind, value);
        }
    }
}

fn time(out: &mut Out, moment: &Zoned, options: &Options) {
    let mut first = true;
    let half_day = options.is_half_day();
    if let Some(form) = options.hour {
        let hour = i32::from(moment.hour());
        // A clock of 24 hours always has two digits there, unless it stands alone as asked for.
        let value = match (half_day, form) {
            (true, form) => digits((hour + 11) % 12 + 1, form),
            (false, _) => digits(hour, Digits::Two),
        };
        out.push_after("", &mut first, "hour", value);
    }
    if options.minute.is_some() {
        let alone = options.hour.is_none() && options.second.is_none();
        let form = if alone { Digits::Numeric } else { Digits::Two };
        out.push_after(":", &mut first, "minute", digits(i32::from(moment.minute()), form));
    }
    if options.second.is_some() {
        let alone = options.hour.is_none() && options.minute.is_none();
        let form = if alone { Digits::Numeric } else { Digits::Two };
        out.push_after(":", &mut first, "second", digits(i32::from(moment.second()), form));
    }
    if options.hour.is_some() && half_day {
        out.literal(" ");
        out.push("dayPeriod", if moment.hour() < 12 { "AM" } else { "PM" });
    }
}

fn digits(number: i32, form: Digits) -> String {
    match form {
        Digits::Numeric => number.to_string(),
        Digits::Two => format!("{number:02}"),
    }
}

fn year(year: i16, form: Digits) -> String {
    match form {
        Digits::Numeric => year.to_string(),
        Digits::Two => format!("{:02}", year.rem_euclid(100)),
    }
}

fn month(month: i8, form: Month) -> String {
    let name = MONTHS.get(usize::try_from(month - 1).unwrap_or(0)).copied().unwrap_or_default();
    match form {
        Month::Numeric => month.to_string(),
        Month::Two => format!("{month:02}"),
        Month::Long => name.to_owned(),
        Month::Short => name.chars().take(3).collect(),
        Month::Narrow => name.chars().take(1).collect(),
    }
}

fn weekday(day: Weekday, word: Word) -> String {
    let name = match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    };
    match word {
        Word::Long => name.to_owned(),
        Word::Short => name.chars().take(3).collect(),
        Word::Narrow => name.chars().take(1).collect(),
    }
}
