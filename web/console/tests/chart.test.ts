import assert from 'node:assert/strict';
import { test } from 'node:test';
import { niceTicks } from '../src/ui/chart';

test('an axis has round steps and covers all values', () => {
  assert.deepEqual(niceTicks(0, 7), [0, 2, 4, 6, 8]);
  assert.deepEqual(niceTicks(0, 0), [0, 0.5, 1]);
  assert.deepEqual(niceTicks(-3, 9), [-5, 0, 5, 10]);
});
