import './browser-parts';
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { ApprovalInfo, PreviewReport } from '../src/api/approvals';
import { ApiError } from '../src/api/error';
import { queryClient } from '../src/api/queries';
import {
  answerText,
  argumentsExcerpt,
  dataLabel,
  grantText,
  previewText,
  reasonText,
  requesterText,
  stateLabel,
  stateText,
} from '../src/approvals/labels';
import { answerApproval, applyApproval, approvalQuery, pendingQuery, withApproval } from '../src/approvals/queries';
import { daysOf, rememberOptions, scopeOf } from '../src/approvals/remember';
import { parseApproval } from '../src/approvals/watch';
import { shortcutOf } from '../src/pages/approvals/shortcuts';
import { mergeInbox } from '../src/pages/approvals/use-inbox';
import { approvalRef, approvalsByCall } from '../src/pages/chat/approval-data';
import { changedRules } from '../src/pages/settings/changed-rules';

function approval(id: string, more: Partial<ApprovalInfo> = {}): ApprovalInfo {
  return {
    id,
    user: 'ada@example.com',
    tool: 'com.example.todo:delete_todo',
    definitionDigest: 'd0',
    argumentsDigest: 'a0',
    summary: { title: 'To-do list: Delete a todo', app: 'To-do list', lines: [{ label: 'todo_id', value: '1' }] },
    risk: 'medium',
    reason: 'policy',
    canRemember: true,
    inConversation: false,
    requester: { door: 'rest', caller: 'user' },
    state: 'pending',
    createdAt: '2026-06-01T10:00:00Z',
    expiresAt: '2026-06-01T11:00:00Z',
    url: `http://console.test/console/approvals/${id}`,
    callId: 'c0',
    ...more,
  };
}
const ids = (list: readonly ApprovalInfo[]) => list.map(({ id }) => id);
const denied = (id: string) =>
  approval(id, {
    state: 'denied',
    answer: { answer: 'deny', by: 'ada@example.com', surface: 'terminal', at: '2026-06-01T10:01:00Z', remember: { scope: 'once' } },
  });

/** Answers requests in this order, and notes them. */
function serve(...responses: { status: number; body: unknown }[]) {
  const requests: { method: string; path: string; body: unknown }[] = [];
  globalThis.fetch = async (input) => {
    const request = input as Request;
    const text = await request.text();
    requests.push({ method: request.method, path: new URL(request.url).pathname, body: text === '' ? undefined : JSON.parse(text) });
    const { status, body } = responses.shift() ?? { status: 500, body: {} };
    return new Response(JSON.stringify(body), { status });
  };
  return requests;
}

beforeEach(() => queryClient.clear());

test('pending approvals are listed oldest first, and leave the list when they are answered', () => {
  const [early, late] = [approval('1'), approval('2', { createdAt: '2026-06-01T10:05:00Z' })];
  assert.deepEqual(ids(withApproval([late], early)), ['1', '2']);
  assert.deepEqual(ids(withApproval([early, late], denied('1'))), ['2']);
  assert.equal(withApproval([early], { ...early, risk: 'high' })[0]?.risk, 'high');
});

test('an event that arrives late does not undo an answer', () => {
  queryClient.setQueryData(pendingQuery.queryKey, [approval('1')]);
  applyApproval(denied('1'));
  applyApproval(approval('1'));
  assert.equal(queryClient.getQueryData(approvalQuery('1').queryKey)?.state, 'denied');
  assert.deepEqual(queryClient.getQueryData(pendingQuery.queryKey), []);
});

test('an answered approval keeps its place on the page, and new ones are added at the end', () => {
  const [one, two, three] = [approval('1'), approval('2'), approval('3')];
  assert.deepEqual(ids(mergeInbox([one, two], [two, three])), ['1', '2', '3']);
  const shown = [one, two];
  assert.equal(mergeInbox(shown, [one, two]), shown, 'nothing changed');
  const many = Array.from({ length: 30 }, (_, place) => approval(`old ${place}`));
  const merged = mergeInbox(many, [three]);
  assert.equal(merged.length, 21, 'the number of answered ones is bounded');
  assert.deepEqual([merged[0]?.id, merged.at(-1)?.id], ['old 10', '3']);
});

test('an answer is bound to the arguments that were shown, and names the console', async () => {
  const requests = serve({ status: 200, body: denied('x/1') });
  const { late } = await answerApproval(approval('x/1', { argumentsDigest: 'seen' }), { answer: 'deny', note: 'no' });
  assert.equal(late, false);
  assert.deepEqual(requests, [
    {
      method: 'POST',
      path: '/api/approvals/x%2F1',
      body: { answer: 'deny', note: 'no', surface: 'console', argumentsDigest: 'seen' },
    },
  ]);
});

test('an approval that was answered elsewhere first is late, and other conflicts are errors', async () => {
  const conflict = { status: 409, body: { error: { code: 'CONFLICT', message: 'this question was denied before, on terminal' } } };
  serve(conflict, { status: 200, body: denied('1') });
  const result = await answerApproval(approval('1'), { answer: 'approve' });
  assert.deepEqual([result.late, result.approval.state], [true, 'denied']);
  serve(conflict, { status: 200, body: approval('2') });
  await assert.rejects(answerApproval(approval('2'), { answer: 'approve' }), (error) => error instanceof ApiError && error.status === 409);
});

test('a yes can be remembered as the server allows', () => {
  const offered = (more: Partial<ApprovalInfo>) => rememberOptions(approval('1', more)).map(({ value }) => value);
  assert.deepEqual(offered({}), ['once', 'arguments', 'tool']);
  assert.deepEqual(offered({ inConversation: true }), ['once', 'conversation', 'arguments', 'tool']);
  assert.deepEqual(offered({ inConversation: true, reason: 'dataFlow' }), ['once', 'conversation', 'arguments']);
  assert.deepEqual(offered({ canRemember: false }), ['once']);
  assert.deepEqual(['', ' 7 ', '0', '1.5', '3651', 'x'].map(daysOf), [undefined, 7, null, null, null, null]);
  assert.deepEqual(scopeOf('tool', 7), { scope: 'tool', days: 7 });
  assert.deepEqual(scopeOf('arguments', undefined), { scope: 'arguments' });
  assert.deepEqual(scopeOf('conversation', 7), { scope: 'conversation' });
});

test('a question about data that could leak says so, and labels of tools have names', () => {
  assert.match(reasonText('dataFlow'), /can send data out/);
  assert.equal(dataLabel('untrusted').name, 'outside content');
  assert.deepEqual(dataLabel('newer'), { name: 'newer', meaning: '' });
});

test('shortcuts ignore other keys, modifiers, and answers of a key that is held down', () => {
  const press = (key: string, more = {}) =>
    shortcutOf({ key, ctrlKey: false, metaKey: false, altKey: false, repeat: false, defaultPrevented: false, ...more });
  assert.deepEqual(
    ['j', 'ArrowDown', 'k', 'ArrowUp', 'a', 'd', '?'].map((key) => press(key)),
    [...['next', 'next', 'previous', 'previous'], ...['approve', 'deny', 'help']],
  );
  assert.equal(press('constructor'), undefined);
  assert.equal(press('a', { ctrlKey: true }), undefined);
  assert.equal(press('a', { repeat: true }), undefined);
  assert.equal(press('j', { repeat: true }), 'next');
});

test('a preview says what a rule would have done', () => {
  const report: PreviewReport = { calls: 1_000, matched: 14, dependsOnArguments: 0, stricter: 14, looser: 0, tools: [] };
  assert.equal(previewText(report, 'ask', false), 'Would have asked about 14 of your last 1,000 calls.');
  assert.equal(
    previewText({ ...report, stricter: 4, dependsOnArguments: 2 }, 'deny', true),
    'Would have refused 14 of the last 1,000 calls of all users. 4 of them would be new. For 2 more it depends on the arguments.',
  );
  assert.match(previewText({ ...report, looser: 3 }, 'allow', false), /^Would have run 14 of .* 3 of them needed an approval/);
  assert.equal(previewText({ ...report, matched: 0 }, 'ask', false), 'Would have matched none of your last 1,000 calls.');
  assert.match(previewText({ ...report, calls: 0 }, 'ask', false), /no recorded calls/);
});

test('texts say who asks, who answered, and what a grant covers', () => {
  assert.equal(
    requesterText({ door: 'mcp', caller: 'app:com.example.bot', client: 'inspector' }),
    'MCP, inspector for the app com.example.bot',
  );
  const connected = { name: 'Claude', host: 'claude.ai' };
  assert.equal(requesterText({ door: 'mcp', caller: 'client:1', client: 'Your bank', connected }), 'MCP, Claude (claude.ai)');
  assert.equal(answerText(denied('1')), 'Denied by ada@example.com in the terminal');
  assert.equal(answerText(approval('1')), undefined);
  assert.match(stateText(approval('1', { state: 'void' })), /^Withdrawn by the caller\. .* did not run/);
  assert.match(stateText(approval('1', { state: 'void', answer: denied('1').answer ?? null })), /changed .* did not run/);
  assert.equal(stateLabel('of a newer server' as never).name, 'of a newer server');
  const long = approval('1', { summary: { title: 't', app: 'a', lines: [{ label: 'text', value: 'x'.repeat(400) }] } });
  assert.equal(argumentsExcerpt(approval('1')), 'todo_id: 1');
  assert.equal(argumentsExcerpt(long).length, 161);
  const grant = { id: '1', tool: 't', inConversation: false, sameArguments: false, createdAt: '2026-06-01T10:00:00Z' };
  assert.equal(grantText({ ...grant, sameArguments: true }), 'every call with the same arguments');
  assert.equal(
    grantText({ ...grant, uses: 1, arguments: [{ pointer: '/amount', lessThan: 50, atLeast: 1 }] }),
    'every call if /amount < 50 and ≥ 1, 1 call left',
  );
});

test('unreadable events and parts are ignored', () => {
  assert.equal(parseApproval(JSON.stringify(approval('1')))?.id, '1');
  for (const odd of ['{', 'null', '[]', '{"id":"1"}', '{"id":"1","state":"pending","summary":{}}']) assert.equal(parseApproval(odd), null);
  const part = { type: 'data-approval', id: '1', data: { toolCallId: 'c' } };
  assert.deepEqual(approvalRef(part), { id: '1', toolCallId: 'c' });
  for (const odd of [undefined, null, {}, { toolCallId: 5 }]) assert.deepEqual(approvalRef({ ...part, data: odd }), { id: '1' });
  for (const odd of [undefined, 5, '']) assert.equal(approvalRef({ ...part, id: odd }), null);
  assert.equal(approvalRef({ ...part, type: 'data-tool' }), null);
  assert.deepEqual([...approvalsByCall([{ type: 'text' }, part])], [['c', '1']]);
});

test('only rules that are new or changed are previewed', () => {
  const [one, two] = [
    { tools: ['a:*'], decision: 'ask' },
    { tools: ['b:*'], decision: 'deny' },
  ];
  assert.deepEqual(changedRules([one], { preset: 'default', rules: [one, two] }), [{ number: 2, rule: two }]);
  for (const odd of [null, [], {}, { rules: 'x' }]) assert.deepEqual(changedRules([], odd), []);
  assert.equal(changedRules([], { rules: Array.from({ length: 50 }, () => two) }).length, 20);
});
