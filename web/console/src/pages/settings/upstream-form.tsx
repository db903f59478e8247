import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, responseData } from '../../api/client';
import { queryClient, useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ErrorBox } from '../../ui/feedback';
import { Field, Input, Select, Switch, TextArea } from '../../ui/form';
import { toast } from '../../ui/toast';
import { bodyOf, draftOf, NEW, type Details, type Draft, type Wrong } from './upstream-draft';

interface Props {
  /** Undefined for a new one. */
  id?: string;
  details?: Details;
  onClose: () => void;
}

export function UpstreamForm({ id, details, onClose }: Props) {
  const me = useMe();
  const isNew = id === undefined;
  const [draft, setDraft] = useState<Draft>(() => (id === undefined ? NEW : draftOf(id, details ?? {})));
  const [wrong, setWrong] = useState<Wrong>({});
  const set =
    <K extends keyof Draft>(name: K) =>
    (value: Draft[K]) =>
      setDraft((now) => ({ ...now, [name]: value }));
  const save = useMutation({
    mutationFn: (body: Details) =>
      isNew
        ? responseData(api.POST('/api/upstreams', { body: { id: draft.id, ...body } as never }))
        : responseData(api.PATCH('/api/upstreams/{id}', { params: { path: { id } }, body: body as never })),
    onSuccess: () => {
      toast(isNew ? `The upstream ${draft.id} was added.` : `The upstream ${id} was changed.`);
      void queryClient.invalidateQueries({ queryKey: ['upstreams'] });
      onClose();
    },
  });
  function submit() {
    const read = bodyOf(draft, isNew);
    setWrong('wrong' in read ? read.wrong : {});
    if ('body' in read) save.mutate(read.body);
  }
  return (
    <Dialog title={isNew ? 'Add an upstream' : `Change ${id}`} onClose={onClose} wide>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {save.error && <ErrorBox error={save.error} />}
        <div className="grid-2">
          {isNew && (
            <Field
              label="Id"
              hint={
                <>
                  Its tools are <code>mcp.{draft.id || 'id'}:…</code>
                </>
              }
              error={wrong.id}
            >
              <Input value={draft.id} onChange={set('id')} maxLength={40} placeholder="github" autoCapitalize="none" />
            </Field>
          )}
          <Field label="Name">
            <Input value={draft.name} onChange={set('name')} maxLength={200} placeholder="GitHub" />
          </Field>
        </div>
        <Field label="Description">
          <Input value={draft.description} onChange={set('description')} maxLength={1_000} />
        </Field>
        {isNew && me.operates && (
          <Field label="Connection">
            <Select
              value={draft.kind}
              onChange={(kind) => set('kind')(kind === 'command' ? 'command' : 'url')}
              options={[
                { value: 'url', label: 'URL (Streamable HTTP)' },
                { value: 'command', label: 'Program on this server (stdio)' },
              ]}
            />
          </Field>
        )}
        {draft.kind === 'url' ? <ByUrl draft={draft} wrong={wrong} set={set} /> : <ByCommand draft={draft} wrong={wrong} set={set} />}
        <div className="grid-2">
          <Field label="Include tools" hint="Names, one per line; * and ? are wildcards. Empty: all">
            <TextArea code value={draft.include} onChange={set('include')} rows={2} />
          </Field>
          <Field label="Exclude tools" hint="One per line">
            <TextArea code value={draft.exclude} onChange={set('exclude')} rows={2} placeholder="delete_*" />
          </Field>
        </div>
        {me.operates && <Switch label="For all users, without installing it" shown on={draft.forAll} onChange={set('forAll')} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={save.isPending}>
            {isNew ? 'Add' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface PartProps {
  draft: Draft;
  wrong: Wrong;
  set: <K extends keyof Draft>(name: K) => (value: Draft[K]) => void;
}

function ByUrl({ draft, wrong, set }: PartProps) {
  return (
    <>
      <Field label="URL" error={wrong.url}>
        <Input type="url" value={draft.url} onChange={set('url')} placeholder="https://api.example.com/mcp" />
      </Field>
      <Field label="Authentication" hint="With OAuth, each user authorizes separately.">
        <Select
          value={draft.auth}
          onChange={(auth) => set('auth')(auth === 'oauth' ? 'oauth' : 'headers')}
          options={[
            { value: 'headers', label: 'The same headers for all users' },
            { value: 'oauth', label: 'OAuth for each user' },
          ]}
        />
      </Field>
      <Field
        label="Headers"
        hint="One per line, as Name: value. Values are sealed and never shown again; (sealed) keeps the current value."
        error={wrong.headers}
      >
        <TextArea code value={draft.headers} onChange={set('headers')} rows={2} placeholder="Authorization: Bearer …" />
      </Field>
    </>
  );
}

function ByCommand({ draft, wrong, set }: PartProps) {
  return (
    <>
      <Field
        label="Program and arguments"
        hint="One per line, the program first. It runs on the server, with the server's permissions."
        error={wrong.command}
      >
        <TextArea
          code
          value={draft.command}
          onChange={set('command')}
          rows={4}
          placeholder={'npx\n-y\n@modelcontextprotocol/server-filesystem\n/srv/shared'}
        />
      </Field>
      <Field
        label="Environment"
        hint="One per line, as NAME=value. The program gets only PATH, HOME and these variables."
        error={wrong.env}
      >
        <TextArea code value={draft.env} onChange={set('env')} rows={2} />
      </Field>
    </>
  );
}
