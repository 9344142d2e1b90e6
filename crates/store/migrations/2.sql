-- `seconds` stays out of the index, so that the order of times always comes from the records themselves.
CREATE INDEX record_lookup ON record (kind, kernel, target, machine, problem);
