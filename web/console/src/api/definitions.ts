/** Changed definitions: the types of the server's `definitions` module, and its routes as functions. */
import { queryOptions } from '@tanstack/react-query';
import { get, send } from './console';
import type { components } from './schema';

type Schemas = components['schemas'];

export type DefinitionAnswer = Schemas['DefinitionAnswer'];
export type DefinitionChange = Schemas['DefinitionChangeInfo'];

const ROOT = '/api/definitions';
/** The most that one page of the server holds. */
const MAX_PAGE = 200;

export const changesQuery = queryOptions({
  queryKey: ['definitions', 'changes'],
  queryFn: ({ signal }) => get<Schemas['DefinitionChangeList']>(ROOT, { limit: MAX_PAGE }, signal),
});

export const changeQuery = (id: string, digest: string) =>
  queryOptions({
    queryKey: ['definitions', 'change', id, digest],
    queryFn: ({ signal }) => get<Schemas['DefinitionChangeDetails']>(`${ROOT}/${encodeURIComponent(id)}`, {}, signal),
  });

export const answerChange = (change: DefinitionChange, answer: DefinitionAnswer) =>
  send<void>('POST', `${ROOT}/${encodeURIComponent(change.id)}`, { answer, digest: change.digest });
