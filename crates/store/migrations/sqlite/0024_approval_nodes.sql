-- The node that runs the call of an approval, as for keys: a run of an earlier one was interrupted.
ALTER TABLE approvals ADD COLUMN node INTEGER;
