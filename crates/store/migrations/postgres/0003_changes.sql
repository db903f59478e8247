-- Every change that a cache or a live part of a node may depend on, numbered in the transaction that makes it. A node that
-- missed an announcement finds it here. Old rows are pruned.
--
-- Transactions commit in another order than they run. A reader that saw number 8 would miss number 7 if that were committed later,
-- so numbers are taken when a transaction commits, one transaction at a time: the triggers are deferred, and the first one of a
-- transaction takes a lock that is held until the commit is done.
CREATE TABLE changes (
    version BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind    TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    detail  TEXT COLLATE "C" NOT NULL
);

-- The version up to which rows were pruned, in one row: numbers have gaps, so a missing one does not tell.
CREATE TABLE pruned_changes (
    only_one BIGINT PRIMARY KEY CHECK (only_one = 1),
    version  BIGINT NOT NULL
);
INSERT INTO pruned_changes (only_one, version) VALUES (1, 0);

CREATE FUNCTION log_change(kind TEXT, subject TEXT, detail TEXT) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('changes', 0));
    INSERT INTO changes (kind, subject, detail) VALUES (kind, subject, detail);
END $$;

-- A row that names a user was added, changed or removed: the trigger's argument is the kind of change.
CREATE FUNCTION log_change_of_user() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM log_change(TG_ARGV[0], CASE TG_OP WHEN 'DELETE' THEN OLD.user_id ELSE NEW.user_id END, '');
    RETURN NULL;
END $$;
-- The same for a row that names a package.
CREATE FUNCTION log_change_of_package() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM log_change(TG_ARGV[0], CASE TG_OP WHEN 'DELETE' THEN OLD.package ELSE NEW.package END, '');
    RETURN NULL;
END $$;
-- The same for a row that names a user and a package.
CREATE FUNCTION log_change_of_user_and_package() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN
        -- What goes with its app, because the app was removed, is part of that change.
        IF EXISTS (SELECT 1 FROM apps WHERE package = OLD.package) THEN
            PERFORM log_change(TG_ARGV[0], OLD.user_id, OLD.package);
        END IF;
    ELSE
        PERFORM log_change(TG_ARGV[0], NEW.user_id, NEW.package);
    END IF;
    RETURN NULL;
END $$;
-- A change that concerns everyone.
CREATE FUNCTION log_shared_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM log_change(TG_ARGV[0], '', '');
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER change_of_app AFTER INSERT OR UPDATE ON apps DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.source = 'app') EXECUTE FUNCTION log_change_of_package('app_changed');
CREATE CONSTRAINT TRIGGER change_of_removed_app AFTER DELETE ON apps DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.source = 'app') EXECUTE FUNCTION log_change_of_package('app_removed');
CREATE CONSTRAINT TRIGGER change_of_removed_upstream AFTER DELETE ON apps DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.source <> 'app') EXECUTE FUNCTION log_change_of_package('upstream_removed');

CREATE CONSTRAINT TRIGGER change_of_upstream AFTER INSERT OR UPDATE ON upstreams DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_package('upstream_changed');
CREATE CONSTRAINT TRIGGER shared_change_of_added_upstream AFTER INSERT ON upstreams DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.for_all) EXECUTE FUNCTION log_shared_change('shared_tools_changed');
CREATE CONSTRAINT TRIGGER shared_change_of_upstream AFTER UPDATE ON upstreams DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.for_all OR OLD.for_all) EXECUTE FUNCTION log_shared_change('shared_tools_changed');
CREATE CONSTRAINT TRIGGER shared_change_of_removed_upstream AFTER DELETE ON upstreams DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.for_all) EXECUTE FUNCTION log_shared_change('shared_tools_changed');
CREATE CONSTRAINT TRIGGER change_of_added_offer AFTER INSERT ON offers DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_package('upstream_offer_changed');
CREATE CONSTRAINT TRIGGER change_of_offer AFTER UPDATE ON offers DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.hash <> OLD.hash) EXECUTE FUNCTION log_change_of_package('upstream_offer_changed');
CREATE CONSTRAINT TRIGGER change_of_authorization AFTER INSERT OR DELETE ON upstream_tokens DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user_and_package('authorization_changed');

CREATE CONSTRAINT TRIGGER change_of_install AFTER INSERT ON installs DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user('view_changed');
CREATE CONSTRAINT TRIGGER change_of_uninstall AFTER DELETE ON installs DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user_and_package('app_uninstalled');
CREATE CONSTRAINT TRIGGER change_of_grant AFTER INSERT ON grants DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user('view_changed');
CREATE FUNCTION log_revoked_grant() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT 1 FROM installs WHERE user_id = OLD.user_id AND package = OLD.package) THEN
        PERFORM log_change('view_changed', OLD.user_id, '');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER change_of_revoked_grant AFTER DELETE ON grants DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_revoked_grant();
CREATE CONSTRAINT TRIGGER change_of_switched_tool AFTER INSERT OR DELETE ON tool_settings DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user('view_changed');
CREATE CONSTRAINT TRIGGER change_of_app_settings AFTER INSERT OR UPDATE ON app_settings DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user_and_package('app_settings_changed');
CREATE CONSTRAINT TRIGGER change_of_preferences AFTER INSERT OR UPDATE ON user_preferences DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user('platform_settings_changed');

CREATE CONSTRAINT TRIGGER change_of_plugin AFTER INSERT OR UPDATE OR DELETE ON plugins DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user('view_changed');
CREATE CONSTRAINT TRIGGER change_of_published_plugin AFTER INSERT ON published_plugins DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_shared_change('plugin_catalogue_changed');
CREATE CONSTRAINT TRIGGER change_of_added_plugin_list AFTER INSERT ON plugin_lists DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_shared_change('plugin_lists_changed');
CREATE CONSTRAINT TRIGGER change_of_plugin_list AFTER UPDATE ON plugin_lists DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.text <> OLD.text) EXECUTE FUNCTION log_shared_change('plugin_lists_changed');

-- The detail of a revoked token is when it would have expired, and whose it is.
CREATE FUNCTION log_issued_token() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM log_change('token_issued', NEW.subject, '');
    RETURN NULL;
END $$;
CREATE FUNCTION log_revoked_token() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM log_change('token_revoked', NEW.id, NEW.expires_at || ' ' || NEW.subject);
    RETURN NULL;
END $$;
CREATE FUNCTION log_revoked_token_of_user() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM log_change('token_revoked', NEW.id, NEW.expires_at || ' ' || NEW.user_id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER change_of_token AFTER INSERT ON tokens DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_issued_token();
CREATE CONSTRAINT TRIGGER change_of_revoked_token AFTER UPDATE OF revoked_at ON tokens DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.revoked_at IS NOT NULL AND OLD.revoked_at IS NULL) EXECUTE FUNCTION log_revoked_token();
CREATE CONSTRAINT TRIGGER change_of_client_grant AFTER INSERT ON client_grants DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user('token_issued');
-- Every node refuses the access tokens of a revoked grant, as it refuses other revoked tokens.
CREATE CONSTRAINT TRIGGER change_of_revoked_client_grant AFTER UPDATE OF revoked_at ON client_grants DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.revoked_at IS NOT NULL AND OLD.revoked_at IS NULL) EXECUTE FUNCTION log_revoked_token_of_user();
CREATE CONSTRAINT TRIGGER change_of_ended_browser_session AFTER UPDATE OF ended_at ON browser_sessions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL) EXECUTE FUNCTION log_revoked_token_of_user();

CREATE FUNCTION log_change_of_approval() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM log_change(TG_ARGV[0], NEW.user_id, NEW.id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER change_of_asked_approval AFTER INSERT ON approvals DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_approval('approval_requested');
CREATE CONSTRAINT TRIGGER change_of_answered_approval AFTER UPDATE OF state ON approvals DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.state = 'pending' AND NEW.state <> 'pending') EXECUTE FUNCTION log_change_of_approval('approval_answered');
CREATE CONSTRAINT TRIGGER change_of_choice AFTER INSERT OR UPDATE OR DELETE ON tool_choices DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user('approval_rules_changed');
CREATE CONSTRAINT TRIGGER change_of_approval_grant AFTER INSERT OR DELETE ON approval_grants DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_user('approval_rules_changed');
CREATE CONSTRAINT TRIGGER change_of_policy AFTER INSERT OR UPDATE OR DELETE ON approval_policy DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_shared_change('approval_policy_changed');
CREATE CONSTRAINT TRIGGER change_of_definitions AFTER INSERT OR UPDATE ON definition_packages DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_change_of_package('definitions_changed');

-- Every node refuses the credentials of a disabled user.
CREATE CONSTRAINT TRIGGER change_of_added_account AFTER INSERT ON accounts DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.disabled_at IS NOT NULL) EXECUTE FUNCTION log_change_of_user('user_disabled');
CREATE CONSTRAINT TRIGGER change_of_disabled_account AFTER UPDATE OF disabled_at ON accounts DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL) EXECUTE FUNCTION log_change_of_user('user_disabled');
CREATE CONSTRAINT TRIGGER change_of_enabled_account AFTER UPDATE OF disabled_at ON accounts DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.disabled_at IS NULL AND OLD.disabled_at IS NOT NULL) EXECUTE FUNCTION log_change_of_user('user_enabled');
CREATE CONSTRAINT TRIGGER change_of_removed_account AFTER DELETE ON accounts DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.disabled_at IS NOT NULL) EXECUTE FUNCTION log_change_of_user('user_enabled');

-- What a user agreed to before they were disabled does not come back with them.
CREATE FUNCTION remove_device_logins() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM device_logins WHERE user_id = NEW.user_id;
    RETURN NULL;
END $$;
CREATE TRIGGER device_logins_of_disabled_account AFTER UPDATE OF disabled_at ON accounts FOR EACH ROW WHEN (NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL) EXECUTE FUNCTION remove_device_logins();
