/** An upstream as a form, and as the server expects it. */

export interface Draft {
  id: string;
  name: string;
  description: string;
  kind: 'url' | 'command';
  url: string;
  auth: 'headers' | 'oauth';
  /** `Name: value`, one per line. Sealed values are shown as the server shows them, and are kept. */
  headers: string;
  /** The program and its arguments, one per line, so that nothing has to be split. */
  command: string;
  /** `NAME=value`, one per line. */
  env: string;
  include: string;
  exclude: string;
  forAll: boolean;
}

export const NEW: Draft = {
  id: '',
  name: '',
  description: '',
  kind: 'url',
  url: '',
  auth: 'headers',
  headers: '',
  command: '',
  env: '',
  include: '',
  exclude: '',
  forAll: false,
};

export interface Details {
  name?: string;
  description?: string;
  url?: string | null;
  auth?: 'headers' | 'oauth';
  headers?: Record<string, string>;
  command?: string | null;
  args?: string[];
  env?: Record<string, string>;
  include?: string[];
  exclude?: string[];
  forAll?: boolean;
}

const pairs = (map: Record<string, string> | undefined, between: string) =>
  Object.entries(map ?? {})
    .map(([name, value]) => `${name}${between}${value}`)
    .join('\n');

export function draftOf(id: string, details: Details): Draft {
  return {
    id,
    name: details.name ?? '',
    description: details.description ?? '',
    kind: details.command == null ? 'url' : 'command',
    url: details.url ?? '',
    auth: details.auth ?? 'headers',
    headers: pairs(details.headers, ': '),
    command: [...(details.command == null ? [] : [details.command]), ...(details.args ?? [])].join('\n'),
    env: pairs(details.env, '='),
    include: (details.include ?? []).join('\n'),
    exclude: (details.exclude ?? []).join('\n'),
    forAll: details.forAll ?? false,
  };
}

const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

export type Wrong = Partial<Record<keyof Draft, string>>;

function readPairs(text: string, between: string): { map: Record<string, string>; wrong?: string } {
  const map: Record<string, string> = {};
  for (const line of lines(text)) {
    const place = line.indexOf(between);
    if (place < 1) return { map, wrong: `“${line.slice(0, 60)}” is not NAME${between}value.` };
    map[line.slice(0, place).trim()] = line.slice(place + between.length).trim();
  }
  return { map };
}

/** The request body, or the problems of the form. Contains all members, so that cleared fields are cleared. */
export function bodyOf(draft: Draft, isNew: boolean): { body: Details } | { wrong: Wrong } {
  const wrong: Wrong = {};
  if (isNew && !/^[a-z0-9][a-z0-9._-]{0,39}$/.test(draft.id))
    wrong.id = '1 to 40 characters: a-z, 0-9, dot, underscore, hyphen. It must start with a letter or digit.';
  const headers = readPairs(draft.headers, ':');
  const env = readPairs(draft.env, '=');
  const [command, ...args] = lines(draft.command);
  const shared = {
    name: draft.name.trim(),
    description: draft.description.trim(),
    include: lines(draft.include),
    exclude: lines(draft.exclude),
    forAll: draft.forAll,
  };
  if (draft.kind === 'url') {
    if (!/^https?:\/\/\S+$/.test(draft.url.trim())) wrong.url = 'Enter a URL that starts with https:// or http://.';
    if (headers.wrong !== undefined) wrong.headers = headers.wrong;
    if (Object.keys(wrong).length > 0) return { wrong };
    return { body: { ...shared, url: draft.url.trim(), auth: draft.auth, headers: headers.map } };
  }
  if (command === undefined) wrong.command = 'Enter a program.';
  if (env.wrong !== undefined) wrong.env = env.wrong;
  if (Object.keys(wrong).length > 0 || command === undefined) return { wrong };
  return { body: { ...shared, command, args, env: env.map } };
}
