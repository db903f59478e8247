/** What the developer says of the app; its key and secret; removing it. */
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Refused } from '../../api/error';
import { Button } from '../../ui/button';
import { Confirm, Dialog } from '../../ui/dialog';
import { ErrorBox } from '../../ui/feedback';
import { Field, Input } from '../../ui/form';
import { Card } from '../../ui/page';
import { Ago } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';
import { Unsaved } from '../../ui/unsaved';
import { appsChanged, changeApp, deleteApp, deletionKey, newKeyOf, newSecretOf, type App } from './api';
import { detailsOf, draftOf, problemsOf, type AppDraft } from './app-draft';
import { AppForm, problemsByField } from './app-form';
import { SecretsDialog, type Shown } from './secrets';
import { same } from './tools/json';

export function Details({ app }: { app: App }) {
  return (
    <>
      <Edit app={app} />
      <Keys app={app} />
      <Remove app={app} />
    </>
  );
}

function Edit({ app }: { app: App }) {
  // What somebody types is not overwritten by what another window saved; only what is untouched follows the server.
  const [edited, setEdited] = useState<AppDraft>();
  const saved = draftOf(app);
  const draft = edited ?? saved;
  const dirty = edited !== undefined && !same(detailsOf(edited), detailsOf(saved));
  const save = useMutation({
    mutationFn: () => changeApp(app.packageName, detailsOf(draft)),
    onSuccess: async () => {
      await appsChanged();
      setEdited(undefined);
      toast('Saved.');
    },
  });
  const own = problemsOf(draft);
  const isTold = save.error instanceof Refused && save.error.problems.length > 0;
  return (
    <Card
      title="Details"
      actions={
        <span className="muted">
          registered <Ago at={app.createdAt} /> by {app.owner}
        </span>
      }
    >
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (Object.keys(own).length === 0) save.mutate();
        }}
      >
        <AppForm
          draft={draft}
          isNew={false}
          wrong={{ ...problemsByField(save.error), ...own }}
          onChange={(next) => {
            setEdited(next);
            save.reset();
          }}
        />
        {save.error !== null && !isTold && <ErrorBox error={save.error} />}
        <div className="row form-actions">
          <Button type="submit" kind="primary" disabled={!dirty || save.isPending || Object.keys(own).length > 0}>
            Save
          </Button>
          <Button disabled={!dirty || save.isPending} onClick={() => setEdited(undefined)}>
            Undo the changes
          </Button>
        </div>
      </form>
      <Unsaved dirty={dirty && !save.isPending} what="The details have changes that are not saved." />
    </Card>
  );
}

const ROTATIONS = {
  key: {
    title: 'Make a new key?',
    action: 'Make a new key',
    words: 'The key that the app has now is void at once: it cannot connect or call until it has the new one.',
  },
  secret: {
    title: 'Make a new signing secret?',
    action: 'Make a new secret',
    words: 'Requests to the app carry signatures by the old and the new secret until the next change, so the app keeps working meanwhile.',
  },
} as const;

function Keys({ app }: { app: App }) {
  const [asked, setAsked] = useState<keyof typeof ROTATIONS>();
  const [shown, setShown] = useState<Shown>();
  const rotate = useMutation({
    mutationFn: async (which: keyof typeof ROTATIONS): Promise<Shown> =>
      which === 'key'
        ? { title: 'The new key', ...(await newKeyOf(app.packageName)) }
        : { title: 'The new signing secret', ...(await newSecretOf(app.packageName)) },
    onSuccess: setShown,
    onError: toastError,
    onSettled: () => setAsked(undefined),
  });
  return (
    <Card title="Key and secret">
      <p className="muted">
        They were shown when the app was registered, and are not kept in readable form. Where one is lost, make a new one.
      </p>
      <div className="row">
        <Button onClick={() => setAsked('key')}>New key</Button>
        <Button onClick={() => setAsked('secret')}>New secret</Button>
      </div>
      {asked !== undefined && (
        <Confirm
          title={ROTATIONS[asked].title}
          action={ROTATIONS[asked].action}
          danger={asked === 'key'}
          busy={rotate.isPending}
          onConfirm={() => rotate.mutate(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>{ROTATIONS[asked].words}</p>
        </Confirm>
      )}
      {shown !== undefined && <SecretsDialog shown={shown} onClose={() => setShown(undefined)} />}
    </Card>
  );
}

function Remove({ app }: { app: App }) {
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const remove = useMutation({
    mutationKey: deletionKey(app.packageName),
    mutationFn: () => deleteApp(app.packageName),
    onSuccess: async () => {
      await navigate({ to: '/apps', ignoreBlocker: true });
      await appsChanged();
      toast(`${app.name || app.packageName} is deleted.`);
    },
  });
  return (
    <Card title="Delete the app">
      <p className="muted">Its tools, their versions, its installs and what it keeps for users go with it. This cannot be undone.</p>
      <Button kind="danger" onClick={() => setOpen(true)}>
        Delete
      </Button>
      {open && (
        <Dialog title={`Delete ${app.name || app.packageName}?`} onClose={() => setOpen(false)}>
          <p>Everything that hangs on the app is deleted, for every user. Calls that were made stay in the ledger.</p>
          <Field label={`Type ${app.packageName} to delete it`}>
            <Input value={typed} onChange={setTyped} autoComplete="off" autoCapitalize="off" spellCheck={false} />
          </Field>
          {remove.error !== null && <ErrorBox error={remove.error} />}
          <div className="dialog-actions">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button kind="danger" disabled={typed !== app.packageName || remove.isPending} onClick={() => remove.mutate()}>
              Delete for ever
            </Button>
          </div>
        </Dialog>
      )}
    </Card>
  );
}
