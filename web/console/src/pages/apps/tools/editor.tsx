/** The tools of an app: a list, one of them in a form, and one button that saves all as a new version. */
import { useMutation } from '@tanstack/react-query';
import { FileUp, Plus } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Problem } from '../../../api/error';
import { queryClient } from '../../../api/queries';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/dialog';
import { Empty, ErrorBox, Notice } from '../../../ui/feedback';
import { toast } from '../../../ui/toast';
import { Unsaved } from '../../../ui/unsaved';
import { useUrlParams } from '../../../ui/url-state';
import { appsChanged, saveTools, toolsQuery, type App, type ToolSetBody } from '../api';
import { newDraft, readDraft, writeDraft, type ToolDraft, type WrittenDraft } from './draft';
import { ImportDialog } from './import-dialog';
import { haveSameOrder } from './parameters';
import { isObject, newKey, isSameJson, type Json } from './json';
import { SaveBar } from './save-bar';
import { ToolForm } from './tool-form';
import { ToolList } from './tool-list';
import { useCheck, type Check } from './use-check';

interface Props {
  app: App;
  set: ToolSetBody;
  /** The name of the open tool. */
  open: { current: string };
  /** Whether there are unsaved changes. */
  onDirty: (dirty: boolean) => void;
}

export function Editor({ app, set, open, onDirty }: Props) {
  const [params, changeParams] = useUrlParams();
  const [drafts, setDrafts] = useState(() => set.tools.filter(isObject).map(readDraft));
  const [selected, setSelected] = useState(() => (drafts.find(({ name }) => name === (open.current || params.tool)) ?? drafts[0])?.key);
  const side = useRef<HTMLDivElement>(null);
  const [importing, setImporting] = useState(false);
  const [meanwhile, setMeanwhile] = useState<number>();
  const written = useMemo(() => drafts.map(writeDraft), [drafts]);
  const tools = useMemo(() => written.map(({ definition }) => definition), [written]);
  const dirty = useMemo(
    () => !isSameJson(tools, set.tools) || tools.some((tool, place) => !haveSameOrder(tool.inputSchema, inputOf(set.tools[place]))),
    [tools, set.tools],
  );
  useEffect(() => onDirty(dirty), [dirty, onDirty]);
  const whole = useMemo(() => {
    const { prompts = [], resources = [], resourceTemplates = [] } = set;
    return { tools, prompts, resources, resourceTemplates };
  }, [tools, set]);
  const isFine = written.every(({ problems }) => problems.length === 0);
  const check = useCheck(
    app.packageName,
    useMemo(() => JSON.stringify(whole), [whole]),
  );
  const found = useMemo(() => problemsIn(check, written), [check, written]);
  const blocked = !isFine || (check.state !== 'failed' && check.checked?.ok === false);

  const save = useMutation({
    mutationFn: async (force: boolean) => {
      const now = await queryClient.fetchQuery({
        ...toolsQuery(app.packageName),
        queryKey: ['apps', app.packageName, 'tools', 'now'],
        staleTime: 0,
      });
      if (now.version !== set.version && !force) return { meanwhile: now.version };
      return saveTools(app.packageName, whole);
    },
    onSuccess: async (answer) => {
      if ('meanwhile' in answer) return setMeanwhile(answer.meanwhile);
      setMeanwhile(undefined);
      toast(`Saved. Version ${answer.version} is in use now.`);
      await appsChanged();
    },
  });

  const place = drafts.findIndex(({ key }) => key === selected);
  const draft = drafts[place];
  useEffect(() => {
    if (draft !== undefined) open.current = draft.name;
  }, [draft, open]);
  /** Opens a tool from the list, and puts it into the URL, so that the link can be shared and the back button works. */
  const select = (key: string) => {
    setSelected(key);
    changeParams({ tool: drafts.find((one) => one.key === key)?.name });
  };
  const asked = params.tool;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the URL changes, not at each key press
  useEffect(() => {
    const wanted = drafts.find(({ name }) => name === asked);
    if (wanted !== undefined) setSelected(wanted.key);
  }, [asked]);
  const change = (next: ToolDraft) => setDrafts((all) => all.map((one) => (one.key === next.key ? next : one)));
  const add = (next: ToolDraft) => {
    setDrafts((all) => [...all, next]);
    setSelected(next.key);
  };
  const remove = (key: string) => {
    // The button disappears, so move the focus to the list, where the keyboard user can continue.
    side.current?.focus();
    const left = drafts.filter((one) => one.key !== key);
    setDrafts(left);
    setSelected(left[Math.min(place, left.length - 1)]?.key);
  };
  const take = (read: Json[], replaceAll: boolean) => {
    const names = new Set(read.map(({ name }) => name));
    const kept = replaceAll ? [] : drafts.filter(({ name }) => !names.has(name));
    const fresh = read.map(readDraft);
    setDrafts([...kept, ...fresh]);
    setSelected(fresh[0]?.key ?? kept[0]?.key);
    setImporting(false);
    toast(`Imported ${read.length === 1 ? '1 tool' : `${read.length} tools`}. Save to apply.`);
  };

  return (
    <>
      <SaveBar
        dirty={dirty}
        blocked={blocked}
        busy={save.isPending}
        version={set.version}
        check={check}
        isFine={isFine}
        onSave={() => save.mutate(false)}
        onDiscard={() => {
          const fresh = set.tools.filter(isObject).map(readDraft);
          setDrafts(fresh);
          setSelected(fresh[0]?.key);
          save.reset();
        }}
      />
      {save.error !== null && <ErrorBox error={save.error} />}
      {dirty && !save.isPending && app.toolsVersion > set.version && (
        <Notice kind="warn">
          Version {app.toolsVersion} was saved meanwhile. Your changes are based on version {set.version}.
        </Notice>
      )}
      <OfTheSet problems={found} />
      <div className="editor" inert={save.isPending}>
        <div className="editor-side" ref={side} tabIndex={-1}>
          <ToolList drafts={drafts} written={written} problems={found} base={set.tools} selected={selected} onSelect={select} />
          <div className="row editor-side-actions">
            <Button icon={<Plus size={16} aria-hidden />} onClick={() => add(newDraft())}>
              Add a tool
            </Button>
            <Button icon={<FileUp size={16} aria-hidden />} onClick={() => setImporting(true)}>
              Import
            </Button>
          </div>
        </div>
        {draft === undefined ? (
          <Empty title="No tools yet">
            <p>Add one, or import the tpa_config.json of an existing app.</p>
          </Empty>
        ) : (
          <ToolForm
            key={draft.key}
            draft={draft}
            written={written[place] ?? writeDraft(draft)}
            isTwice={drafts.some((one) => one.key !== draft.key && one.name === draft.name && draft.name !== '')}
            problems={found.filter(({ path }) => path === `tools[${place}]` || path?.startsWith(`tools[${place}].`))}
            place={place}
            seen={check.state === 'failed' ? undefined : check.checked?.tools.find(({ name }) => name === draft.name)}
            checkState={written[place]?.problems.length === 0 ? check.state : 'unsent'}
            onChange={change}
            onRemove={() => remove(draft.key)}
            onCopy={() => add({ ...draft, key: newKey(), name: `${draft.name}_copy` })}
          />
        )}
      </div>
      {importing && <ImportDialog existing={drafts.map(({ name }) => name)} onTake={take} onClose={() => setImporting(false)} />}
      {meanwhile !== undefined && (
        <Confirm
          title="Another version was saved"
          action="Overwrite"
          danger
          busy={save.isPending}
          onConfirm={() => save.mutate(true)}
          onClose={() => setMeanwhile(undefined)}
        >
          <p>
            You started from version {set.version}; version {meanwhile} is in use now. Saving replaces it completely. Under Versions you can
            compare both and go back.
          </p>
        </Confirm>
      )}
      <Unsaved dirty={dirty && !save.isPending} what="The tools have unsaved changes." />
    </>
  );
}

const inputOf = (tool: unknown) => (isObject(tool) ? tool.inputSchema : undefined);

/** The server's problems, except for tools whose problems the form already shows. */
function problemsIn(check: Check, written: readonly WrittenDraft[]): readonly Problem[] {
  if (check.state === 'failed' || check.checked === undefined) return [];
  const isShown = (path = '') => {
    const place = /^tools\[(\d+)\]/.exec(path)?.[1];
    return place === undefined || written[Number(place)]?.problems.length === 0;
  };
  return check.checked.problems.filter(({ path }) => isShown(path));
}

/** Problems that belong to no tool: prompts, resources, too many tools. */
function OfTheSet({ problems }: { problems: readonly Problem[] }) {
  const others = problems.filter(({ path }) => !/^tools\[\d+\]/.test(path ?? ''));
  if (others.length === 0) return null;
  return (
    <ul className="problems">
      {others.map(({ path, message }) => (
        <li key={`${path} ${message}`}>
          {path !== undefined && <code>{path}</code>} {message}
        </li>
      ))}
    </ul>
  );
}
