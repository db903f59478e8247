/** The changes between two tool sets, with the labels of the editor, and the values before and after. */
import { isObject, isText, formatJson, isSameJson, type Json } from '../tools/json';

export interface ToolSet {
  tools: unknown[];
  prompts?: unknown[];
  resources?: unknown[];
  resourceTemplates?: unknown[];
}

export interface FieldChange {
  field: string;
  /** Undefined if it did not exist. */
  before?: string;
  after?: string;
  /** Shown in a monospace font. */
  code: boolean;
}

export interface EntryChange {
  kind: 'added' | 'removed' | 'changed';
  what: 'tool' | 'prompt' | 'resource' | 'resource template';
  name: string;
  fields: FieldChange[];
}

const LISTS = [
  ['tools', 'tool', 'name'],
  ['prompts', 'prompt', 'name'],
  ['resources', 'resource', 'uri'],
  ['resourceTemplates', 'resource template', 'uriTemplate'],
] as const;

export function diffSets(from: ToolSet, to: ToolSet): EntryChange[] {
  return LISTS.flatMap(([list, what, key]) => {
    const [before, after] = [byKey(from[list] ?? [], key), byKey(to[list] ?? [], key)];
    const names = [...new Set([...before.keys(), ...after.keys()])];
    return names.flatMap((name): EntryChange[] => {
      const [old, now] = [before.get(name), after.get(name)];
      const fields = fieldChanges(old ?? {}, now ?? {}, key);
      if (old === undefined) return [{ kind: 'added', what, name, fields }];
      if (now === undefined) return [{ kind: 'removed', what, name, fields }];
      return fields.length === 0 ? [] : [{ kind: 'changed', what, name, fields }];
    });
  });
}

function byKey(list: unknown[], key: string): Map<string, Json> {
  return new Map(list.filter(isObject).map((one) => [String(one[key]), one]));
}

function fieldChanges(before: Json, after: Json, key: string): FieldChange[] {
  const [old, now] = [fieldsOf(before, key), fieldsOf(after, key)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((field) => {
    const [one, other] = [old.get(field), now.get(field)];
    if (isSameJson(one, other)) return [];
    const code = [one, other].some((value) => value !== undefined && !isText(value));
    return [{ field, code, ...(one !== undefined && { before: shown(one) }), ...(other !== undefined && { after: shown(other) }) }];
  });
}

const shown = (value: unknown) => (isText(value) ? value : formatJson(value));

const NAMES: Record<string, string> = {
  title: 'Title',
  description: 'Description',
  inputSchema: 'Parameters',
  outputSchema: 'Result',
  readOnlyHint: 'Read-only',
  destructiveHint: 'Destructive',
  idempotentHint: 'Safe to repeat',
  activationPhrases: 'Activation phrases',
  category: 'Category',
};

/** The members by their label in the editor; annotations and extensions one by one. */
function fieldsOf(entry: Json, key: string): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const [name, value] of Object.entries(entry)) {
    if (name === key) continue;
    if ((name === 'annotations' || name === 'mentraExtensions') && isObject(value)) {
      for (const [inner, part] of Object.entries(value)) fields.set(NAMES[inner] ?? `${name}.${inner}`, inWords(inner, part));
    } else fields.set(NAMES[name] ?? name, value);
  }
  return fields;
}

function inWords(name: string, value: unknown): unknown {
  if (name === 'activationPhrases') {
    if (Array.isArray(value)) return value.join('\n');
    if (isObject(value))
      return Object.entries(value)
        .flatMap(([tag, list]) => (Array.isArray(list) ? list : []).map((text) => `${tag}: ${String(text)}`))
        .join('\n');
  }
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : value;
}

export interface Line {
  kind: 'same' | 'before' | 'after';
  text: string;
}

/** Longer texts are shown completely, the old and the new one. */
const MOST_CELLS = 1_000_000;

/** The lines of both texts: common lines once, otherwise old lines before new ones. */
export function diffLines(before: string, after: string): Line[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const line =
    (kind: Line['kind']) =>
    (text: string): Line => ({ kind, text });
  return [
    ...old.slice(0, start).map(line('same')),
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map(line('same')),
  ];
}

function middle(old: string[], now: string[]): Line[] {
  if (old.length * now.length > MOST_CELLS) {
    return [...old.map((text): Line => ({ kind: 'before', text })), ...now.map((text): Line => ({ kind: 'after', text }))];
  }
  const width = now.length + 1;
  // Longest common subsequence from each pair of positions.
  const longest = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1)
      longest[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const [one, other] = [old[i], now[j]];
    if (one !== undefined && one === other) {
      lines.push({ kind: 'same', text: one });
      i += 1;
      j += 1;
    } else if (one !== undefined && (other === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: 'before', text: one });
      i += 1;
    } else {
      lines.push({ kind: 'after', text: other ?? '' });
      j += 1;
    }
  }
  return lines;
}

/** Omits long runs of equal lines, except for some around each change. */
export function folded(lines: readonly Line[], around = 3): (Line | { kind: 'fold'; count: number })[] {
  const isNear = (place: number) => lines.slice(Math.max(0, place - around), place + around + 1).some(({ kind }) => kind !== 'same');
  const kept: (Line | { kind: 'fold'; count: number })[] = [];
  for (const [place, line] of lines.entries()) {
    const last = kept.at(-1);
    if (isNear(place)) kept.push(line);
    else if (last?.kind === 'fold') last.count += 1;
    else kept.push({ kind: 'fold', count: 1 });
  }
  return kept;
}
