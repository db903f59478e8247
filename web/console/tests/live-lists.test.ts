import './browser-parts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueryObserver } from '@tanstack/react-query';
import { LIST_KEYS, topicsOf } from '../src/api/live-lists';
import { queryClient } from '../src/api/queries';
import { helpFor } from '../src/pages/apps/try/help';
import { containsWords, matches, searchWords } from '../src/ui/matches';

test('unknown topics of an event are ignored', () => {
  assert.deepEqual(topicsOf('{"topics":["apps","tokens"]}'), ['apps', 'tokens']);
  assert.deepEqual(topicsOf('{"topics":["apps","of a newer server",5]}'), ['apps']);
  for (const odd of ['{', '{}', '[]', 'null', '{"topics":"apps"}']) assert.deepEqual(topicsOf(odd), []);
  assert.ok(Object.values(LIST_KEYS).every((keys) => keys.length > 0));
});

test('a change during the first load of a list is not lost', async () => {
  const loads: ((list: string) => void)[] = [];
  const queryFn = () => new Promise<string>((resolve) => loads.push(resolve));
  const observer = new QueryObserver(queryClient, { queryKey: ['first load'], queryFn });
  const stop = observer.subscribe(() => undefined);
  assert.equal(loads.length, 1);
  const invalidated = queryClient.invalidateQueries({ queryKey: ['first load'] });
  // The response to the first request is older than the change.
  loads[0]?.('before the change');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(loads.length, 2);
  loads[1]?.('after the change');
  await invalidated;
  assert.equal(observer.getCurrentResult().data, 'after the change');
  stop();
  queryClient.clear();
});

test('an unreachable app shows the developer how to fix it', () => {
  const help = helpFor('NETWORK_ERROR', { kind: 'tools-only', publicUrl: 'http://127.0.0.1:7010/' }, 'say', { words: "it's" });
  assert.ok(help !== undefined);
  assert.match(help.title, /No response from http:\/\/127\.0\.0\.1:7010/);
  assert.match(help.steps.join(' '), /Is the app running\?.*the port is 7010/);
  assert.ok(!help.steps.join(' ').includes('session app'));
  assert.match(help.curl ?? '', /^curl -i 'http:\/\/127\.0\.0\.1:7010\/tool'/);
  assert.match(help.curl ?? '', /it'\\''s/, 'whatever is in it, it is one word of the shell');
  assert.match(
    helpFor('APP_NOT_AVAILABLE', { kind: 'session', publicUrl: 'https://a.example' }, 'x', {})?.steps.join(' ') ?? '',
    /port is 443.*session app/,
  );
  assert.match(helpFor('APP_NOT_AVAILABLE', { kind: 'session', publicUrl: null }, 'x', {})?.title ?? '', /no URL/);
  assert.equal(helpFor('EXECUTION_ERROR', { kind: 'session', publicUrl: 'http://x' }, 'x', {}), undefined);
});

test('a search matches every word, ignoring case', () => {
  assert.ok(matches('TODO list', 'A todo', 'in a List'));
  assert.ok(!matches('todo x', 'A todo'));
  assert.ok(containsWords(searchWords(''), 'anything'));
});
