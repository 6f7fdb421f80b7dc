-- The spine. Times are milliseconds since the epoch, JSON is text, switches are 0 or 1.

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

-- One delivery that became a job, as it came.
CREATE TABLE deliveries (
  job_id TEXT PRIMARY KEY,
  connection TEXT NOT NULL,
  host TEXT NOT NULL,
  delivery_id TEXT,
  event_type TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  body {bytes} NOT NULL
);

-- What was taken already: hashes of delivery ids, of meanings and of triggering comments (J4).
CREATE TABLE taken (
  key TEXT PRIMARY KEY,
  job_id TEXT NOT NULL,
  until BIGINT
);
CREATE INDEX taken_until ON taken(until) WHERE until IS NOT NULL;

-- Repositories that ever had a job; `turn` rotates claims (J5).
CREATE TABLE repos (
  id TEXT PRIMARY KEY,
  connection TEXT NOT NULL,
  name TEXT NOT NULL,
  turn BIGINT NOT NULL
);
CREATE INDEX repos_turn ON repos(turn);

CREATE TABLE jobs (
  seq {identity},
  id TEXT NOT NULL UNIQUE,
  connection TEXT NOT NULL,
  repo TEXT NOT NULL,
  subject TEXT NOT NULL,
  lane TEXT NOT NULL,
  priority BIGINT NOT NULL,
  task TEXT NOT NULL,
  state TEXT NOT NULL,
  -- 1: the oldest unfinished job of a lane in which nothing waits to be sent (J3, E4).
  front BIGINT NOT NULL DEFAULT 0,
  stage TEXT NOT NULL DEFAULT '',
  attempt BIGINT NOT NULL DEFAULT 0,
  -- 1: it died with its process and runs alone the next time (J7).
  alone BIGINT NOT NULL DEFAULT 0,
  run_at BIGINT NOT NULL,
  waiting_since BIGINT,
  waits_for TEXT,
  -- The final state that somebody wants for a running job: `cancelled` or `superseded`.
  stop TEXT,
  lease_owner TEXT,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT,
  body TEXT NOT NULL,
  event_type TEXT NOT NULL,
  error TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX jobs_ready ON jobs(repo, priority, run_at) WHERE front = 1 AND state = 'queued';
CREATE INDEX jobs_front ON jobs(lane) WHERE front = 1 AND state = 'queued';
CREATE INDEX jobs_lane ON jobs(lane, seq) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_running ON jobs(repo) WHERE state = 'running';
CREATE INDEX jobs_leases ON jobs(lease_until) WHERE state = 'running';
CREATE INDEX jobs_subject ON jobs(subject, seq);
CREATE INDEX jobs_ended ON jobs(updated_at) WHERE state NOT IN ('queued', 'running');
-- The database itself forbids what the order of a lane forbids.
CREATE UNIQUE INDEX jobs_one_runs ON jobs(lane) WHERE state = 'running';

CREATE TABLE attempts (
  job_id TEXT NOT NULL,
  n BIGINT NOT NULL,
  token BIGINT NOT NULL,
  owner TEXT NOT NULL,
  stage TEXT NOT NULL,
  began_at BIGINT NOT NULL,
  ended_at BIGINT,
  outcome TEXT,
  error TEXT,
  PRIMARY KEY (job_id, token)
);

CREATE TABLE checkpoints (
  job_id TEXT NOT NULL,
  n BIGINT NOT NULL,
  body TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (job_id, n)
);

CREATE TABLE journal (
  job_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (job_id, key)
);

CREATE TABLE records (
  seq {identity},
  job_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX records_job ON records(job_id, seq);

CREATE TABLE outbox (
  seq {identity},
  job_id TEXT NOT NULL,
  lane TEXT NOT NULL,
  subject TEXT NOT NULL,
  slot TEXT NOT NULL,
  -- 1: nothing waits for it (a reaction).
  aside BIGINT NOT NULL,
  -- waiting, trying, sent, given-up, withdrawn
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  tries BIGINT NOT NULL DEFAULT 0,
  try_at BIGINT NOT NULL,
  -- When the send of unknown fate began; looks are counted from here (E2).
  tried_at BIGINT,
  looks BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  sent_at BIGINT,
  reason TEXT
);
CREATE INDEX outbox_pending ON outbox(lane, seq) WHERE state IN ('waiting', 'trying');
CREATE INDEX outbox_job ON outbox(job_id, seq);

-- One row for each lane that has something to send, and who sends it (E5).
CREATE TABLE lanes (
  lane TEXT PRIMARY KEY,
  connection TEXT NOT NULL,
  next_at BIGINT NOT NULL,
  lease_owner TEXT,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT
);
CREATE INDEX lanes_next ON lanes(next_at);

CREATE TABLE receipts (
  subject TEXT NOT NULL,
  slot TEXT NOT NULL,
  job_id TEXT NOT NULL,
  lane TEXT NOT NULL,
  body TEXT NOT NULL,
  -- The publication that closes it if its job is stopped while it shows something unfinished (E4).
  closing TEXT,
  at BIGINT NOT NULL,
  PRIMARY KEY (subject, slot)
);
CREATE INDEX receipts_job ON receipts(job_id);

CREATE TABLE artifacts (
  job_id TEXT NOT NULL,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  body {bytes} NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (job_id, name)
);

CREATE TABLE breakers (
  endpoint TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  failures BIGINT NOT NULL,
  since BIGINT NOT NULL,
  until BIGINT NOT NULL,
  -- 1: its time has passed and somebody tries whether the endpoint is back.
  probing BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE budgets (
  key TEXT NOT NULL,
  day BIGINT NOT NULL,
  spent BIGINT NOT NULL,
  PRIMARY KEY (key, day)
);
