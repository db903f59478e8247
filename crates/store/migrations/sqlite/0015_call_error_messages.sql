-- What a failed call said, cut. Forgotten long before the call itself; the index finds what is due.
ALTER TABLE calls ADD COLUMN error_message TEXT;
CREATE INDEX calls_with_message ON calls (started_at) WHERE error_message IS NOT NULL;
