-- What plugins keep belongs to whoever signed them, too: a plugin of somebody else under the same id does not find it.
CREATE TABLE plugin_data_of_signers (
    -- Grows with each write.
    number INTEGER PRIMARY KEY,
    user   TEXT NOT NULL,
    id     TEXT NOT NULL,
    -- The id of a key, or `unsigned`.
    signer TEXT NOT NULL,
    key    TEXT NOT NULL,
    value  TEXT NOT NULL,
    UNIQUE (user, id, signer, key),
    FOREIGN KEY (user, id) REFERENCES plugins ON DELETE CASCADE
) STRICT;

-- What is there was kept by what the user has now.
INSERT INTO plugin_data_of_signers (user, id, signer, key, value)
SELECT kept.user, kept.id,
       CASE WHEN json_valid(plugins.manifest)
            THEN COALESCE(CAST(json_extract(plugins.manifest, '$.keyId') AS TEXT), 'unsigned')
            ELSE 'unsigned' END,
       kept.key, kept.value
FROM plugin_data AS kept JOIN plugins ON plugins.user = kept.user AND plugins.id = kept.id;

DROP TABLE plugin_data;
ALTER TABLE plugin_data_of_signers RENAME TO plugin_data;
