import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { ApiError } from '../../api/error';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ErrorBox } from '../../ui/feedback';
import { focusWrong } from '../../ui/form';
import { appsChanged, createApp, type AppCreated, type NewApp } from './api';
import { detailsOf, NEW_APP, problemsOf } from './app-draft';
import { AppForm, problemsByField } from './app-form';

/** Registers an app. The caller shows the key of the response. */
export function CreateApp({ onCreated, onClose }: { onCreated: (created: AppCreated) => void; onClose: () => void }) {
  const [draft, setDraft] = useState(NEW_APP);
  const [tried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const create = useMutation({
    mutationFn: () => createApp({ packageName: draft.packageName, ...detailsOf(draft) } as NewApp),
    onSuccess: (created) => {
      void appsChanged();
      onCreated(created);
    },
  });
  const own = problemsOf(draft);
  const wrong = { ...problemsByField(create.error), ...(tried ? own : {}) };
  const isTold = create.error instanceof ApiError && create.error.problems.length > 0;
  return (
    <Dialog title="New app" onClose={onClose} wide>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (Object.keys(own).length === 0) create.mutate();
          else focusWrong(form.current);
        }}
      >
        <AppForm
          draft={draft}
          isNew
          wrong={wrong}
          onChange={(next) => {
            setDraft(next);
            create.reset();
          }}
        />
        {create.error !== null && !isTold && <ErrorBox error={create.error} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={create.isPending}>
            Create app
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
