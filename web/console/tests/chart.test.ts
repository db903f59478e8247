import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nice } from '../src/ui/chart';

test('an axis has round steps and holds all values', () => {
  assert.deepEqual(nice(0, 7), [0, 2, 4, 6, 8]);
  assert.deepEqual(nice(0, 0), [0, 0.5, 1]);
  assert.deepEqual(nice(-3, 9), [-5, 0, 5, 10]);
});
