//! The screen of a user. Pure logic: time comes in, pictures go out.
//!
//! The app in front owns the screen. A picture of another app covers it for a limited time; then the last picture of
//! the app in front returns, or the screen is cleared. A woken app gets this time once for each call, however often it
//! draws. So a tool call never takes the screen from the user for long.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;
use toolyard_protocol::{
    PackageName,
    session::{DisplayEvent, DisplayView, Layout},
};

/// A picture and its expiry.
#[derive(Debug, Clone, PartialEq)]
struct ScreenPicture {
    package: PackageName,
    event: DisplayEvent,
    until: Option<Instant>,
    /// The expiry that its app requested.
    wanted_until: Option<Instant>,
    /// Whether it is a notice of the platform about the app.
    notice: bool,
}

/// The screen of one user.
#[derive(Debug, Default)]
pub(crate) struct UserScreen {
    front: Option<PackageName>,
    base: Option<ScreenPicture>,
    over: Option<ScreenPicture>,
    /// Until when woken apps may be visible.
    grants: HashMap<PackageName, OverlayGrant>,
}

/// The time for which one call makes a woken app visible; it starts with the first picture.
#[derive(Debug, Clone, Copy)]
struct OverlayGrant {
    called_at: Instant,
    until: Instant,
}

/// What the device should show.
pub(crate) type AppPicture = (PackageName, DisplayEvent);

impl UserScreen {
    /// The app in front.
    pub(crate) fn front_app(&self) -> Option<&PackageName> {
        self.front.as_ref()
    }

    /// Brings an app to the front. Pictures that covered the screen are removed, including notices; what the app drew
    /// while it started stays until it expires. Returns what the device should show now, if that changes.
    pub(crate) fn open_app(&mut self, package: &PackageName) -> Option<AppPicture> {
        let mut gone = None;
        if self.front.as_ref() != Some(package) {
            gone = self.base.take();
            self.front = Some(package.clone());
        }
        match self.over.take() {
            Some(own) if own.package == *package && !own.notice => {
                self.base = Some(ScreenPicture { until: own.wanted_until, ..own });
                None
            }
            Some(over) => Some(self.picture_beneath(over.package)),
            None => gone.map(|gone| self.picture_beneath(gone.package)),
        }
    }

    /// Shows a notice about an app, over everything and for a limited time.
    pub(crate) fn show_notice(
        &mut self,
        package: &PackageName,
        event: DisplayEvent,
        now: Instant,
        overlay: Duration,
    ) -> AppPicture {
        let until = Some(now + overlay);
        let shown = (package.clone(), event.clone());
        self.over =
            Some(ScreenPicture { package: package.clone(), event, until, wanted_until: until, notice: true });
        shown
    }

    /// Draws a picture of an app. `woken_by` is the time of the last call, for an app that the user did not open.
    /// Returns what the device should show now, if that changes.
    pub(crate) fn draw(
        &mut self,
        package: &PackageName,
        mut event: DisplayEvent,
        now: Instant,
        overlay: Duration,
        woken_by: Option<Instant>,
    ) -> Option<AppPicture> {
        event.view = DisplayView::Main;
        let wish = event.duration_ms.map(Duration::from_millis);
        // A duration beyond all times means no expiry.
        let wanted_until = wish.and_then(|wish| now.checked_add(wish));
        let (package, shown) = (package.clone(), (package.clone(), event.clone()));
        if self.front.as_ref() == Some(&package) {
            self.base =
                Some(ScreenPicture { package, event, until: wanted_until, wanted_until, notice: false });
            return (!self.is_covered(now)).then_some(shown);
        }
        let most = woken_by.map_or(now + overlay, |call| self.overlay_end(&package, call, now, overlay));
        if most <= now {
            return None;
        }
        let until = Some(wanted_until.map_or(most, |wanted| wanted.min(most)));
        self.over = Some(ScreenPicture { package, event, until, wanted_until, notice: false });
        Some(shown)
    }

    /// Until when a woken app may be visible for this call.
    fn overlay_end(
        &mut self,
        package: &PackageName,
        called_at: Instant,
        now: Instant,
        overlay: Duration,
    ) -> Instant {
        let new = OverlayGrant { called_at, until: now + overlay };
        let grant = self.grants.entry(package.clone()).or_insert(new);
        if grant.called_at != called_at {
            *grant = new;
        }
        grant.until
    }

    /// Removes expired pictures. Returns what the device should show now, if that changes.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<AppPicture> {
        let over = |picture: &mut ScreenPicture| picture.until.is_some_and(|until| until <= now);
        let gone = self.over.take_if(over);
        let base_gone = self.base.take_if(over);
        match (gone, base_gone) {
            (Some(gone), _) => Some(self.picture_beneath(gone.package)),
            (None, Some(gone)) if self.over.is_none() => Some(self.picture_beneath(gone.package)),
            (None, _) => None,
        }
    }

    /// Removes a stopped app. Returns what the device should show now, if that changes.
    pub(crate) fn remove_app(&mut self, package: &PackageName) -> Option<AppPicture> {
        if self.front.as_ref() == Some(package) {
            self.front = None;
        }
        self.grants.remove(package);
        let base_gone = self.base.take_if(|picture| picture.package == *package).is_some();
        let over_gone = self.over.take_if(|picture| picture.package == *package).is_some();
        (over_gone || (base_gone && self.over.is_none())).then(|| self.picture_beneath(package.clone()))
    }

    /// The current picture, for a device that connects.
    pub(crate) fn current(&self) -> Option<AppPicture> {
        self.over
            .as_ref()
            .or(self.base.as_ref())
            .map(|picture| (picture.package.clone(), picture.event.clone()))
    }

    /// When [`UserScreen::expire`] is due.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        [&self.over, &self.base].into_iter().flatten().filter_map(|picture| picture.until).min()
    }

    fn is_covered(&self, now: Instant) -> bool {
        self.over.as_ref().is_some_and(|over| over.until.is_none_or(|until| until > now))
    }

    fn picture_beneath(&self, was: PackageName) -> AppPicture {
        self.current().unwrap_or_else(|| {
            let clear = DisplayEvent {
                view: DisplayView::Main,
                layout: Layout::ClearView,
                duration_ms: None,
                force_display: None,
            };
            (was, clear)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERLAY: Duration = Duration::from_secs(10);

    fn wall(text: &str, duration_ms: Option<u64>) -> DisplayEvent {
        let layout = Layout::TextWall { text: text.to_owned() };
        DisplayEvent { view: DisplayView::Dashboard, layout, duration_ms, force_display: None }
    }

    fn shows(shown: Option<AppPicture>) -> Option<String> {
        shown.map(|(package, event)| match event.layout {
            Layout::TextWall { text } => format!("{package} {text}"),
            Layout::ClearView => "clear".to_owned(),
            other => format!("{other:?}"),
        })
    }

    fn name(text: &str) -> PackageName {
        text.parse().unwrap()
    }

    #[test]
    fn a_woken_app_shows_for_a_bounded_time_and_the_picture_of_the_front_returns() {
        let (now, mut screen) = (Instant::now(), UserScreen::default());
        screen.open_app(&name("front"));
        assert_eq!(
            shows(screen.draw(&name("front"), wall("map", None), now, OVERLAY, None)).unwrap(),
            "front map"
        );
        assert_eq!(
            shows(screen.draw(&name("todo"), wall("list", Some(60_000)), now, OVERLAY, None)).unwrap(),
            "todo list"
        );
        assert_eq!(shows(screen.draw(&name("front"), wall("map 2", None), now, OVERLAY, None)), None);
        assert_eq!(screen.next_expiry(), Some(now + OVERLAY));
        assert_eq!(shows(screen.expire(now + OVERLAY / 2)), None);
        assert_eq!(shows(screen.expire(now + OVERLAY)).unwrap(), "front map 2");
        assert_eq!(screen.next_expiry(), None);
    }

    #[test]
    fn a_woken_app_that_draws_again_and_again_is_seen_no_longer() {
        let (start, mut screen) = (Instant::now(), UserScreen::default());
        screen.open_app(&name("front"));
        screen.draw(&name("front"), wall("map", None), start, OVERLAY, None);
        let draw = |screen: &mut UserScreen, now, call| {
            shows(screen.draw(&name("todo"), wall("list", Some(60_000)), now, OVERLAY, Some(call)))
        };
        for half_seconds in 0..20 {
            let now = start + Duration::from_millis(500 * half_seconds);
            assert_eq!(draw(&mut screen, now, start).unwrap(), "todo list");
            assert_eq!(screen.next_expiry(), Some(start + OVERLAY), "drawing again adds nothing");
        }
        let end = start + OVERLAY;
        assert_eq!(shows(screen.expire(end)).unwrap(), "front map");
        for later in [Duration::ZERO, Duration::from_secs(1), OVERLAY * 10] {
            assert_eq!(draw(&mut screen, end + later, start), None, "{later:?}");
            assert_eq!(screen.next_expiry(), None);
        }
        // Another call is another time.
        let again = end + OVERLAY * 20;
        assert_eq!(draw(&mut screen, again, again).unwrap(), "todo list");
        assert_eq!(screen.next_expiry(), Some(again + OVERLAY));
        screen.remove_app(&name("todo"));
        assert!(screen.grants.is_empty());
    }

    #[test]
    fn a_shorter_duration_is_honoured() {
        let (now, mut screen) = (Instant::now(), UserScreen::default());
        screen.draw(&name("todo"), wall("list", Some(3_000)), now, OVERLAY, None);
        assert_eq!(shows(screen.expire(now + Duration::from_secs(3))).unwrap(), "clear");
    }

    #[test]
    fn a_stopped_app_leaves_the_screen() {
        let (now, mut screen) = (Instant::now(), UserScreen::default());
        screen.open_app(&name("front"));
        screen.draw(&name("front"), wall("map", None), now, OVERLAY, None);
        screen.draw(&name("todo"), wall("list", None), now, OVERLAY, None);
        assert_eq!(shows(screen.remove_app(&name("front"))), None);
        assert_eq!(shows(screen.remove_app(&name("todo"))).unwrap(), "clear");
        assert_eq!(screen.front_app(), None);
    }

    #[test]
    fn an_opened_app_keeps_the_picture_it_had_as_long_as_it_wants() {
        let (now, mut screen) = (Instant::now(), UserScreen::default());
        screen.draw(&name("todo"), wall("list", None), now, OVERLAY, None);
        assert_eq!(shows(screen.open_app(&name("todo"))), None, "it is shown already");
        assert_eq!(shows(screen.current()).unwrap(), "todo list");
        assert_eq!(screen.next_expiry(), None, "it is in front now, and its picture has no end");
        assert_eq!(shows(screen.expire(now + OVERLAY * 2)), None);
    }

    #[test]
    fn an_app_that_is_opened_after_a_failed_start_is_seen() {
        for failed in ["map", "todo"] {
            let (now, mut screen) = (Instant::now(), UserScreen::default());
            let noted = screen.show_notice(&name(failed), wall("did not start", None), now, OVERLAY);
            assert_eq!(shows(Some(noted)).unwrap(), format!("{failed} did not start"));
            assert_eq!(shows(screen.open_app(&name("todo"))).unwrap(), "clear", "{failed}");
            let drawn = screen.draw(&name("todo"), wall("list", Some(3_000)), now, OVERLAY, None);
            assert_eq!(shows(drawn).unwrap(), "todo list", "{failed}");
        }
    }

    #[test]
    fn a_huge_duration_does_not_overflow() {
        let (now, mut screen) = (Instant::now(), UserScreen::default());
        screen.open_app(&name("todo"));
        assert!(screen.draw(&name("todo"), wall("list", Some(u64::MAX)), now, OVERLAY, None).is_some());
        assert!(screen.draw(&name("map"), wall("map", Some(u64::MAX)), now, OVERLAY, None).is_some());
    }
}
