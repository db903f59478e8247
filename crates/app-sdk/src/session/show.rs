//! The display of the glasses.

use std::{future::IntoFuture, time::Duration};

use futures_util::future::BoxFuture;
use toolyard_protocol::session::{DisplayEvent, DisplayView, FromApp, Layout};

use super::{Session, SessionError};

/// Something to show. `.await` sends it.
#[must_use = "nothing is shown until it is awaited"]
#[derive(Debug)]
pub struct ShowRequest {
    session: Session,
    event: DisplayEvent,
}

impl ShowRequest {
    /// Removes it after this time. Otherwise it stays until something else is shown.
    pub fn for_duration(mut self, time: Duration) -> Self {
        self.event.duration_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }
}

impl IntoFuture for ShowRequest {
    type Output = Result<(), SessionError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.session.send(FromApp::DisplayEvent(self.event)).await })
    }
}

impl Session {
    /// Shows a text.
    pub fn show_text_wall(&self, text: impl Into<String>) -> ShowRequest {
        self.show(Layout::TextWall { text: text.into() })
    }

    /// Shows two texts, one above the other.
    pub fn show_double_text_wall(&self, top: impl Into<String>, bottom: impl Into<String>) -> ShowRequest {
        self.show(Layout::DoubleTextWall { top_text: top.into(), bottom_text: bottom.into() })
    }

    /// Shows a text with a title.
    pub fn show_reference_card(&self, title: impl Into<String>, text: impl Into<String>) -> ShowRequest {
        self.show(Layout::ReferenceCard { title: title.into(), text: text.into() })
    }

    /// Clears the display.
    pub fn clear_view(&self) -> ShowRequest {
        self.show(Layout::ClearView)
    }

    /// Shows any layout.
    pub fn show(&self, layout: Layout) -> ShowRequest {
        let event = DisplayEvent { view: DisplayView::Main, layout, duration_ms: None, force_display: None };
        ShowRequest { session: self.clone(), event }
    }
}
