/** Approvals in the cache. Events of the server are applied to it directly, so that they are on the screen at once. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import {
  getApproval,
  getApprovalGrants,
  getApprovalPolicy,
  getChoices,
  listApprovals,
  postAnswer,
  type AnswerRequest,
  type ApprovalInfo,
} from '../api/approvals';
import { ApiError } from '../api/error';
import { queryClient } from '../api/queries';

/** The server's maximum page size. */
const MAX_PENDING = 200;
const HISTORY_PAGE = 50;

export const pendingQuery = queryOptions({
  queryKey: ['approvals', 'pending'],
  queryFn: async ({ signal }) => oldestFirst((await listApprovals({ state: 'pending', limit: MAX_PENDING }, signal)).approvals),
});

export const historyQuery = infiniteQueryOptions({
  queryKey: ['approvals', 'history'],
  initialPageParam: undefined as string | undefined,
  queryFn: ({ pageParam, signal }) => listApprovals({ before: pageParam, limit: HISTORY_PAGE }, signal),
  getNextPageParam: (last) => last.next,
});

export const approvalQuery = (id: string) =>
  queryOptions({ queryKey: ['approvals', 'one', id], queryFn: ({ signal }) => getApproval(id, signal) });

export const choicesQuery = queryOptions({ queryKey: ['approval-rules', 'choices'], queryFn: ({ signal }) => getChoices(signal) });
export const grantsQuery = queryOptions({ queryKey: ['approval-rules', 'grants'], queryFn: ({ signal }) => getApprovalGrants(signal) });
export const policyQuery = queryOptions({ queryKey: ['approval-rules', 'policy'], queryFn: ({ signal }) => getApprovalPolicy(signal) });

/** Oldest first: what waits longest expires first, and new ones do not move what the user is reading. */
function oldestFirst(list: readonly ApprovalInfo[]): ApprovalInfo[] {
  return [...list].sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
}

/** The pending approvals after one of them is new or changed. */
export function withApproval(list: readonly ApprovalInfo[], next: ApprovalInfo): ApprovalInfo[] {
  const others = list.filter(({ id }) => id !== next.id);
  return next.state === 'pending' ? oldestFirst([...others, next]) : others;
}

/** The order of states. Responses and events overtake each other, and an approval never goes back. */
const PROGRESS: Readonly<Record<string, number>> = { pending: 0, approved: 1, running: 2 };
const progressOf = ({ state }: ApprovalInfo) => PROGRESS[state] ?? 3;

export function applyApproval(next: ApprovalInfo): void {
  const known = queryClient.getQueryData(approvalQuery(next.id).queryKey);
  if (known !== undefined && progressOf(known) > progressOf(next)) return;
  queryClient.setQueryData(approvalQuery(next.id).queryKey, next);
  queryClient.setQueryData(pendingQuery.queryKey, (list) => list && withApproval(list, next));
  if (next.state !== 'pending') void queryClient.invalidateQueries({ queryKey: historyQuery.queryKey });
}

type GivenAnswer = Pick<AnswerRequest, 'answer' | 'remember' | 'note'>;

/** The result of an answer: `late` if another answer was first, or nobody answered in time. */
export interface AnswerResult {
  approval: ApprovalInfo;
  late: boolean;
}

/** Answers an approval, bound to the arguments that were shown. */
export async function answerApproval(
  shown: ApprovalInfo,
  given: GivenAnswer,
  surface: AnswerRequest['surface'] = 'console',
): Promise<AnswerResult> {
  try {
    const approval = await postAnswer(shown.id, { ...given, surface, argumentsDigest: shown.argumentsDigest });
    applyApproval(approval);
    return { approval, late: false };
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
    const approval = await getApproval(shown.id);
    applyApproval(approval);
    // Not a matter of time: the server knows other arguments than the ones shown.
    if (approval.state === 'pending') throw error;
    return { approval, late: true };
  }
}
