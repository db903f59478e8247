/** The permissions that a plugin requests, as in `protocol::plugin::PluginPermissions`. Requesting does not grant anything. */
import { bytes as sizeOf } from '../../ui/time';
import type { Problem } from './problem';
import type { Json } from './strict';

/** True: as much as the host gives to any plugin; a number: at most that many bytes. */
type Storage = boolean | number;

export interface Permissions {
  network: string[];
  storage: Storage;
  clock: boolean;
}

export const NO_PERMISSIONS: Readonly<Permissions> = { network: [], storage: false, clock: false };
const MAX_HOSTS = 64;

const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.|$)){4}(?<!\.)$/;

/** The problem with a host name; null if it is valid. */
export function hostProblem(text: string): string | null {
  const shown = `\`${text.slice(0, 80)}\``;
  if (/[/:@?#[]/.test(text)) return `${shown}: write the host only, without scheme, port and path, such as api.example.com`;
  const name = text.startsWith('*.') ? text.slice(2) : text;
  const labels = name.split('.');
  const starred = name.length < text.length;
  if (name.includes('*') || (starred && labels.length < 2)) {
    return `${shown}: a star must be the whole first label, followed by at least two more, such as *.example.com`;
  }
  const numeric = /^\d/.test(labels.at(-1) ?? '');
  const fits = text.length <= 253 && labels.every((label) => LABEL.test(label)) && (!numeric || (!starred && IPV4.test(text)));
  return fits ? null : `${shown} is not a host name: labels of a-z, 0-9 and \`-\` with dots between; write others as xn--…`;
}

export const isAddress = (host: string) => IPV4.test(host);

export function allowsHost(pattern: string, host: string): boolean {
  if (!pattern.startsWith('*')) return host === pattern;
  const suffix = pattern.slice(1);
  return host.length > suffix.length && host.endsWith(suffix);
}

function covers(pattern: string, other: string): boolean {
  if (!other.startsWith('*')) return allowsHost(pattern, other);
  return pattern.startsWith('*') && other.slice(1).endsWith(pattern.slice(1));
}

export function readPermissions(value: Json | undefined, problems: Problem[]): Permissions {
  const wrong = (path: string, message: string) => problems.push({ path: `permissions${path}`, message });
  if (value === undefined) return { ...NO_PERMISSIONS, network: [] };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    wrong('', 'expected an object');
    return { ...NO_PERMISSIONS, network: [] };
  }
  for (const name of Object.keys(value)) if (!['network', 'storage', 'clock'].includes(name)) wrong(`.${name}`, 'unknown field');
  const { network = [], storage = false, clock = false } = value;
  const hosts: string[] = [];
  if (!Array.isArray(network)) wrong('.network', 'expected a list of hosts');
  else {
    if (network.length > MAX_HOSTS) wrong('.network', `${network.length} hosts; at most ${MAX_HOSTS}`);
    for (const [index, host] of network.slice(0, MAX_HOSTS).entries()) {
      const problem = typeof host === 'string' ? hostProblem(host) : 'expected a text';
      if (problem === null) hosts.push(host as string);
      else wrong(`.network[${index}]`, problem);
    }
  }
  if (typeof clock !== 'boolean') wrong('.clock', 'expected true or false');
  return { network: hosts, storage: readStorage(storage, wrong), clock: clock === true };
}

function readStorage(value: Json, wrong: (path: string, message: string) => void): Storage {
  if (typeof value === 'boolean') return value;
  const bytes = typeof value === 'object' && value !== null && !Array.isArray(value) ? value.bytes : undefined;
  const alone = bytes !== undefined && Object.keys(value as object).length === 1;
  if (alone && typeof bytes === 'number' && Number.isInteger(bytes) && bytes >= 0) return bytes === 0 ? false : bytes;
  wrong('.storage', 'expected true, false or {"bytes": NUMBER}');
  return false;
}

function least(a: Storage, b: Storage): Storage {
  if (a === false || b === false) return false;
  if (a === true) return b;
  return b === true ? a : Math.min(a, b);
}

export const isEmpty = ({ network, storage, clock }: Permissions) => network.length === 0 && storage === false && !clock;

/** The intersection of both. */
export function intersectPermissions(asked: Permissions, limit: Permissions): Permissions {
  const both = (a: readonly string[], b: readonly string[]) => a.filter((host) => b.some((other) => covers(other, host)));
  const network = [...new Set([...both(asked.network, limit.network), ...both(limit.network, asked.network)])];
  return { network, storage: least(asked.storage, limit.storage), clock: asked.clock && limit.clock };
}

/** The permissions that are requested here and were not before. */
export function addedPermissions(asked: Permissions, before: Permissions): Permissions {
  return {
    network: asked.network.filter((host) => !before.network.some((old) => covers(old, host))),
    storage: least(asked.storage, before.storage) === asked.storage ? false : asked.storage,
    clock: asked.clock && !before.clock,
  };
}

/** The JSON form in manifests and in the API. */
export function writePermissions({ network, storage, clock }: Permissions): {
  network?: string[];
  storage?: true | { bytes: number };
  clock?: true;
} {
  return {
    ...(network.length > 0 && { network }),
    ...(storage !== false && { storage: storage === true ? (true as const) : { bytes: storage } }),
    ...(clock && { clock: true as const }),
  };
}

/** As text for the user. */
export function describePermissions({ network, storage, clock }: Permissions): string[] {
  const host = (pattern: string) => (pattern.startsWith('*.') ? `all hosts under ${pattern.slice(2)}` : pattern);
  return [
    ...network.map((pattern) => `Send and fetch data: ${host(pattern)}`),
    ...(storage === false ? [] : [`Store data in this browser${storage === true ? '' : `, at most ${sizeOf(storage)}`}`]),
    ...(clock ? ['Read the clock'] : []),
  ];
}
