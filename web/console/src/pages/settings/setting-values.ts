/** Settings as apps define them, parsed with care, because they come from the app. */

export interface Setting {
  key: string;
  label: string;
  kind: 'toggle' | 'text' | 'number' | 'select' | 'many' | 'json';
  /** `value` is the text in the browser, `raw` the value of the app. */
  options: { value: string; label: string; raw: unknown }[];
  min?: number;
  max?: number;
  /** The original value, for settings that the form cannot show. */
  raw: unknown;
  value: unknown;
}

/** A heading or a text, without a value. */
export interface SettingText {
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

/** Maximum number of settings that are shown; an app has at most 64. */
const MOST = 64;

export function readSettings(list: readonly unknown[]): (Setting | SettingText)[] {
  return list.slice(0, MOST).flatMap((one): (Setting | SettingText)[] => {
    if (typeof one !== 'object' || one === null) return [];
    const { type, key, label, title, value, min, max, options } = one as Record<string, unknown>;
    if (typeof key !== 'string' || key === '') {
      const heading = text(title) || text(label) || text(value);
      return heading === '' ? [] : [{ words: heading }];
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

/** The text in a field. Multiple choices are lines; unknown kinds are JSON. */
export function formatValue(setting: Setting): string {
  const { kind, value } = setting;
  if (kind === 'toggle') return value === true ? 'true' : 'false';
  if (kind === 'many') return Array.isArray(value) ? value.map(String).join('\n') : '';
  if (kind === 'json') return value === undefined ? '' : JSON.stringify(value);
  return value === undefined || value === null ? '' : String(value);
}

/** The value of a field, or an error message. `undefined` keeps the app's default. */
export function parseValue(setting: Setting, field: string): { value: unknown } | { error: string } {
  switch (setting.kind) {
    case 'toggle':
      return { value: field === 'true' };
    case 'number': {
      if (field.trim() === '') return { value: undefined };
      const read = Number(field);
      if (!Number.isFinite(read)) return { error: 'Enter a number.' };
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
        return { error: 'Enter valid JSON.' };
      }
    case 'select':
      return { value: chosen(setting, field) };
    case 'text':
      return { value: field };
  }
}

/** The value of a choice, with the type that the app gave it. */
function chosen(setting: Setting, field: string): unknown {
  const option = setting.options.find((one) => one.value === field);
  if (option !== undefined) return option.raw;
  const before: readonly unknown[] = Array.isArray(setting.value) ? setting.value : [setting.value];
  return before.find((one) => String(one) === field) ?? field;
}

/**
 * All values of the user, which replace those on the server: edited values, and the rest unchanged. Values that are still the app's
 * default are omitted, and so follow the app.
 */
export function valuesOf(
  settings: readonly Setting[],
  edits: ReadonlyMap<string, string>,
): { values: Record<string, unknown>; errors: Map<string, string> } {
  const errors = new Map<string, string>();
  const values: Record<string, unknown> = {};
  for (const setting of settings) {
    const field = edits.get(setting.key);
    if (field === undefined || field === formatValue(setting)) {
      if (!isDefault(setting)) values[setting.key] = setting.value;
      continue;
    }
    const read = parseValue(setting, field);
    if ('error' in read) errors.set(setting.key, read.error);
    else if (read.value !== undefined) values[setting.key] = read.value;
  }
  return { values, errors };
}

function isDefault({ value, raw }: Setting): boolean {
  const { defaultValue } = raw as { defaultValue?: unknown };
  return value === undefined || JSON.stringify(value) === JSON.stringify(defaultValue);
}
