import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitLabel } from '../src/pages/library/fit';

const fit = (missingRequired: string[], missingOptional: string[] = [], deviceKnown = true) => ({
  fits: missingRequired.length === 0,
  deviceKnown,
  missingRequired,
  missingOptional,
});

test('whether an app fits is described as text', () => {
  const words = (...given: Parameters<typeof fit>) => fitLabel(fit(...given), 'Even Realities G1').words;
  assert.equal(words([]), 'Fits your Even Realities G1');
  assert.equal(words(['CAMERA']), 'Needs a camera; your glasses have none');
  assert.equal(words(['CAMERA', 'SPEAKER']), 'Needs a camera and a speaker; your glasses have neither');
  assert.equal(words(['WIFI']), 'Needs built-in Wi-Fi; your glasses do not have it');
  assert.equal(words([], ['DISPLAY']), 'Works on your Even Realities G1; does more with a display');
  assert.equal(words([], [], false), 'No glasses connected');
  assert.equal(fitLabel(fit([]), undefined).words, 'Fits your glasses');
  assert.equal(words(['HOLOGRAM']), 'Needs hologram; your glasses have none');
});
