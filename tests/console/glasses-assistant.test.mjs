// The assistant on the glasses: what is said wakes another app, which answers itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, calm, launch, open } from './browser.mjs';
import { appRow, display, events, say, wear } from './glasses-app.mjs';
import { stage, USER } from './stage.mjs';

const TODO = 'com.example.todo';

test('"remind me to buy milk" starts the to-do app, shows the list, and the assistant stays silent', async () => {
  const it = await stage({ port: process.env.STAGE_PORT, assistant: true });
  const browser = await launch();
  try {
    const page = await open(browser, process.env.CONSOLE_URL ?? it.url, '/glasses');
    await wear(page, 'Simulated Glasses');
    await page.getByRole('button', { name: 'Start Assistant' }).click();
    await page.getByText('An app is listening').waitFor();
    await say(page, 'hey toolyard, remind me to buy milk');
    await display(page).getByText('1. buy milk').waitFor();
    await page.getByText('Drawn by To-do list').waitFor();
    await appRow(page, 'To-do list').getByText('woken by a call').waitFor();
    await events(page)
      .getByText(/To-do list finished add_todo: OK/)
      .waitFor();
    await becomes(
      async () => (await it.api('GET', '/api/calls?limit=2')).calls.map(({ tool, outcome, userId }) => [tool, outcome, userId]),
      [[`${TODO}:add_todo`, 'OK', USER]],
    );

    // One turn follows the other: what it would have said of the first, it has said before it answers the second.
    await say(page, 'hey toolyard, good morning');
    const aloud = page.getByRole('list', { name: 'Spoken' });
    await aloud.getByText(/You said: good morning/i).waitFor();
    await events(page)
      .getByText(/Assistant says: You said/)
      .waitFor();
    // "One moment, asking Todo ..." is no answer; on a slow machine it is said.
    assert.equal(
      await aloud
        .getByRole('listitem')
        .filter({ hasText: /Done|Added|milk/ })
        .count(),
      0,
      await aloud.innerText(),
    );
    assert.equal(
      await events(page)
        .getByRole('listitem')
        .filter({ hasText: /Assistant (says|draws): .*(Done|Added|milk)/ })
        .count(),
      0,
      await events(page).innerText(),
    );

    // Without a display the app cannot answer itself, and the assistant speaks.
    await page.getByLabel('Model').selectOption('Mentra Live');
    await page.getByText('These glasses have no display.').waitFor();
    await say(page, 'hey toolyard, remind me to call Bob');
    await aloud.getByText(/call Bob/).waitFor();
    calm(page);
  } finally {
    await browser.close();
    await it.close();
  }
});
