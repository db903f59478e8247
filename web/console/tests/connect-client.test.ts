import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConsentInfo } from '../src/api/clients';
import {
  appOptions,
  approvalOf,
  clientName,
  type ConsentSelection,
  durationOptions,
  hostOf,
  identityScopes,
  initialSelection,
  isSafeRedirect,
  MAX_APPS,
  offeredScopes,
  selectionProblem,
  toggleApp,
  toggleScope,
} from '../src/clients/consent';
import { identityText, scopeSummary, scopeText, TOOL_SCOPES, toolScopesUpTo } from '../src/clients/scopes';

const [READ, WRITE, DESTRUCTIVE] = TOOL_SCOPES;
const TODO = { package: 'com.example.todo', name: 'To-do list' };
const NOTES = { package: 'com.example.notes', name: 'Notes' };

const info = (parts: Partial<ConsentInfo> = {}): ConsentInfo => ({
  client: { id: 'https://claude.ai/client.json', name: 'Claude', kind: 'metadata-document' },
  redirectHost: 'claude.ai',
  isLoopback: false,
  user: 'ada@example.com',
  scopes: [READ, WRITE, DESTRUCTIVE, 'chat', 'openid', 'profile', 'offline_access'],
  requestedApps: [],
  apps: [TODO, NOTES],
  days: 90,
  maxDays: 365,
  expiresAt: '2026-11-17T12:00:00Z',
  ...parts,
});

test('every permission has a title and an explanation', () => {
  for (const scope of [READ, WRITE, DESTRUCTIVE, 'chat', 'account']) {
    const { title, explanation } = scopeText(scope);
    assert.notEqual(title, scope);
    assert.match(explanation, /^[A-Z].*\.$/);
  }
  assert.ok(scopeText(DESTRUCTIVE).warning);
  assert.ok(scopeText('account').warning);
  assert.equal(scopeText(READ).warning, undefined);
  assert.equal(scopeText('newer:scope').title, 'newer:scope');
});

test('who the user is, is one permission that names only what was requested', () => {
  assert.equal(identityText(['openid', 'profile', 'email']).explanation, 'See your user id, your name and your email address.');
  assert.equal(identityText(['email']).explanation, 'See your email address.');
});

test('permissions of a connected client are a few phrases', () => {
  assert.deepEqual(scopeSummary([READ]), ['Call tools that read']);
  assert.deepEqual(scopeSummary(['email', 'openid', 'chat', DESTRUCTIVE, 'apps:com.a', 'offline_access']), [
    'Call tools that read, change and delete',
    'Chat',
    'Know who you are',
  ]);
  assert.deepEqual(scopeSummary(['account', 'newer:scope']), ['Manage your account', 'newer:scope']);
  assert.deepEqual(scopeSummary(['offline_access']), []);
});

test('a scope for tools offers the ones that it contains', () => {
  assert.deepEqual(toolScopesUpTo([]), []);
  assert.deepEqual(toolScopesUpTo(['chat', WRITE]), [READ, WRITE]);
  assert.deepEqual(offeredScopes({ scopes: ['chat', DESTRUCTIVE, 'chat', 'openid', 'apps:com.a', 'offline_access'] }), [
    READ,
    WRITE,
    DESTRUCTIVE,
    'chat',
  ]);
  assert.deepEqual(offeredScopes({ scopes: ['openid', 'email'] }), []);
  assert.deepEqual(identityScopes({ scopes: ['email', READ, 'openid'] }), ['email', 'openid']);
});

test('a scope for tools is selected with the lower ones and cleared with the higher ones', () => {
  const none = new Set<string>();
  const all = new Set<string>([...TOOL_SCOPES, 'chat']);
  for (const [before, scope, on, expected] of [
    [none, READ, true, [READ]],
    [none, WRITE, true, [READ, WRITE]],
    [none, DESTRUCTIVE, true, [READ, WRITE, DESTRUCTIVE]],
    [all, READ, false, ['chat']],
    [all, WRITE, false, [READ, 'chat']],
    [all, DESTRUCTIVE, false, [READ, WRITE, 'chat']],
    [all, 'chat', false, [READ, WRITE, DESTRUCTIVE]],
    [none, 'chat', true, ['chat']],
  ] as const) {
    assert.deepEqual([...toggleScope(before, scope, on)], expected, `${scope} ${on}`);
  }
  assert.deepEqual([none.size, all.size], [0, 4], 'the selection before is not changed');
});

test('everything requested is selected at first', () => {
  assert.deepEqual(approvalOf('r', info(), initialSelection(info())), {
    request: 'r',
    approve: true,
    scopes: [READ, WRITE, DESTRUCTIVE, 'chat', 'openid', 'profile', 'offline_access'],
    apps: null,
    days: 90,
  });
});

test('a narrowed selection is sent in the order of the page', () => {
  const asked = info({ scopes: ['offline_access', 'chat', DESTRUCTIVE] });
  const selection: ConsentSelection = {
    scopes: toggleScope(toggleScope(new Set(['chat']), WRITE, true), 'chat', true),
    appMode: 'some',
    apps: toggleApp(toggleApp(new Set([TODO.package]), NOTES.package, true), TODO.package, false),
    days: 1,
  };
  assert.deepEqual(approvalOf('r', asked, selection), {
    request: 'r',
    approve: true,
    scopes: [READ, WRITE, 'chat', 'offline_access'],
    apps: [NOTES.package],
    days: 1,
  });
  const noRefresh = approvalOf('r', info({ scopes: [READ] }), { ...selection, appMode: 'all' });
  assert.deepEqual(noRefresh, { request: 'r', approve: true, scopes: [READ], apps: null, days: 1 });
});

test('a client that asks for certain apps cannot get others', () => {
  const asked = info({ requestedApps: [NOTES.package, 'com.example.gone'] });
  assert.deepEqual(appOptions(asked), { canBeAll: false, apps: [NOTES], missing: ['com.example.gone'] });
  const selection = initialSelection(asked);
  assert.deepEqual([selection.appMode, [...selection.apps]], ['some', [NOTES.package]]);
  assert.deepEqual(appOptions(info()), { canBeAll: true, apps: [TODO, NOTES], missing: [] });
  assert.equal(initialSelection(info()).apps.size, 0);
});

test('a selection without permissions or apps cannot be sent', () => {
  const good = initialSelection(info());
  const many = new Set(Array.from({ length: MAX_APPS + 1 }, (_, place) => `com.example.app${place}`));
  assert.equal(selectionProblem(good), undefined);
  assert.match(selectionProblem({ ...good, scopes: new Set() }) ?? '', /at least one permission/);
  assert.match(selectionProblem({ ...good, appMode: 'some' }) ?? '', /at least one app/);
  assert.match(selectionProblem({ ...good, appMode: 'some', apps: many }) ?? '', /at most 50 apps/);
  assert.equal(selectionProblem({ ...good, appMode: 'some', apps: new Set([TODO.package]) }), undefined);
  assert.equal(selectionProblem({ ...good, appMode: 'some', scopes: new Set(['chat']) }), undefined, 'apps matter only for tools');
});

test('durations end at the limit of the server, and contain its default', () => {
  assert.deepEqual(durationOptions({ days: 90, maxDays: 365 }), [1, 30, 90, 365]);
  assert.deepEqual(durationOptions({ days: 90, maxDays: 60 }), [1, 30, 60]);
  assert.deepEqual(durationOptions({ days: 7, maxDays: 30 }), [1, 7, 30]);
  assert.equal(initialSelection(info({ days: 90, maxDays: 60 })).days, 60);
});

test('the name of a client is one short line without invisible characters', () => {
  assert.equal(clientName('  Claude\n Code '), 'Claude Code');
  assert.equal(clientName('Evil\u202egpj\u200b\u0000'), 'Evilgpj');
  assert.equal(clientName('\u200b'), 'Unnamed client');
  assert.equal(clientName('x'.repeat(61)), `${'x'.repeat(60)}…`);
});

test('hosts, and redirects that the page follows', () => {
  assert.equal(hostOf('https://claude.ai/oauth/client.json'), 'claude.ai');
  assert.equal(hostOf('dyn_123'), undefined);
  for (const good of ['https://claude.ai/cb?code=1', 'http://127.0.0.1:33418/', 'cursor://anysphere.cursor/cb', 'com.example.app:/cb'])
    assert.ok(isSafeRedirect(good), good);
  for (const bad of ['javascript:alert(1)', ' JavaScript:alert(1)', 'data:text/html,x', 'blob:https://a/1', '/cb', ''])
    assert.ok(!isSafeRedirect(bad), bad);
});
