/** Which guide a connected client belongs to. Names are what clients say about themselves, so this is for orientation only. */
import type { ConnectedClient } from '../../api/clients';
import { clientName } from '../../clients/consent';
import type { ClientIdentity } from './guide';

/** The connection of this client that was used last, if there is one. */
export function findConnection(
  identity: ClientIdentity | undefined,
  clients: readonly ConnectedClient[],
  now: number,
): ConnectedClient | undefined {
  if (identity === undefined) return undefined;
  return clients
    .filter((client) => Date.parse(client.expiresAt) > now && matchesIdentity(identity, client))
    .sort((one, other) => usedAt(other) - usedAt(one))[0];
}

const usedAt = ({ lastUsedAt, createdAt }: ConnectedClient) => Date.parse(lastUsedAt ?? createdAt);

function matchesIdentity({ documents = [], hosts = [], names = [] }: ClientIdentity, { clientId, host, name }: ConnectedClient): boolean {
  const own = clientName(name).toLowerCase();
  if (documents.includes(clientId)) return true;
  return hosts.includes(host.toLowerCase()) || names.some((one) => startsWithWords(own, one.toLowerCase()));
}

/** Clients add the name of the server or of an edition: "Claude Code (toolyard)", "Visual Studio Code - Insiders". */
const startsWithWords = (text: string, words: string) => text.startsWith(words) && !/^[\p{L}\p{N}]/u.test(text.slice(words.length));
