-- With which token a token was made: where that one is called back, so is this one.
ALTER TABLE tokens ADD COLUMN made_with TEXT;
CREATE INDEX tokens_made_with ON tokens (made_with) WHERE made_with IS NOT NULL;
