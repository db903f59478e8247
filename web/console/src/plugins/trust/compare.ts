/** What an update changes that the user has to be asked about again. As `trust::compare`. */
import type { Manifest } from './manifest';
import { beyond, isEmpty, type Permissions } from './permissions';
import { compareVersions, parseVersion } from './semver';

export interface Change {
  asksForMore: Permissions;
  downgrade: boolean;
  publisherChanged: boolean;
  signerChanged: boolean;
  toolsAdded: string[];
  toolsRemoved: string[];
}

/** Says nothing of whether the new one is believed. */
export function compare(old: Manifest, next: Manifest): Change {
  return {
    asksForMore: beyond(next.permissions, old.permissions),
    downgrade: isLower(next.version, old.version),
    publisherChanged: old.publisher !== next.publisher,
    signerChanged: signer(old) !== signer(next),
    toolsAdded: missingIn(old, next),
    toolsRemoved: missingIn(next, old),
  };
}

export function asksAgain(change: Change): boolean {
  return change.downgrade || change.publisherChanged || change.signerChanged || !isEmpty(change.asksForMore);
}

function missingIn(there: Manifest, here: Manifest): string[] {
  const known = new Set(there.tools.map(({ name }) => name));
  return here.tools.map(({ name }) => name).filter((name) => !known.has(name));
}

const signer = ({ signature }: Manifest) => (signature === null ? null : `${signature.alg} ${signature.key ?? ''}`);

/** Versions that cannot be compared count as lower, where they differ: nobody can say that they are not. */
function isLower(next: string, old: string): boolean {
  const [a, b] = [parseVersion(next), parseVersion(old)];
  return a === null || b === null ? next !== old : compareVersions(a, b) < 0;
}
