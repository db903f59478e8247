import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseErrorResponse, errorText } from '../src/api/error';
import { endsSoon } from '../src/shell/ends-soon';

test('only network errors of fetch are shown as an unreachable server', () => {
  for (const words of ['Failed to fetch', 'NetworkError when attempting to fetch resource.', 'Load failed', 'network error']) {
    assert.equal(errorText(new TypeError(words)), 'The server cannot be reached.');
  }
  assert.equal(
    errorText(new TypeError("Cannot read properties of undefined (reading 'x')")),
    "Cannot read properties of undefined (reading 'x')",
  );
  assert.equal(errorText('plain'), 'plain');
});

test('`Retry-After` is read from an error response', async () => {
  const refused = (headers: Record<string, string>) =>
    parseErrorResponse(new Response('{"error":{"code":"BUSY","message":"Later."}}', { status: 429, headers }));
  const asked = await refused({ 'Retry-After': '7' });
  assert.deepEqual([asked.message, asked.status, asked.retryAfterMs], ['Later.', 429, 7_000]);
  assert.equal((await refused({})).retryAfterMs, undefined);
  assert.equal((await refused({ 'Retry-After': 'soon' })).retryAfterMs, undefined);
  assert.equal((await refused({ 'Retry-After': 'Thu, 01 Jan 1970 00:00:00 GMT' })).retryAfterMs, 0);
});

test('a token expires soon in its last ten minutes', () => {
  const now = Date.parse('2026-01-02T00:00:00Z');
  assert.deepEqual(
    ['2026-01-02T00:10:01Z', '2026-01-02T00:10:00Z', '2026-01-01T00:00:00Z', ''].map((end) => endsSoon(end, now)),
    [false, true, true, false],
  );
});
