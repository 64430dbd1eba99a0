//! Dates as logs write them.

/// What a wall clock shows in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// Year.
    pub year: i64,
    /// Month, from 1.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Hour.
    pub hour: u8,
    /// Minute.
    pub minute: u8,
    /// Second.
    pub second: u8,
}

/// Where the engine's clock stands on the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallClock {
    /// Unix time at the engine's time zero, seconds.
    pub zero_unix_seconds: i64,
}

impl Default for WallClock {
    /// Noon of 1 January 2026, UTC: virtual time has no date, but a log must have one.
    fn default() -> Self {
        Self { zero_unix_seconds: 1_767_268_800 }
    }
}

impl WallClock {
    /// Unix time of a moment of the engine's clock, nanoseconds.
    pub fn unix_ns(self, at_ns: i64) -> i64 {
        self.zero_unix_seconds.saturating_mul(1_000_000_000).saturating_add(at_ns)
    }

    /// The date at a moment of the engine's clock.
    pub fn at(self, at_ns: i64) -> Civil {
        civil(self.unix_ns(at_ns).div_euclid(1_000_000_000))
    }
}

/// The date of a Unix time in the Gregorian calendar: years begin in March, so that a leap day comes last, and 400 of
/// them have 146,097 days.
fn civil(unix_seconds: i64) -> Civil {
    let (days, second) = (unix_seconds.div_euclid(86_400), unix_seconds.rem_euclid(86_400));
    let since_march = days + 719_468;
    let (era, day) = (since_march.div_euclid(146_097), since_march.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    Civil {
        year: era * 400 + year + later,
        month: month as u8,
        day: of_month as u8,
        hour: (second / 3600) as u8,
        minute: (second / 60 % 60) as u8,
        second: (second % 60) as u8,
    }
}
