/** A tool while it is edited: the form fields, and the original definition, whose other members are kept. */
import { parseJson } from '../../../ui/json-text';
import { isObject, isText, newKey, formatJson, withMember, type Json } from './json';
import { haveSameOrder, meanSame, readRows, writeRows, type RowProblem, type Rows } from './parameters';

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint'] as const;
export type Hint = (typeof HINTS)[number];
export type YesNo = '' | 'yes' | 'no';

export interface Phrase {
  key: string;
  language: string;
  text: string;
}

type Input = ({ view: 'form' } & Rows) | { view: 'schema'; text: string };

export interface ToolDraft {
  key: string;
  /** The original definition. */
  base: Json;
  name: string;
  title: string;
  description: string;
  byLanguage: boolean;
  phrases: Phrase[];
  category: string;
  hints: Record<Hint, YesNo>;
  input: Input;
}

interface DraftProblem {
  field: 'name' | 'description' | 'phrases' | 'inputSchema';
  message: string;
  /** Location in the schema text. */
  line?: number;
}

export interface WrittenDraft {
  definition: Json;
  problems: DraftProblem[];
  rows: RowProblem[];
}

export const newDraft = (name = ''): ToolDraft => ({
  ...readDraft({ name, description: '', inputSchema: { type: 'object', properties: {} } }),
  base: {},
});

export function readDraft(definition: Json): ToolDraft {
  const extensions = isObject(definition.mentraExtensions) ? definition.mentraExtensions : {};
  const annotations = isObject(definition.annotations) ? definition.annotations : {};
  const yesNo = (hint: Hint): YesNo => (annotations[hint] === true ? 'yes' : annotations[hint] === false ? 'no' : '');
  const text = (value: unknown) => (isText(value) ? value : '');
  return {
    key: newKey(),
    base: definition,
    name: text(definition.name),
    title: text(definition.title),
    description: text(definition.description),
    byLanguage: isObject(extensions.activationPhrases),
    phrases: phrasesOf(extensions.activationPhrases),
    category: text(extensions.category),
    hints: { readOnlyHint: yesNo('readOnlyHint'), destructiveHint: yesNo('destructiveHint'), idempotentHint: yesNo('idempotentHint') },
    input: readInput(definition.inputSchema),
  };
}

function readInput(schema: unknown): Input {
  const read = readRows(schema);
  return 'why' in read ? { view: 'schema', text: formatJson(schema) } : { view: 'form', ...read };
}

function phrasesOf(value: unknown): Phrase[] {
  const list = (texts: unknown, language: string) =>
    (Array.isArray(texts) ? texts : []).filter(isText).map((text) => ({ key: newKey(), language, text }));
  if (isObject(value)) return Object.entries(value).flatMap(([language, texts]) => list(texts, language));
  return list(value, '');
}

/** Builds the definition as far as possible. `problems` has what the form itself can detect. */
export function writeDraft(draft: ToolDraft): WrittenDraft {
  const problems: DraftProblem[] = [];
  const name = nameProblem(draft.name);
  if (name !== undefined) problems.push({ field: 'name', message: name });
  const { schema, rows } = writeInput(draft, problems);
  let definition = withMember(draft.base, 'name', draft.name);
  definition = withMember(definition, 'title', draft.title === '' ? undefined : draft.title);
  definition = withMember(
    definition,
    'description',
    draft.description === '' && !('description' in draft.base) ? undefined : draft.description,
  );
  definition = withMember(definition, 'inputSchema', schema);
  definition = withMember(definition, 'annotations', writeHints(draft));
  definition = withMember(definition, 'mentraExtensions', writeExtensions(draft, problems));
  return { definition, problems, rows };
}

function writeInput({ input, base }: ToolDraft, problems: DraftProblem[]): { schema: unknown; rows: RowProblem[] } {
  if (input.view === 'form') {
    const { schema, problems: rows } = writeRows(input);
    if (rows.length > 0) problems.push({ field: 'inputSchema', message: rows[0]?.message ?? '' });
    // Unchanged members are written as they were.
    const isSame = meanSame(schema, base.inputSchema) && haveSameOrder(schema, base.inputSchema);
    return { schema: isSame ? base.inputSchema : schema, rows };
  }
  const parsed = parseJson(input.text);
  if (parsed.ok) return { schema: parsed.value, rows: [] };
  problems.push({
    field: 'inputSchema',
    message: `Line ${parsed.at.line}, column ${parsed.at.column}: ${parsed.message}.`,
    line: parsed.at.line,
  });
  return { schema: base.inputSchema ?? { type: 'object' }, rows: [] };
}

function writeHints({ base, hints }: ToolDraft): Json | undefined {
  const before = isObject(base.annotations) ? base.annotations : {};
  const value = (answer: YesNo) => (answer === '' ? undefined : answer === 'yes');
  const after = HINTS.reduce((annotations, hint) => withMember(annotations, hint, value(hints[hint])), before);
  return Object.keys(after).length === 0 && base.annotations === undefined ? undefined : after;
}

function writeExtensions(draft: ToolDraft, problems: DraftProblem[]): Json | undefined {
  const { base } = draft;
  const before = isObject(base.mentraExtensions) ? base.mentraExtensions : {};
  const phrases = draft.phrases
    .map((phrase) => ({ ...phrase, text: phrase.text.trim(), language: phrase.language.trim() }))
    .filter(({ text }) => text !== '');
  if (draft.byLanguage && phrases.some(({ language }) => language === '')) {
    problems.push({ field: 'phrases', message: 'Each phrase needs a language, such as en or de-AT.' });
  }
  const plain = phrases.map(({ text }) => text);
  const grouped = Object.fromEntries(
    [...new Set(phrases.map(({ language }) => language))].map((tag) => [
      tag,
      phrases.filter(({ language }) => language === tag).map(({ text }) => text),
    ]),
  );
  const none =
    before.activationPhrases !== undefined && phrasesOf(before.activationPhrases).length === 0 ? before.activationPhrases : undefined;
  const written = phrases.length === 0 ? none : draft.byLanguage ? grouped : plain;
  const after = withMember(
    withMember(before, 'activationPhrases', written),
    'category',
    draft.category === '' ? undefined : draft.category,
  );
  return Object.keys(after).length === 0 && base.mentraExtensions === undefined ? undefined : after;
}

function nameProblem(name: string): string | undefined {
  if (name === '') return 'Each tool needs an id.';
  if (name.includes(':')) return 'An id cannot contain a colon, which separates package and tool.';
  if (!/^[\x21-\x7e]{1,128}$/.test(name)) return 'An id has 1 to 128 letters, digits and symbols, without spaces.';
  return undefined;
}

/** Switches to the other view. `why` is set if the form cannot show the schema. */
export function switchView(draft: ToolDraft, view: 'form' | 'schema'): { draft: ToolDraft; why?: string } {
  if (draft.input.view === view) return { draft };
  if (view === 'schema') {
    const { definition, rows } = writeDraft(draft);
    const first = rows[0];
    if (first !== undefined) return { draft, why: first.message };
    return { draft: { ...draft, input: { view: 'schema', text: formatJson(definition.inputSchema) } } };
  }
  const parsed = parseJson(draft.input.view === 'schema' ? draft.input.text : '');
  if (!parsed.ok) return { draft, why: `The schema is not JSON: line ${parsed.at.line}, ${parsed.message}.` };
  const read = readRows(parsed.value);
  if ('why' in read) return { draft, why: `The form cannot show this schema: ${read.why}.` };
  return { draft: { ...draft, input: { view: 'form', ...read } } };
}

/** Why the form cannot show the schema in the editor; null if it can. */
export function formProblem(draft: ToolDraft): string | undefined {
  return switchView(draft, 'form').why;
}
