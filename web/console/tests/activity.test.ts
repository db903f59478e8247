import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventReader, MAX_EVENT } from '../src/api/sse';
import {
  visibleFilters,
  filtersFrom,
  matchesFilters,
  listQuery,
  NO_FILTERS,
  searchFrom,
  startTime,
  usageQuery,
  scopeQuery,
} from '../src/pages/activity/filters';
import { bucketLabels, callSeries, errorRates, errorSeries, seriesName } from '../src/pages/activity/shape';
import { callerLabel, describeOutcome, splitTool } from '../src/pages/activity/labels';

test('events are parsed wherever the bytes are split', () => {
  const text = ': keep alive\n\nevent: call\nid: 7\ndata: {"a":\ndata: 1}\n\r\nevent:missed\r\ndata:3\r\n\r\ndata: plain\n\n';
  const whole = [
    { event: 'call', data: '{"a":\n1}', id: '7' },
    { event: 'missed', data: '3', id: '7' },
    { event: 'message', data: 'plain', id: '7' },
  ];
  assert.deepEqual(new EventReader().push(text), whole);
  const slow = new EventReader();
  assert.deepEqual(
    [...text].flatMap((sign) => slow.push(sign)),
    whole,
  );
  assert.throws(() => new EventReader().push('x'.repeat(MAX_EVENT + 1)), /unterminated/);
});

const NOW = Date.parse('2026-01-02T03:04:05.678Z');

test('filters become query parameters', () => {
  assert.equal(startTime({ ...NO_FILTERS, hours: '1' }, NOW), '2026-01-02T02:04:00.000Z');
  const filters = { ...NO_FILTERS, app: ' com.a ', tool: 'com.a:t', outcome: 'OK', user: 'bob' };
  assert.deepEqual(listQuery(filters, NOW), {
    app: 'com.a',
    tool: 'com.a:t',
    outcome: 'OK',
    user: 'bob',
    since: '2026-01-01T03:04:00.000Z',
  });
  assert.deepEqual(listQuery({ ...filters, scope: 'apps' }, NOW), {
    app: 'com.a',
    tool: 'com.a:t',
    outcome: 'OK',
    since: '2026-01-01T03:04:00.000Z',
    of: 'apps',
  });
  assert.deepEqual([scopeQuery(filters), scopeQuery({ ...filters, scope: 'apps' })], [{ user: 'bob' }, { of: 'apps' }]);
  assert.deepEqual(usageQuery({ ...filters, scope: 'apps' }, NOW), {
    app: 'com.a',
    tool: 'com.a:t',
    since: '2026-01-01T03:04:00.000Z',
    of: 'apps',
  });
});

test('filters come from the URL, limited to what the role can see', () => {
  const filters = { ...NO_FILTERS, scope: 'apps' as const, hours: '1', user: 'bob' };
  const written = Object.fromEntries(Object.entries(searchFrom(filters)).filter(([, value]) => value !== undefined));
  assert.deepEqual(written, { of: 'apps', hours: '1', user: 'bob' });
  assert.deepEqual(filtersFrom(written), filters);
  assert.deepEqual(filtersFrom({}), NO_FILTERS);
  assert.deepEqual(filtersFrom({ of: 'everything', hours: '999999', unknown: 'x' }), NO_FILTERS);
  const all = { ...NO_FILTERS, app: 'com.a', tool: 'com.a:t', outcome: 'OK', hours: '720' };
  assert.deepEqual(filtersFrom(searchFrom(all)), all);
  assert.deepEqual(visibleFilters(filters, { builds: true, operates: true }), filters);
  assert.deepEqual(visibleFilters(filters, { builds: true, operates: false }), { ...filters, user: '' });
  assert.deepEqual(visibleFilters(filters, { builds: false, operates: false }), { ...filters, user: '', scope: 'mine' });
});

test('a call that just ended is listed only if it matches the filters', () => {
  const call = { tool: 'com.a:t', outcome: 'OK', userId: 'ada', startedAt: '' };
  assert.ok(matchesFilters(call, NO_FILTERS));
  assert.ok(matchesFilters(call, { ...NO_FILTERS, app: 'com.a', tool: 'com.a:t', outcome: 'OK', user: 'ada' }));
  for (const other of [{ app: 'com' }, { tool: 'com.a:u' }, { outcome: 'TIMEOUT' }, { user: 'bob' }])
    assert.ok(!matchesFilters(call, { ...NO_FILTERS, ...other }));
  // Of one's apps nobody is told for whom, so that the filter by user says nothing there.
  assert.ok(matchesFilters({ tool: 'com.a:t', outcome: 'OK', startedAt: '' }, { ...NO_FILTERS, scope: 'apps', user: 'bob' }));
});

test('numbers are converted to chart series', () => {
  assert.deepEqual(
    errorRates([
      { calls: [4, 0, 1], errors: [1, 0, 0] },
      { calls: [4, 0, 0], errors: [1, 0, 0] },
    ]),
    [25, 0, 0],
  );
  assert.deepEqual(errorRates([]), []);
  const labels = bucketLabels('2026-01-02T00:00:00.000Z', 86_400, 7, 'en-GB');
  assert.equal(labels.length, 7);
  assert.match(labels[0] ?? '', /Jan/);
  assert.match(bucketLabels('2026-01-02T00:00:00.000Z', 1_800, 48, 'en-GB')[0] ?? '', /^\d\d:\d\d$/);
  assert.equal(seriesName('*'), 'other');
});

test('a series looks the same in all charts, and several error series have a total', () => {
  const a = { key: 'com.a', calls: [4, 0], errors: [1, 0] };
  const b = { key: 'com.b', calls: [4, 2], errors: [3, 0] };
  const rest = { key: '*', calls: [2, 0], errors: [0, 0] };
  const looks = (series: { name: string; hue?: number }[]) => series.map(({ name, hue }) => [name, hue]);
  assert.deepEqual(looks(callSeries([a, b, rest])), [
    ['com.a', 0],
    ['com.b', 1],
    ['other', 7],
  ]);
  assert.deepEqual(looks(errorSeries([a, b, rest])).slice(0, 3), looks(callSeries([a, b, rest])));
  assert.deepEqual(
    errorSeries([a, b, rest]).map(({ values }) => values),
    [
      [25, 0],
      [75, 0],
      [0, 0],
      [40, 0],
    ],
  );
  assert.deepEqual(errorSeries([a, b]).at(-1), { name: 'total', values: [50, 0], isTotal: true });
  assert.deepEqual(errorSeries([a]), [{ name: 'com.a', hue: 0, values: [25, 0] }]);
});

test('codes and names have display texts', () => {
  assert.equal(describeOutcome('TIMEOUT'), 'The app did not respond in time.');
  assert.match(describeOutcome('NEW_CODE'), /Unknown code/);
  assert.equal(callerLabel('app:com.a'), 'the app com.a');
  assert.deepEqual(splitTool('com.a:t:u'), { app: 'com.a', name: 't:u' });
  assert.deepEqual(splitTool('plain'), { app: null, name: 'plain' });
});
