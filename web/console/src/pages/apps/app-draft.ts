/** The details of an app while they are edited. */
import type { App } from './api';

export interface AppDraft {
  packageName: string;
  name: string;
  description: string;
  publicUrl: string;
  iconUrl: string;
  kind: App['kind'];
  appType: App['appType'];
  legacy: boolean;
  callTimeoutS: string;
  wakeTimeoutS: string;
  /** Reasons by permission. Permissions without an entry are not requested. */
  permissions: Record<string, string>;
  /** Whether the app asks users for the grant to call the tools of their other apps. */
  wantsAssistant: boolean;
  /** Level and reason by hardware part. Parts without an entry are not needed. */
  hardware: Record<string, { level: 'REQUIRED' | 'OPTIONAL'; description: string }>;
}

export const NEW_APP: AppDraft = {
  packageName: '',
  name: '',
  description: '',
  publicUrl: '',
  iconUrl: '',
  kind: 'tools-only',
  appType: 'standard',
  legacy: false,
  callTimeoutS: '',
  wakeTimeoutS: '',
  permissions: {},
  wantsAssistant: false,
  hardware: {},
};

const textOf = (text: string) => (text.trim() === '' ? null : text.trim());
const seconds = (ms: number | null | undefined) => (ms === null || ms === undefined ? '' : String(ms / 1_000));
const millis = (text: string) => (text.trim() === '' ? null : Math.round(Number(text) * 1_000));

export function draftOf(app: App): AppDraft {
  return {
    packageName: app.packageName,
    name: app.name,
    description: app.description,
    publicUrl: app.publicUrl ?? '',
    iconUrl: app.iconUrl ?? '',
    kind: app.kind,
    appType: app.appType,
    legacy: app.legacy,
    callTimeoutS: seconds(app.callTimeoutMs),
    wakeTimeoutS: seconds(app.wakeTimeoutMs),
    permissions: Object.fromEntries(app.permissions.map(({ type, description }) => [type, description ?? ''])),
    wantsAssistant: app.wants?.includes('assistant') === true,
    hardware: Object.fromEntries(
      app.hardwareRequirements.map(({ type, level, description }) => [type, { level, description: description ?? '' }]),
    ),
  };
}

/** The members that the form edits; all others stay unchanged. */
export function detailsOf(draft: AppDraft) {
  const described = (description: string) => (description.trim() === '' ? {} : { description: description.trim() });
  return {
    name: draft.name.trim(),
    description: draft.description.trim(),
    publicUrl: textOf(draft.publicUrl),
    iconUrl: textOf(draft.iconUrl),
    kind: draft.kind,
    appType: draft.appType,
    legacy: draft.legacy,
    callTimeoutMs: millis(draft.callTimeoutS),
    wakeTimeoutMs: millis(draft.wakeTimeoutS),
    permissions: Object.entries(draft.permissions).map(([type, why]) => ({
      type: type as App['permissions'][number]['type'],
      ...described(why),
    })),
    wants: draft.wantsAssistant ? (['assistant'] as const).slice() : [],
    hardwareRequirements: Object.entries(draft.hardware).map(([type, { level, description }]) => ({
      type,
      level,
      ...described(description),
    })),
  };
}

/** Problems that the form can detect; the server reports the rest. */
export function problemsOf(draft: AppDraft): Partial<Record<keyof AppDraft, string>> {
  const time = (text: string) => (text.trim() === '' || Number(text) > 0 ? undefined : 'Enter a number of seconds.');
  const found = {
    packageName: /^[a-z0-9._-]{1,100}$/.test(draft.packageName)
      ? undefined
      : 'Use lowercase letters, digits, dots, _ and -, such as com.example.todo.',
    name: draft.name.trim() === '' ? 'Enter a name.' : undefined,
    callTimeoutS: time(draft.callTimeoutS),
    wakeTimeoutS: time(draft.wakeTimeoutS),
  };
  return Object.fromEntries(Object.entries(found).filter(([, text]) => text !== undefined));
}
