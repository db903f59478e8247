// What makes a test fail now and then on a busy machine is not written here: the tests are read for it.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('.', import.meta.url);

/** What is not written, and what is written in its place. */
const RULES = [
  { never: /\.waitForTimeout\(|'networkidle'/, because: 'waits for time to pass; wait for what the page shows' },
  {
    never: /setTimeout\(resolve|timers\/promises/,
    because: 'sleeps; use `until` or `becomes`',
    except: ['browser.mjs', 'model.mjs', 'stage.mjs'],
  },
  { never: /\btimeout: \d|setDefaultTimeout\((?!PATIENCE_MS)/, because: 'has a limit of its own; `PATIENCE_MS` is the one for all' },
  { never: /\.(check|uncheck|setChecked)\(/, because: 'looks once, right after the click; use `flip`' },
  {
    never: /\.(isVisible|isHidden|isEnabled|isDisabled|isChecked|isEditable)\(/,
    because: 'looks once; use `waitFor`, `disabled` or `isOn`',
    except: ['screenshots.mjs'],
  },
  { never: /assert\.\w+\([^;]*\.count\(\)\)?, (?!0\b)/, because: 'counts once what may still be drawn; use `becomes`' },
  {
    never: /assert\.\w+\([^;]*await [^;]*\.(inputValue|textContent|getAttribute|allInnerTexts|allTextContents|boundingBox)\(/,
    because: 'reads once; use `becomes`',
  },
  {
    never: /\.fill\([^\n]*\n\s*await page\.keyboard\.press\('Enter'\)/,
    because: 'is not heard while an answer is under way; use `ask`',
    except: ['screenshots.mjs'],
  },
  { never: /\.listen\((?!0\b)\d/, because: 'takes a port that others may have; listen on 0' },
];

for (const name of readdirSync(folder).filter((name) => name.endsWith('.mjs') && name !== 'conventions.test.mjs')) {
  test(`${name} waits for what it expects`, () => {
    const text = readFileSync(new URL(name, folder), 'utf8');
    const found = RULES.filter(({ except = [] }) => !except.includes(name)).flatMap(({ never, because }) =>
      [...text.matchAll(new RegExp(never, 'g'))].map(
        ({ 0: words, index }) => `${name}:${text.slice(0, index).split('\n').length}: ${words.trim()} ${because}`,
      ),
    );
    assert.deepEqual(found, []);
  });
}
