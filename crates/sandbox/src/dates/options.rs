//! The options of a date format, and what is shown where they leave it open.

use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Options {
    pub(super) time_zone: Option<String>,
    hour12: Option<bool>,
    hour_cycle: Option<HourCycle>,
    date_style: Option<Style>,
    time_style: Option<Style>,
    pub(super) weekday: Option<Word>,
    pub(super) year: Option<Digits>,
    pub(super) month: Option<Month>,
    pub(super) day: Option<Digits>,
    pub(super) hour: Option<Digits>,
    pub(super) minute: Option<Digits>,
    pub(super) second: Option<Digits>,
    pub(super) time_zone_name: Option<ZoneName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Style {
    Full,
    Long,
    Medium,
    Short,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Word {
    Long,
    Short,
    Narrow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Digits {
    #[serde(rename = "numeric")]
    Numeric,
    #[serde(rename = "2-digit")]
    Two,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Month {
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

impl Options {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("a value is out of range: {error}"))
    }

    /// Styles say everything, so nothing may stand beside them.
    pub(super) fn check(&self) -> Result<(), String> {
        let styled = self.date_style.is_some() || self.time_style.is_some();
        if styled && (self.has_date() || self.has_time() || self.time_zone_name.is_some()) {
            return Err("dateStyle and timeStyle cannot be used with single options".to_owned());
        }
        Ok(())
    }

    /// Fills in what is shown where nothing was said. `need` is `any`, `date` or `time`: what must be there;
    /// `defaults` is `all`, `date` or `time`: what is shown if it is not.
    pub(super) fn with_defaults(mut self, need: &str, defaults: &str) -> Result<Self, String> {
        self.check()?;
        if self.date_style.is_some() || self.time_style.is_some() {
            self.write_styles_out();
            return Ok(self);
        }
        let missing = match need {
            "date" => !self.has_date(),
            "time" => !self.has_time(),
            _ => !self.has_date() && !self.has_time(),
        };
        if missing && defaults != "time" {
            self.year = Some(Digits::Numeric);
            self.month = Some(Month::Numeric);
            self.day = Some(Digits::Numeric);
        }
        if missing && defaults != "date" {
            self.hour = Some(Digits::Numeric);
            self.minute = Some(Digits::Two);
            self.second = Some(Digits::Two);
        }
        Ok(self)
    }

    fn write_styles_out(&mut self) {
        if let Some(style) = self.date_style {
            self.weekday = (style == Style::Full).then_some(Word::Long);
            self.day = Some(Digits::Numeric);
            (self.month, self.year) = match style {
                Style::Full | Style::Long => (Some(Month::Long), Some(Digits::Numeric)),
                Style::Medium => (Some(Month::Short), Some(Digits::Numeric)),
                Style::Short => (Some(Month::Numeric), Some(Digits::Two)),
            };
        }
        if let Some(style) = self.time_style {
            self.hour = Some(Digits::Numeric);
            self.minute = Some(Digits::Two);
            self.second = (style != Style::Short).then_some(Digits::Two);
            self.time_zone_name = match style {
                Style::Full => Some(ZoneName::Long),
                Style::Long => Some(ZoneName::Short),
                Style::Medium | Style::Short => None,
            };
        }
    }

    pub(super) fn has_date(&self) -> bool {
        self.weekday.is_some() || self.year.is_some() || self.month.is_some() || self.day.is_some()
    }

    pub(super) fn has_time(&self) -> bool {
        self.hour.is_some() || self.minute.is_some() || self.second.is_some()
    }

    /// Whether hours go to 12, with AM and PM. `hour12` wins.
    pub(super) fn is_half_day(&self) -> bool {
        self.hour12.unwrap_or(!matches!(self.hour_cycle, Some(HourCycle::H23 | HourCycle::H24)))
    }
}
