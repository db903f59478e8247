-- Every change that a cache or a live part of a node may depend on, numbered in the transaction that makes it. A node that
-- missed an announcement finds it here. Old rows are pruned.
CREATE TABLE changes (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail  TEXT NOT NULL
) STRICT;

CREATE TRIGGER change_of_added_app AFTER INSERT ON apps WHEN NEW.source = 'app' BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('app_changed', NEW.package, '');
END;
CREATE TRIGGER change_of_app AFTER UPDATE ON apps WHEN NEW.source = 'app' BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('app_changed', NEW.package, '');
END;
CREATE TRIGGER change_of_removed_app AFTER DELETE ON apps BEGIN
    INSERT INTO changes (kind, subject, detail)
        VALUES (CASE OLD.source WHEN 'app' THEN 'app_removed' ELSE 'upstream_removed' END, OLD.package, '');
END;

CREATE TRIGGER change_of_added_upstream AFTER INSERT ON upstreams BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('upstream_changed', NEW.package, '');
    INSERT INTO changes (kind, subject, detail) SELECT 'shared_tools_changed', '', '' WHERE NEW.for_all;
END;
CREATE TRIGGER change_of_upstream AFTER UPDATE ON upstreams BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('upstream_changed', NEW.package, '');
    INSERT INTO changes (kind, subject, detail) SELECT 'shared_tools_changed', '', '' WHERE NEW.for_all OR OLD.for_all;
END;
CREATE TRIGGER change_of_removed_upstream AFTER DELETE ON upstreams WHEN OLD.for_all BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('shared_tools_changed', '', '');
END;
CREATE TRIGGER change_of_added_offer AFTER INSERT ON offers BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('upstream_offer_changed', NEW.package, '');
END;
CREATE TRIGGER change_of_offer AFTER UPDATE ON offers WHEN NEW.hash <> OLD.hash BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('upstream_offer_changed', NEW.package, '');
END;
CREATE TRIGGER change_of_added_authorization AFTER INSERT ON upstream_tokens BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('authorization_changed', NEW.user, NEW.package);
END;
-- What goes with its app, because the app was removed, is part of that change.
CREATE TRIGGER change_of_removed_authorization AFTER DELETE ON upstream_tokens
    WHEN EXISTS (SELECT 1 FROM apps WHERE package = OLD.package) BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('authorization_changed', OLD.user, OLD.package);
END;

CREATE TRIGGER change_of_install AFTER INSERT ON installs BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('view_changed', NEW.user, '');
END;
CREATE TRIGGER change_of_uninstall AFTER DELETE ON installs
    WHEN EXISTS (SELECT 1 FROM apps WHERE package = OLD.package) BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('app_uninstalled', OLD.user, OLD.package);
END;
CREATE TRIGGER change_of_grant AFTER INSERT ON grants BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('view_changed', NEW.user, '');
END;
CREATE TRIGGER change_of_revoked_grant AFTER DELETE ON grants
    WHEN EXISTS (SELECT 1 FROM installs WHERE user = OLD.user AND package = OLD.package) BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('view_changed', OLD.user, '');
END;
CREATE TRIGGER change_of_tool_off AFTER INSERT ON tool_settings BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('view_changed', NEW.user, '');
END;
CREATE TRIGGER change_of_tool_on AFTER DELETE ON tool_settings BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('view_changed', OLD.user, '');
END;
CREATE TRIGGER change_of_added_app_settings AFTER INSERT ON app_settings BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('app_settings_changed', NEW.user, NEW.package);
END;
CREATE TRIGGER change_of_app_settings AFTER UPDATE ON app_settings BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('app_settings_changed', NEW.user, NEW.package);
END;
CREATE TRIGGER change_of_added_preferences AFTER INSERT ON user_preferences BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('platform_settings_changed', NEW.user, '');
END;
CREATE TRIGGER change_of_preferences AFTER UPDATE ON user_preferences BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('platform_settings_changed', NEW.user, '');
END;

CREATE TRIGGER change_of_added_plugin AFTER INSERT ON plugins BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('view_changed', NEW.user, '');
END;
CREATE TRIGGER change_of_plugin AFTER UPDATE ON plugins BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('view_changed', NEW.user, '');
END;
CREATE TRIGGER change_of_removed_plugin AFTER DELETE ON plugins BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('view_changed', OLD.user, '');
END;
CREATE TRIGGER change_of_published_plugin AFTER INSERT ON published_plugins BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('plugin_catalogue_changed', '', '');
END;
CREATE TRIGGER change_of_added_plugin_list AFTER INSERT ON plugin_lists BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('plugin_lists_changed', '', '');
END;
CREATE TRIGGER change_of_plugin_list AFTER UPDATE ON plugin_lists WHEN NEW.text <> OLD.text BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('plugin_lists_changed', '', '');
END;

CREATE TRIGGER change_of_token AFTER INSERT ON tokens BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('token_issued', NEW.subject, '');
END;
-- The detail is when it would have expired, and whose it is.
CREATE TRIGGER change_of_revoked_token AFTER UPDATE OF revoked_at ON tokens
    WHEN NEW.revoked_at IS NOT NULL AND OLD.revoked_at IS NULL BEGIN
    INSERT INTO changes (kind, subject, detail)
        VALUES ('token_revoked', NEW.id, NEW.expires_at || ' ' || NEW.subject);
END;
