/** The app's details, its key and secret, and its deletion. */
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '../../api/error';
import { Button } from '../../ui/button';
import { Confirm, Dialog } from '../../ui/dialog';
import { ErrorBox } from '../../ui/feedback';
import { Field, Input } from '../../ui/form';
import { Card } from '../../ui/page';
import { Ago } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';
import { Unsaved } from '../../ui/unsaved';
import { appsChanged, changeApp, deleteApp, deletionKey, createKey, createSecret, type App } from './api';
import { detailsOf, draftOf, problemsOf, type AppDraft } from './app-draft';
import { AppForm, problemsByField } from './app-form';
import { SecretsDialog, type ShownSecrets } from './secrets';
import { isSameJson } from './tools/json';

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
  // Edited fields are not overwritten when another window saves; only unedited fields follow the server.
  const [edited, setEdited] = useState<AppDraft>();
  const saved = draftOf(app);
  const draft = edited ?? saved;
  const dirty = edited !== undefined && !isSameJson(detailsOf(edited), detailsOf(saved));
  const save = useMutation({
    mutationFn: () => changeApp(app.packageName, detailsOf(draft)),
    onSuccess: async () => {
      await appsChanged();
      setEdited(undefined);
      toast('Saved.');
    },
  });
  const own = problemsOf(draft);
  const isTold = save.error instanceof ApiError && save.error.problems.length > 0;
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
            Discard changes
          </Button>
        </div>
      </form>
      <Unsaved dirty={dirty && !save.isPending} what="The details have unsaved changes." />
    </Card>
  );
}

const ROTATIONS = {
  key: {
    title: 'Create a new key?',
    action: 'Create a new key',
    words: 'The current key becomes invalid immediately. The app cannot connect or call until it uses the new one.',
  },
  secret: {
    title: 'Create a new signing secret?',
    action: 'Create a new secret',
    words: 'Until the next change, requests to the app are signed with both the old and the new secret, so the app keeps working.',
  },
} as const;

function Keys({ app }: { app: App }) {
  const [asked, setAsked] = useState<keyof typeof ROTATIONS>();
  const [shown, setShown] = useState<ShownSecrets>();
  const rotate = useMutation({
    mutationFn: async (which: keyof typeof ROTATIONS): Promise<ShownSecrets> =>
      which === 'key'
        ? { title: 'The new key', ...(await createKey(app.packageName)) }
        : { title: 'The new signing secret', ...(await createSecret(app.packageName)) },
    onSuccess: setShown,
    onError: toastError,
    onSettled: () => setAsked(undefined),
  });
  return (
    <Card title="Key and secret">
      <p className="muted">They were shown once, when the app was registered. If you lose one, create a new one.</p>
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
      toast(`${app.name || app.packageName} was deleted.`);
    },
  });
  return (
    <Card title="Delete app">
      <p className="muted">
        This also deletes its tools, their versions, its installs and the data that it stores for users. It cannot be undone.
      </p>
      <Button kind="danger" onClick={() => setOpen(true)}>
        Delete
      </Button>
      {open && (
        <Dialog title={`Delete ${app.name || app.packageName}?`} onClose={() => setOpen(false)}>
          <p>Everything that belongs to the app is deleted, for every user. Past calls stay in the ledger.</p>
          <Field label={`Type ${app.packageName} to delete it`}>
            <Input value={typed} onChange={setTyped} autoComplete="off" autoCapitalize="off" spellCheck={false} />
          </Field>
          {remove.error !== null && <ErrorBox error={remove.error} />}
          <div className="dialog-actions">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button kind="danger" disabled={typed !== app.packageName || remove.isPending} onClick={() => remove.mutate()}>
              Delete permanently
            </Button>
          </div>
        </Dialog>
      )}
    </Card>
  );
}
