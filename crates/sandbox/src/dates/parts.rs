//! Formats a time, part by part.

use jiff::Zoned;
use jiff::civil::Weekday;

use super::options::{DateFormatOptions, DigitStyle, MonthStyle, WeekdayStyle, ZoneName};
use super::{DatePart, zones};

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

/// The parts in order.
pub(super) fn format_parts(moment: &Zoned, options: &DateFormatOptions) -> Vec<DatePart> {
    let mut out = PartWriter(Vec::new());
    write_date(&mut out, moment, options);
    let (has_date, has_time) = (!out.0.is_empty(), options.has_time());
    if has_date && has_time {
        let only_weekday = options.day.is_none() && options.month.is_none() && options.year.is_none();
        out.push_literal(match options.month {
            Some(MonthStyle::Long) => " at ",
            None if only_weekday => " ",
            _ => ", ",
        });
    }
    write_time(&mut out, moment, options);
    if let Some(name) = options.time_zone_name {
        if !has_time {
            out.push_literal(", ");
        } else {
            out.push_literal(" ");
        }
        let name = match name {
            ZoneName::Short => zones::short_zone_name(moment),
            ZoneName::Long => zones::long_zone_name(moment),
        };
        out.push("timeZoneName", name);
    }
    out.0
}

struct PartWriter(Vec<DatePart>);

impl PartWriter {
    fn push(&mut self, kind: &'static str, value: impl Into<String>) {
        self.0.push(DatePart { kind, value: value.into() });
    }

    fn push_literal(&mut self, text: &str) {
        self.push("literal", text);
    }

    /// Adds a part, with a separator unless it is the first.
    fn push_after(&mut self, between: &str, first: &mut bool, kind: &'static str, value: String) {
        if !std::mem::take(first) {
            self.push_literal(between);
        }
        self.push(kind, value);
    }
}

fn write_date(out: &mut PartWriter, moment: &Zoned, options: &DateFormatOptions) {
    let in_words = matches!(options.month, Some(MonthStyle::Long | MonthStyle::Short | MonthStyle::Narrow));
    let has_more = options.day.is_some() || options.month.is_some() || options.year.is_some();
    if let Some(word) = options.weekday {
        out.push("weekday", format_weekday(moment.weekday(), word));
        if has_more {
            out.push_literal(", ");
        }
    }
    let month = options.month.map(|form| format_month(moment.month(), form));
    let day = options.day.map(|form| format_digits(i32::from(moment.day()), form));
    let year = options.year.map(|form| format_year(moment.year(), form));
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

fn write_time(out: &mut PartWriter, moment: &Zoned, options: &DateFormatOptions) {
    let mut first = true;
    let half_day = options.is_half_day();
    if let Some(form) = options.hour {
        let hour = i32::from(moment.hour());
        // A 24-hour clock always has two digits here.
        let value = match (half_day, form) {
            (true, form) => format_digits((hour + 11) % 12 + 1, form),
            (false, _) => format_digits(hour, DigitStyle::Two),
        };
        out.push_after("", &mut first, "hour", value);
    }
    if options.minute.is_some() {
        let alone = options.hour.is_none() && options.second.is_none();
        let form = if alone { DigitStyle::Numeric } else { DigitStyle::Two };
        out.push_after(":", &mut first, "minute", format_digits(i32::from(moment.minute()), form));
    }
    if options.second.is_some() {
        let alone = options.hour.is_none() && options.minute.is_none();
        let form = if alone { DigitStyle::Numeric } else { DigitStyle::Two };
        out.push_after(":", &mut first, "second", format_digits(i32::from(moment.second()), form));
    }
    if options.hour.is_some() && half_day {
        out.push_literal(" ");
        out.push("dayPeriod", if moment.hour() < 12 { "AM" } else { "PM" });
    }
}

fn format_digits(number: i32, form: DigitStyle) -> String {
    match form {
        DigitStyle::Numeric => number.to_string(),
        DigitStyle::Two => format!("{number:02}"),
    }
}

fn format_year(year: i16, form: DigitStyle) -> String {
    match form {
        DigitStyle::Numeric => year.to_string(),
        DigitStyle::Two => format!("{:02}", year.rem_euclid(100)),
    }
}

fn format_month(month: i8, form: MonthStyle) -> String {
    let name = MONTHS.get(usize::try_from(month - 1).unwrap_or(0)).copied().unwrap_or_default();
    match form {
        MonthStyle::Numeric => month.to_string(),
        MonthStyle::Two => format!("{month:02}"),
        MonthStyle::Long => name.to_owned(),
        MonthStyle::Short => name.chars().take(3).collect(),
        MonthStyle::Narrow => name.chars().take(1).collect(),
    }
}

fn format_weekday(day: Weekday, word: WeekdayStyle) -> String {
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
        WeekdayStyle::Long => name.to_owned(),
        WeekdayStyle::Short => name.chars().take(3).collect(),
        WeekdayStyle::Narrow => name.chars().take(1).collect(),
    }
}
