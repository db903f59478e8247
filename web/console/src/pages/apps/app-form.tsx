/** The fields of an app; for a new one with its package. */
import type { ReactNode } from 'react';
import { Refused } from '../../api/error';
import { Check, Field, Input, Select, TextArea } from '../../ui/form';
import { HARDWARE, PERMISSIONS } from '../../ui/words';
import type { AppDraft } from './app-draft';

interface Props {
  draft: AppDraft;
  onChange: (draft: AppDraft) => void;
  isNew: boolean;
  /** What is wrong, by field. */
  wrong: Partial<Record<string, string>>;
}

/** What the server said of a field. */
export function problemsByField(error: unknown): Partial<Record<string, string>> {
  if (!(error instanceof Refused)) return {};
  const names: Record<string, string> = { callTimeoutMs: 'callTimeoutS', wakeTimeoutMs: 'wakeTimeoutS' };
  return Object.fromEntries(error.problems.flatMap(({ path, message }) => (path === undefined ? [] : [[names[path] ?? path, message]])));
}

export function AppForm({ draft, onChange, isNew, wrong }: Props) {
  const set =
    <K extends keyof AppDraft>(name: K) =>
    (value: AppDraft[K]) =>
      onChange({ ...draft, [name]: value });
  return (
    <>
      {isNew && (
        <Field label="Package" hint="Its name for programs, for ever: com.example.todo" error={wrong.packageName}>
          <Input value={draft.packageName} onChange={set('packageName')} autoComplete="off" autoCapitalize="off" spellCheck={false} />
        </Field>
      )}
      <Field label="Name" error={wrong.name}>
        <Input value={draft.name} onChange={set('name')} autoComplete="off" />
      </Field>
      <Field label="Description" hint="What it does, for people who look for apps" error={wrong.description}>
        <TextArea value={draft.description} onChange={set('description')} rows={2} />
      </Field>
      <Field label="URL" hint="Where the app answers, such as https://todo.example.com" error={wrong.publicUrl}>
        <Input
          value={draft.publicUrl}
          onChange={set('publicUrl')}
          inputMode="url"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
        />
      </Field>
      <Field
        label="Picture"
        hint="An https address of a square PNG, JPEG, WebP, GIF or SVG of at most 128 KiB, or a small one as data:image"
        error={wrong.iconUrl}
      >
        <Input value={draft.iconUrl} onChange={set('iconUrl')} inputMode="url" autoComplete="off" autoCapitalize="off" spellCheck={false} />
      </Field>
      <div className="grid-2">
        <Field
          label="Kind"
          hint={draft.kind === 'session' ? 'Is woken before a call, connects, can show and hear' : 'Answers calls and does nothing else'}
        >
          <Select
            value={draft.kind}
            onChange={(kind) => set('kind')(kind as AppDraft['kind'])}
            options={[
              { value: 'tools-only', label: 'Tools only' },
              { value: 'session', label: 'Session app' },
            ]}
          />
        </Field>
        <Field label="On the display" hint={draft.appType === 'standard' ? 'One such app is in front' : 'Runs beside the app in front'}>
          <Select
            value={draft.appType}
            onChange={(type) => set('appType')(type as AppDraft['appType'])}
            options={[
              { value: 'standard', label: 'In front' },
              { value: 'background', label: 'In the background' },
            ]}
          />
        </Field>
      </div>
      <Permissions chosen={draft.permissions} onChange={set('permissions')} />
      <Check
        label="Asks users to let it call the tools of their other apps, as an assistant does"
        checked={draft.wantsAssistant}
        onChange={set('wantsAssistant')}
      />
      <Hardware chosen={draft.hardware} onChange={set('hardware')} />
      <Fold title="More">
        <div className="grid-2">
          <Field label="Longest call, in seconds" hint="Empty: as the server has it" error={wrong.callTimeoutS}>
            <Input value={draft.callTimeoutS} onChange={set('callTimeoutS')} inputMode="decimal" />
          </Field>
          <Field label="Longest start, in seconds" hint="Empty: as the server has it" error={wrong.wakeTimeoutS}>
            <Input value={draft.wakeTimeoutS} onChange={set('wakeTimeoutS')} inputMode="decimal" />
          </Field>
        </div>
        <Check label="Built on an older SDK that expects X-App-API-Key" checked={draft.legacy} onChange={set('legacy')} />
      </Fold>
    </>
  );
}

function Fold({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <details className="fold">
      <summary>
        {title}
        {note !== undefined && <span className="muted">{note}</span>}
      </summary>
      <div className="fold-body">{children}</div>
    </details>
  );
}

function Permissions({ chosen, onChange }: { chosen: AppDraft['permissions']; onChange: (chosen: AppDraft['permissions']) => void }) {
  const names = Object.keys(chosen).map((type) => PERMISSIONS[type]?.name ?? type);
  return (
    <Fold title="Permissions" note={names.length === 0 ? 'none' : names.join(', ')}>
      <p className="hint">What the app may hear and see. Users read it before they install it.</p>
      <ul className="plain-list choices">
        {Object.entries(PERMISSIONS).map(([type, { name, means }]) => (
          <li key={type}>
            <Check
              label={
                <span>
                  {name} <span className="muted">{means}</span>
                </span>
              }
              checked={type in chosen}
              onChange={(on) => {
                const { [type]: _, ...rest } = chosen;
                onChange(on ? { ...rest, [type]: '' } : rest);
              }}
            />
            {type in chosen && (
              <Input
                aria-label={`Why ${name}`}
                placeholder="Why, in your words"
                value={chosen[type] ?? ''}
                onChange={(why) => onChange({ ...chosen, [type]: why })}
              />
            )}
          </li>
        ))}
      </ul>
    </Fold>
  );
}

function Hardware({ chosen, onChange }: { chosen: AppDraft['hardware']; onChange: (chosen: AppDraft['hardware']) => void }) {
  // Parts that this console does not know stay as they are.
  const types = [...new Set([...Object.keys(HARDWARE), ...Object.keys(chosen)])];
  const names = Object.entries(chosen).map(
    ([type, { level }]) => `${HARDWARE[type]?.name ?? type}${level === 'OPTIONAL' ? ' (optional)' : ''}`,
  );
  return (
    <Fold title="Hardware" note={names.length === 0 ? 'nothing needed' : names.join(', ')}>
      <p className="hint">Where glasses lack a part that is required, the tools of the app are hidden there.</p>
      <ul className="plain-list choices hardware">
        {types.map((type) => (
          <li key={type}>
            <Field label={HARDWARE[type]?.name ?? type}>
              <Select
                value={chosen[type]?.level ?? ''}
                onChange={(level) => {
                  const { [type]: before, ...rest } = chosen;
                  onChange(
                    level === '' ? rest : { ...rest, [type]: { level: level as 'REQUIRED', description: before?.description ?? '' } },
                  );
                }}
                options={[
                  { value: '', label: 'Not needed' },
                  { value: 'OPTIONAL', label: 'Optional' },
                  { value: 'REQUIRED', label: 'Required' },
                ]}
              />
            </Field>
          </li>
        ))}
      </ul>
    </Fold>
  );
}
