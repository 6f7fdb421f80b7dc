-- Inline comments that travel together as one review (E3). Empty: the row goes alone.
ALTER TABLE outbox ADD COLUMN batch TEXT;
