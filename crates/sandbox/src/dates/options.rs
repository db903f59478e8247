//! The options of a date format, and their defaults.

use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DateFormatOptions {
    pub(super) time_zone: Option<String>,
    hour12: Option<bool>,
    hour_cycle: Option<HourCycle>,
    date_style: Option<DateStyle>,
    time_style: Option<DateStyle>,
    pub(super) weekday: Option<WeekdayStyle>,
    pub(super) year: Option<DigitStyle>,
    pub(super) month: Option<MonthStyle>,
    pub(super) day: Option<DigitStyle>,
    pub(super) hour: Option<DigitStyle>,
    pub(super) minute: Option<DigitStyle>,
    pub(super) second: Option<DigitStyle>,
    pub(super) time_zone_name: Option<ZoneName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DateStyle {
    Full,
    Long,
    Medium,
    Short,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WeekdayStyle {
    Long,
    Short,
    Narrow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum DigitStyle {
    #[serde(rename = "numeric")]
    Numeric,
    #[serde(rename = "2-digit")]
    Two,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum MonthStyle {
    #[serde(rename = "numeric")]
    Numeric,
    #[serde(rename = "2-digit")]
    Two,
    #[serde(rename = "long")]
    Long,
    #[serde(rename = "short")]
    Short,
    #[serde(rename = "narrow")]
    Narrow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ZoneName {
    Long,
    Short,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum HourCycle {
    H11,
    H12,
    H23,
    H24,
}

impl DateFormatOptions {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("a value is out of range: {error}"))
    }

    /// Styles define everything, so no other option may be set with them.
    pub(super) fn check_conflicts(&self) -> Result<(), String> {
        let styled = self.date_style.is_some() || self.time_style.is_some();
        if styled && (self.has_date() || self.has_time() || self.time_zone_name.is_some()) {
            return Err("dateStyle and timeStyle cannot be used with single options".to_owned());
        }
        Ok(())
    }

    /// Fills in the defaults. `need` is `any`, `date` or `time`: what must be shown; `defaults` is `all`, `date` or
    /// `time`: what is added if it is missing.
    pub(super) fn with_defaults(mut self, need: &str, defaults: &str) -> Result<Self, String> {
        self.check_conflicts()?;
        if self.date_style.is_some() || self.time_style.is_some() {
            self.expand_styles();
            return Ok(self);
        }
        let missing = match need {
            "date" => !self.has_date(),
            "time" => !self.has_time(),
            _ => !self.has_date() && !self.has_time(),
        };
        if missing && defaults != "time" {
            self.year = Some(DigitStyle::Numeric);
            self.month = Some(MonthStyle::Numeric);
            self.day = Some(DigitStyle::Numeric);
        }
        if missing && defaults != "date" {
            self.hour = Some(DigitStyle::Numeric);
            self.minute = Some(DigitStyle::Two);
            self.second = Some(DigitStyle::Two);
        }
        Ok(self)
    }

    fn expand_styles(&mut self) {
        if let Some(style) = self.date_style {
            self.weekday = (style == DateStyle::Full).then_some(WeekdayStyle::Long);
            self.day = Some(DigitStyle::Numeric);
            (self.month, self.year) = match style {
                DateStyle::Full | DateStyle::Long => (Some(MonthStyle::Long), Some(DigitStyle::Numeric)),
                DateStyle::Medium => (Some(MonthStyle::Short), Some(DigitStyle::Numeric)),
                DateStyle::Short => (Some(MonthStyle::Numeric), Some(DigitStyle::Two)),
            };
        }
        if let Some(style) = self.time_style {
            self.hour = Some(DigitStyle::Numeric);
            self.minute = Some(DigitStyle::Two);
            self.second = (style != DateStyle::Short).then_some(DigitStyle::Two);
            self.time_zone_name = match style {
                DateStyle::Full => Some(ZoneName::Long),
                DateStyle::Long => Some(ZoneName::Short),
                DateStyle::Medium | DateStyle::Short => None,
            };
        }
    }

    pub(super) fn has_date(&self) -> bool {
        self.weekday.is_some() || self.year.is_some() || self.month.is_some() || self.day.is_some()
    }

    pub(super) fn has_time(&self) -> bool {
        self.hour.is_some() || self.minute.is_some() || self.second.is_some()
    }

    /// Whether hours go to 12, with AM and PM. `hour12` takes precedence.
    pub(super) fn is_half_day(&self) -> bool {
        self.hour12.unwrap_or(!matches!(self.hour_cycle, Some(HourCycle::H23 | HourCycle::H24)))
    }
}
