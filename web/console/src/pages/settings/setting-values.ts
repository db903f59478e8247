/** Settings as apps define them, read with care: they are the app's words. */

export interface Setting {
  key: string;
  label: string;
  kind: 'toggle' | 'text' | 'number' | 'select' | 'many' | 'json';
  /** `value` is text for the browser, `raw` what the app wrote. */
  options: { value: string; label: string; raw: unknown }[];
  min?: number;
  max?: number;
  /** As it came, for what the form cannot show. */
  raw: unknown;
  value: unknown;
}

/** A heading, or a line to read: nothing to set. */
export interface Words {
  words: string;
}

const text = (value: unknown, most = 300) => (typeof value === 'string' ? value.slice(0, most) : '');
const number = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);

const KINDS: Record<string, Setting['kind']> = {
  toggle: 'toggle',
  text: 'text',
  text_no_save_button: 'text',
  slider: 'number',
  numeric_input: 'number',
  select: 'select',
  select_with_search: 'select',
  multiselect: 'many',
};

/** Most settings that are shown; an app has at most 64. */
const MOST = 64;

export function readSettings(list: readonly unknown[]): (Setting | Words)[] {
  return list.slice(0, MOST).flatMap((one): (Setting | Words)[] => {
    if (typeof one !== 'object' || one === null) return [];
    const { type, key, label, title, value, min, max, options } = one as Record<string, unknown>;
    if (typeof key !== 'string' || key === '') {
      const said = text(title) || text(label) || text(value);
      return said === '' ? [] : [{ words: said }];
    }
    const kind = KINDS[text(type)] ?? 'json';
    const [low, high] = [number(min), number(max)];
    return [
      {
        key,
        label: text(label) || key,
        kind,
        options: readOptions(options),
        ...(low !== undefined && { min: low }),
        ...(high !== undefined && { max: high }),
        raw: one,
        value,
      },
    ];
  });
}

function readOptions(options: unknown): Setting['options'] {
  if (!Array.isArray(options)) return [];
  return options.slice(0, 200).flatMap((one: unknown) => {
    if (typeof one === 'string') return [{ value: one, label: one, raw: one }];
    if (typeof one !== 'object' || one === null) return [];
    const { value, label } = one as Record<string, unknown>;
    if (typeof value !== 'string' && typeof value !== 'number') return [];
    return [{ value: String(value), label: text(label) || String(value), raw: value }];
  });
}

/** What a field shows, as text; `many` are lines, what the form does not know is JSON. */
export function shown(setting: Setting): string {
  const { kind, value } = setting;
  if (kind === 'toggle') return value === true ? 'true' : 'false';
  if (kind === 'many') return Array.isArray(value) ? value.map(String).join('\n') : '';
  if (kind === 'json') return value === undefined ? '' : JSON.stringify(value);
  return value === undefined || value === null ? '' : String(value);
}

/** The value that a field says; an error in words where it says none. `undefined` keeps the app's default. */
export function said(setting: Setting, field: string): { value: unknown } | { error: string } {
  switch (setting.kind) {
    case 'toggle':
      return { value: field === 'true' };
    case 'number': {
      if (field.trim() === '') return { value: undefined };
      const read = Number(field);
      if (!Number.isFinite(read)) return { error: 'Expected a number.' };
      if (setting.min !== undefined && read < setting.min) return { error: `At least ${setting.min}.` };
      if (setting.max !== undefined && read > setting.max) return { error: `At most ${setting.max}.` };
      return { value: read };
    }
    case 'many':
      return { value: field === '' ? [] : field.split('\n').map((one) => chosen(setting, one)) };
    case 'json':
      if (field.trim() === '') return { value: undefined };
      try {
        return { value: JSON.parse(field) as unknown };
      } catch {
        return { error: 'Expected JSON.' };
      }
    case 'select':
      return { value: chosen(setting, field) };
    case 'text':
      return { value: field };
  }
}

/** What a choice stands for, with the type that the app gave it. */
function chosen(setting: Setting, field: string): unknown {
  const option = setting.options.find((one) => one.value === field);
  if (option !== undefined) return option.raw;
  const before: readonly unknown[] = Array.isArray(setting.value) ? setting.value : [setting.value];
  return before.find((one) => String(one) === field) ?? field;
}

/**
 * All values of the user, as the server wants them, which replaces what it has: what was edited, and the rest as it came.
 * What is still the app's default is left out, and so follows the app.
 */
export function valuesOf(
  settings: readonly Setting[],
  edits: ReadonlyMap<string, string>,
): { values: Record<string, unknown>; errors: Map<string, string> } {
  const errors = new Map<string, string>();
  const values: Record<string, unknown> = {};
  for (const setting of settings) {
    const field = edits.get(setting.key);
    if (field === undefined || field === shown(setting)) {
      if (!isDefault(setting)) values[setting.key] = setting.value;
      continue;
    }
    const read = said(setting, field);
    if ('error' in read) errors.set(setting.key, read.error);
    else if (read.value !== undefined) values[setting.key] = read.value;
  }
  return { values, errors };
}

function isDefault({ value, raw }: Setting): boolean {
  const { defaultValue } = raw as { defaultValue?: unknown };
  return value === undefined || JSON.stringify(value) === JSON.stringify(defaultValue);
}
