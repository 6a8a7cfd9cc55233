-- What inbound webhooks received. hook and project are NULL for the event platform's webhook. bytes is what a delivery
-- counts.
CREATE TABLE rowmill.received (
    num         int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team        uuid NOT NULL,
    hook        uuid,
    project     uuid,
    received_at int8 NOT NULL,
    status      int8 NOT NULL,
    bytes       int8 NOT NULL,
    body_bytes  int8 NOT NULL,
    head        text NOT NULL,
    log         text NOT NULL,
    body        bytea NOT NULL
);
CREATE INDEX received_of ON rowmill.received (team, num);
CREATE INDEX received_by_time ON rowmill.received (received_at);

-- How much there is of each team, so that nothing must be summed up when more comes in. Whoever adds or removes deliveries
-- of a team locks its row here first.
CREATE TABLE rowmill.received_totals (
    team  uuid PRIMARY KEY,
    count int8 NOT NULL,
    bytes int8 NOT NULL
);
