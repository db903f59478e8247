/** Semantic versions, as far as manifests need them: validation and comparison. */
const NUMBER = '0|[1-9]\\d*';
const FORM = new RegExp(
  `^(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})(?:-((?:${NUMBER}|\\d*[A-Za-z-][0-9A-Za-z-]*)(?:\\.(?:${NUMBER}|\\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);

interface Version {
  core: bigint[];
  before: string[];
}

export function parseVersion(text: string): Version | null {
  const match = FORM.exec(text);
  if (match === null) return null;
  const [, major = '0', minor = '0', patch = '0', before] = match;
  return { core: [major, minor, patch].map(BigInt), before: before?.split('.') ?? [] };
}

/** Negative if `a` comes before `b`. Build metadata after `+` is ignored. */
export function compareVersions(a: Version, b: Version): number {
  for (const [place, own] of a.core.entries()) {
    const other = b.core[place] ?? 0n;
    if (own !== other) return own < other ? -1 : 1;
  }
  if (a.before.length === 0 || b.before.length === 0) return b.before.length - a.before.length;
  for (const [place, own] of a.before.entries()) {
    const other = b.before[place];
    if (other === undefined) return 1;
    const order = compareParts(own, other);
    if (order !== 0) return order;
  }
  return a.before.length - b.before.length;
}

function compareParts(a: string, b: string): number {
  const numeric = [a, b].map((part) => /^\d+$/.test(part));
  if (numeric[0] && numeric[1]) return Number(BigInt(a) - BigInt(b));
  if (numeric[0] !== numeric[1]) return numeric[0] ? -1 : 1;
  return a === b ? 0 : a < b ? -1 : 1;
}
