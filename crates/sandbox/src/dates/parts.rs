//! Formats a time, part by part.

use jiff::Zoned;

use super::options::{DateFormatOptions, DigitStyle, MonthStyle, WeekdayStyle, ZoneName};
use super::{DatePart, zones};

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
    if let Some(style) = options.weekday {
        out.push("weekday", format_weekday(moment, style));
        if has_more {
            out.push_literal(", ");
        }
    }
    let month = options.month.map(|style| format_month(moment, style));
    let day = options.day.map(|style| format_digits(moment, style, "%-d", "%d"));
    let year = options.year.map(|style| format_year(moment.year(), style));
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
    if let Some(style) = options.hour {
        // A 24-hour clock always has two digits here.
        let (plain, padded) = if half_day { ("%-I", "%I") } else { ("%H", "%H") };
        out.push_after("", &mut first, "hour", format_digits(moment, style, plain, padded));
    }
    // Two digits, unless it is the only number.
    let style = |alone| if alone { DigitStyle::Numeric } else { DigitStyle::Two };
    if options.minute.is_some() {
        let style = style(options.hour.is_none() && options.second.is_none());
        out.push_after(":", &mut first, "minute", format_digits(moment, style, "%-M", "%M"));
    }
    if options.second.is_some() {
        let style = style(options.hour.is_none() && options.minute.is_none());
        out.push_after(":", &mut first, "second", format_digits(moment, style, "%-S", "%S"));
    }
    if options.hour.is_some() && half_day {
        out.push_literal(" ");
        out.push("dayPeriod", moment.strftime("%p").to_string());
    }
}

fn format_digits(moment: &Zoned, style: DigitStyle, plain: &str, padded: &str) -> String {
    let pattern = match style {
        DigitStyle::Numeric => plain,
        DigitStyle::Two => padded,
    };
    moment.strftime(pattern).to_string()
}

fn format_year(year: i16, style: DigitStyle) -> String {
    match style {
        DigitStyle::Numeric => year.to_string(),
        DigitStyle::Two => format!("{:02}", year.rem_euclid(100)),
    }
}

fn format_month(moment: &Zoned, style: MonthStyle) -> String {
    let pattern = match style {
        MonthStyle::Numeric => "%-m",
        MonthStyle::Two => "%m",
        MonthStyle::Short => "%b",
        MonthStyle::Long => "%B",
        MonthStyle::Narrow => return first_letter(moment, "%B"),
    };
    moment.strftime(pattern).to_string()
}

fn format_weekday(moment: &Zoned, style: WeekdayStyle) -> String {
    match style {
        WeekdayStyle::Long => moment.strftime("%A").to_string(),
        WeekdayStyle::Short => moment.strftime("%a").to_string(),
        WeekdayStyle::Narrow => first_letter(moment, "%A"),
    }
}

fn first_letter(moment: &Zoned, pattern: &str) -> String {
    moment.strftime(pattern).to_string().chars().take(1).collect()
}
