-- The columns are what lookups ask for, each derived from the payload; a reader derives them again and compares.
-- Types are those that SQLite and PostgreSQL share. Only `id` is SQLite's own spelling (in PostgreSQL:
-- BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY).
CREATE TABLE record (
  id        INTEGER PRIMARY KEY,
  kind      TEXT NOT NULL,      -- tune, bench or check
  kernel    TEXT NOT NULL,
  problem   TEXT NOT NULL,      -- "m=4096 n=4096", in the family's order
  target    TEXT NOT NULL,
  machine   TEXT NOT NULL,
  ir_hash   TEXT NOT NULL,
  code_hash TEXT NOT NULL,
  created   BIGINT NOT NULL,    -- seconds since 1970-01-01T00:00:00Z
  outcome   TEXT NOT NULL,      -- measured, rejected, ...; a check's verdict
  checked   BOOLEAN NOT NULL,
  seconds   DOUBLE PRECISION,
  payload   TEXT NOT NULL,      -- the whole record as JSON
  checksum  TEXT NOT NULL       -- blake3 of the payload, in hexadecimal
);
