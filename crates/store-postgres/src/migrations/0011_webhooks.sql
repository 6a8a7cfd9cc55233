-- The outbound webhooks of each team, as one document; subscriptions is what writers must know of them, NULL if nobody is
-- to be told of anything.
CREATE TABLE rowmill.webhooks (
    team          uuid PRIMARY KEY,
    version       int8 NOT NULL,
    document      text NOT NULL,
    subscriptions text
);

-- The outbox: a delivery is written in the transaction that it tells of. due_at is NULL once it is done; while a node is
-- at it, it is the end of the lease.
CREATE TABLE rowmill.deliveries (
    num        int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team       uuid NOT NULL,
    webhook    uuid NOT NULL,
    event      text NOT NULL,
    project    uuid,
    seq        int8 NOT NULL,
    created_at int8 NOT NULL,
    due_at     int8,
    status     int8 NOT NULL DEFAULT 0,
    attempts   int8 NOT NULL DEFAULT 0,
    bytes      int8 NOT NULL,
    log        text,
    body       text NOT NULL
);
CREATE INDEX deliveries_due ON rowmill.deliveries (webhook, due_at, num) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_of ON rowmill.deliveries (webhook, num);
