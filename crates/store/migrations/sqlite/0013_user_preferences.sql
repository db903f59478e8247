-- Settings of users that belong to no app: time zone, units.
CREATE TABLE user_preferences (
    user     TEXT PRIMARY KEY,
    settings TEXT NOT NULL
) STRICT;
