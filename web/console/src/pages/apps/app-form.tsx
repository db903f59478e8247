/** The fields of an app; for a new app including its package. */
import type { ReactNode } from 'react';
import { ApiError } from '../../api/error';
import { Check, Field, Input, Select, TextArea } from '../../ui/form';
import { HARDWARE, PERMISSIONS } from '../../ui/labels';
import type { AppDraft } from './app-draft';

interface Props {
  draft: AppDraft;
  onChange: (draft: AppDraft) => void;
  isNew: boolean;
  /** Problems by field. */
  wrong: Partial<Record<string, string>>;
}

/** The server's problems by field. */
export function problemsByField(error: unknown): Partial<Record<string, string>> {
  if (!(error instanceof ApiError)) return {};
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
        <Field
          label="Package"
          hint="The unique name of the app, such as com.example.todo. It cannot be changed later."
          error={wrong.packageName}
        >
          <Input value={draft.packageName} onChange={set('packageName')} autoComplete="off" autoCapitalize="off" spellCheck={false} />
        </Field>
      )}
      <Field label="Name" error={wrong.name}>
        <Input value={draft.name} onChange={set('name')} autoComplete="off" />
      </Field>
      <Field label="Description" hint="What the app does, for users who browse the library" error={wrong.description}>
        <TextArea value={draft.description} onChange={set('description')} rows={2} />
      </Field>
      <Field label="URL" hint="The address of the app, such as https://todo.example.com" error={wrong.publicUrl}>
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
        label="Icon"
        hint="An https URL of a square PNG, JPEG, WebP, GIF or SVG image of at most 128 KiB, or a small image as a data: URL"
        error={wrong.iconUrl}
      >
        <Input value={draft.iconUrl} onChange={set('iconUrl')} inputMode="url" autoComplete="off" autoCapitalize="off" spellCheck={false} />
      </Field>
      <div className="grid-2">
        <Field
          label="Kind"
          hint={
            draft.kind === 'session' ? 'Is woken for a call, connects, and can use the display and the microphone' : 'Only answers calls'
          }
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
        <Field
          label="Display mode"
          hint={draft.appType === 'standard' ? 'One foreground app is shown at a time' : 'Runs alongside the foreground app'}
        >
          <Select
            value={draft.appType}
            onChange={(type) => set('appType')(type as AppDraft['appType'])}
            options={[
              { value: 'standard', label: 'Foreground' },
              { value: 'background', label: 'Background' },
            ]}
          />
        </Field>
      </div>
      <Permissions chosen={draft.permissions} onChange={set('permissions')} />
      <Check
        label="Ask users for the grant to call the tools of their other apps, as an assistant does"
        checked={draft.wantsAssistant}
        onChange={set('wantsAssistant')}
      />
      <Hardware chosen={draft.hardware} onChange={set('hardware')} />
      <Fold title="More">
        <div className="grid-2">
          <Field label="Call timeout in seconds" hint="Empty: the server's default" error={wrong.callTimeoutS}>
            <Input value={draft.callTimeoutS} onChange={set('callTimeoutS')} inputMode="decimal" />
          </Field>
          <Field label="Start timeout in seconds" hint="Empty: the server's default" error={wrong.wakeTimeoutS}>
            <Input value={draft.wakeTimeoutS} onChange={set('wakeTimeoutS')} inputMode="decimal" />
          </Field>
        </div>
        <Check label="Uses an older SDK that expects X-App-API-Key" checked={draft.legacy} onChange={set('legacy')} />
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
      <p className="hint">Users see this list before they install the app.</p>
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
                aria-label={`Reason for ${name}`}
                placeholder="Reason, shown to users"
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
  // Unknown parts stay unchanged.
  const types = [...new Set([...Object.keys(HARDWARE), ...Object.keys(chosen)])];
  const names = Object.entries(chosen).map(
    ([type, { level }]) => `${HARDWARE[type]?.name ?? type}${level === 'OPTIONAL' ? ' (optional)' : ''}`,
  );
  return (
    <Fold title="Hardware" note={names.length === 0 ? 'none required' : names.join(', ')}>
      <p className="hint">If the user's glasses lack a required part, the tools of the app are hidden.</p>
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
