//! Pure calendar: cron, intervals, zones and DST policy give the next instants.
