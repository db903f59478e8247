-- Several nodes on one database. Without a cluster these tables stay empty.

-- The URL under which other nodes reach this one.
ALTER TABLE ledger_nodes ADD COLUMN address TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The node that has a user's sessions, sockets and calls. The epoch is raised whenever the home moves.
CREATE SEQUENCE home_epochs AS BIGINT;
CREATE TABLE user_homes (
    user_id TEXT COLLATE "C" PRIMARY KEY,
    node    BIGINT NOT NULL,
    epoch   BIGINT NOT NULL
);
CREATE INDEX user_homes_by_node ON user_homes (node);

-- Work that one node does for all. The lease is valid as long as its node is alive.
CREATE TABLE leases (
    name TEXT COLLATE "C" PRIMARY KEY,
    node BIGINT NOT NULL
);
