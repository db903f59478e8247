import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventReader, MAX_EVENT } from '../src/api/sse';
import { allowed, fits, keptFilters, listQuery, NONE, sinceOf, usageQuery } from '../src/pages/activity/filters';
import { bucketLabels, errorRates, seriesName } from '../src/pages/activity/shape';
import { callerWords, outcomeWords, splitTool } from '../src/pages/activity/words';

test('events are read however the pieces fall', () => {
  const text = ': keep alive\n\nevent: call\nid: 7\ndata: {"a":\ndata: 1}\n\r\nevent:missed\r\ndata:3\r\n\r\ndata: plain\n\n';
  const whole = [
    { event: 'call', data: '{"a":\n1}', id: '7' },
    { event: 'missed', data: '3', id: '7' },
    { event: 'message', data: 'plain', id: '7' },
  ];
  assert.deepEqual(new EventReader().push(text), whole);
  const slow = new EventReader();
  assert.deepEqual([...text].flatMap((sign) => slow.push(sign)), whole);
  assert.throws(() => new EventReader().push('x'.repeat(MAX_EVENT + 1)), /without an end/);
});

const NOW = Date.parse('2026-01-02T03:04:05.678Z');

test('filters become the questions of the server', () => {
  assert.equal(sinceOf({ ...NONE, hours: '1' }, NOW), '2026-01-02T02:04:00.000Z');
  const filters = { ...NONE, app: ' com.a ', tool: 'com.a:t', outcome: 'OK', user: 'bob' };
  assert.deepEqual(listQuery(filters, NOW), { app: 'com.a', tool: 'com.a:t', outcome: 'OK', user: 'bob', since: '2026-01-01T03:04:00.000Z' });
  assert.deepEqual(usageQuery({ ...filters, scope: 'apps' }, NOW), { app: 'com.a', tool: 'com.a:t', since: '2026-01-01T03:04:00.000Z', of: 'apps' });
});

test('filters are one user\'s, and never what the role cannot see', () => {
  const filters = { ...NONE, scope: 'apps' as const, hours: '1', user: 'bob' };
  const kept = JSON.stringify({ ...filters, whose: 'ada' });
  assert.deepEqual(keptFilters(kept, 'ada'), filters);
  for (const [text, whose] of [[kept, 'eve'], [null, 'ada'], ['{', 'ada']] as const) assert.deepEqual(keptFilters(text, whose), NONE);
  assert.deepEqual(allowed(filters, { builds: true, operates: true }), filters);
  assert.deepEqual(allowed(filters, { builds: true, operates: false }), { ...filters, user: '' });
  assert.deepEqual(allowed(filters, { builds: false, operates: false }), { ...filters, user: '', scope: 'mine' });
});

test('a call that just ended is listed only if it fits', () => {
  const call = { tool: 'com.a:t', outcome: 'OK', userId: 'ada', startedAt: '' };
  assert.ok(fits(call, NONE));
  assert.ok(fits(call, { ...NONE, app: 'com.a', tool: 'com.a:t', outcome: 'OK', user: 'ada' }));
  for (const other of [{ app: 'com' }, { tool: 'com.a:u' }, { outcome: 'TIMEOUT' }, { user: 'bob' }]) assert.ok(!fits(call, { ...NONE, ...other }));
});

test('numbers get the shape of plots', () => {
  assert.deepEqual(errorRates([{ calls: [4, 0, 1], errors: [1, 0, 0] }, { calls: [4, 0, 0], errors: [1, 0, 0] }]), [25, 0, 0]);
  assert.deepEqual(errorRates([]), []);
  const labels = bucketLabels('2026-01-02T00:00:00.000Z', 86_400, 7, 'en-GB');
  assert.equal(labels.length, 7);
  assert.match(labels[0] ?? '', /Jan/);
  assert.match(bucketLabels('2026-01-02T00:00:00.000Z', 1_800, 48, 'en-GB')[0] ?? '', /^\d\d:\d\d$/);
  assert.equal(seriesName('*'), 'all others');
});

test('codes and names in words', () => {
  assert.equal(outcomeWords('TIMEOUT'), 'The app did not answer in time.');
  assert.match(outcomeWords('NEW_CODE'), /does not know/);
  assert.equal(callerWords('app:com.a'), 'the app com.a');
  assert.deepEqual(splitTool('com.a:t:u'), { app: 'com.a', name: 't:u' });
  assert.deepEqual(splitTool('plain'), { app: null, name: 'plain' });
});
