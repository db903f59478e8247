/** A tool while it is edited: what the form shows, and the definition it came from, whose other members are kept. */
import { parseJson } from '../../../ui/json-text';
import { isObject, isText, newKey, pretty, put, type Json } from './json';
import { haveSameOrder, meanSame, readRows, writeRows, type RowProblem, type Rows } from './parameters';

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint'] as const;
export type Hint = (typeof HINTS)[number];
export type Said = '' | 'yes' | 'no';

export interface Phrase {
  key: string;
  language: string;
  text: string;
}

type Input = ({ view: 'form' } & Rows) | { view: 'schema'; text: string };

export interface Draft {
  key: string;
  /** The definition it came from. */
  base: Json;
  name: string;
  title: string;
  description: string;
  byLanguage: boolean;
  phrases: Phrase[];
  category: string;
  hints: Record<Hint, Said>;
  input: Input;
}

interface DraftProblem {
  field: 'name' | 'description' | 'phrases' | 'inputSchema';
  message: string;
  /** In the text of the schema. */
  line?: number;
}

export interface Written {
  definition: Json;
  problems: DraftProblem[];
  rows: RowProblem[];
}

export const newDraft = (name = ''): Draft => ({
  ...readDraft({ name, description: '', inputSchema: { type: 'object', properties: {} } }),
  base: {},
});

export function readDraft(definition: Json): Draft {
  const extensions = isObject(definition.mentraExtensions) ? definition.mentraExtensions : {};
  const annotations = isObject(definition.annotations) ? definition.annotations : {};
  const said = (hint: Hint): Said => (annotations[hint] === true ? 'yes' : annotations[hint] === false ? 'no' : '');
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
    hints: { readOnlyHint: said('readOnlyHint'), destructiveHint: said('destructiveHint'), idempotentHint: said('idempotentHint') },
    input: readInput(definition.inputSchema),
  };
}

function readInput(schema: unknown): Input {
  const read = readRows(schema);
  return 'why' in read ? { view: 'schema', text: pretty(schema) } : { view: 'form', ...read };
}

function phrasesOf(value: unknown): Phrase[] {
  const list = (texts: unknown, language: string) =>
    (Array.isArray(texts) ? texts : []).filter(isText).map((text) => ({ key: newKey(), language, text }));
  if (isObject(value)) return Object.entries(value).flatMap(([language, texts]) => list(texts, language));
  return list(value, '');
}

/** The definition, as far as it can be written; `problems` where something is wrong that the form itself can see. */
export function writeDraft(draft: Draft): Written {
  const problems: DraftProblem[] = [];
  const name = nameProblem(draft.name);
  if (name !== undefined) problems.push({ field: 'name', message: name });
  const { schema, rows } = writeInput(draft, problems);
  let definition = put(draft.base, 'name', draft.name);
  definition = put(definition, 'title', draft.title === '' ? undefined : draft.title);
  definition = put(definition, 'description', draft.description === '' && !('description' in draft.base) ? undefined : draft.description);
  definition = put(definition, 'inputSchema', schema);
  definition = put(definition, 'annotations', writeHints(draft));
  definition = put(definition, 'mentraExtensions', writeExtensions(draft, problems));
  return { definition, problems, rows };
}

function writeInput({ input, base }: Draft, problems: DraftProblem[]): { schema: unknown; rows: RowProblem[] } {
  if (input.view === 'form') {
    const { schema, problems: rows } = writeRows(input);
    if (rows.length > 0) problems.push({ field: 'inputSchema', message: rows[0]?.message ?? '' });
    // Written as it came, where nothing changed.
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

function writeHints({ base, hints }: Draft): Json | undefined {
  const before = isObject(base.annotations) ? base.annotations : {};
  const value = (said: Said) => (said === '' ? undefined : said === 'yes');
  const after = HINTS.reduce((annotations, hint) => put(annotations, hint, value(hints[hint])), before);
  return Object.keys(after).length === 0 && base.annotations === undefined ? undefined : after;
}

function writeExtensions(draft: Draft, problems: DraftProblem[]): Json | undefined {
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
  const after = put(put(before, 'activationPhrases', written), 'category', draft.category === '' ? undefined : draft.category);
  return Object.keys(after).length === 0 && base.mentraExtensions === undefined ? undefined : after;
}

function nameProblem(name: string): string | undefined {
  if (name === '') return 'Each tool needs an id.';
  if (name.includes(':')) return 'A colon separates package and tool, so an id has none.';
  if (!/^[\x21-\x7e]{1,128}$/.test(name)) return 'An id has 1 to 128 letters, digits and signs, without spaces.';
  return undefined;
}

/** To the other view, with the same meaning; `why` where the form cannot show the schema. */
export function switchView(draft: Draft, view: 'form' | 'schema'): { draft: Draft; why?: string } {
  if (draft.input.view === view) return { draft };
  if (view === 'schema') {
    const { definition, rows } = writeDraft(draft);
    const first = rows[0];
    if (first !== undefined) return { draft, why: first.message };
    return { draft: { ...draft, input: { view: 'schema', text: pretty(definition.inputSchema) } } };
  }
  const parsed = parseJson(draft.input.view === 'schema' ? draft.input.text : '');
  if (!parsed.ok) return { draft, why: `The schema is not JSON: line ${parsed.at.line}, ${parsed.message}.` };
  const read = readRows(parsed.value);
  if ('why' in read) return { draft, why: `The form cannot show this schema: ${read.why}.` };
  return { draft: { ...draft, input: { view: 'form', ...read } } };
}

/** Why the form cannot show what is in the schema editor; nothing where it can. */
export function whyNoForm(draft: Draft): string | undefined {
  return switchView(draft, 'form').why;
}
