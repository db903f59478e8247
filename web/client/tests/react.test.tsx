import assert from 'node:assert/strict';
import test from 'node:test';

import { useChat } from '@ai-sdk/react';
import { createChatOptions, PluginManager } from '@toolyard/client';
import { Window } from 'happy-dom';
import { useState } from 'react';

import { promise, recorded, Stage, timePlugin } from './stage.js';

test('a page with `useChat` runs its tools and shows the answer', async (t) => {
  const window = new Window({ url: 'http://localhost/' });
  Object.assign(globalThis, { window, document: window.document });
  // Not every Node has one, and where there is one it cannot be assigned.
  Object.defineProperty(globalThis, 'navigator', { value: window.navigator, configurable: true });
  const { createRoot } = await import('react-dom/client');
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const manager = new PluginManager();
  await manager.use(timePlugin());
  const answered = promise();

  function Assistant() {
    const [options] = useState(() => createChatOptions(manager, { url: stage.url }));
    const { messages, sendMessage, status } = useChat({ ...options, onFinish: () => answered.resolve() });
    const said = messages.map((message) => <p key={message.id}>{message.parts.map((part) => (part.type === 'text' ? part.text : ''))}</p>);
    return (
      <main>
        {said}
        <button onClick={() => void sendMessage({ text: 'time' })}>{status}</button>
      </main>
    );
  }

  const root = createRoot(window.document.body as unknown as Element);
  const shows = (html: string) => until(window, () => window.document.body.innerHTML === html);
  root.render(<Assistant />);
  await shows('<main><button>ready</button></main>');
  window.document.querySelector('button')!.click();
  await answered.kept;
  await shows('<main><p>time</p><p>Let me look. It is noon.</p><button>ready</button></main>');
  root.unmount();
  assert.equal(stage.seen.length, 2);
  await window.happyDOM.close();
});

/** Waits for changes of the page until it is as it should be. */
async function until(window: Window, is: () => boolean): Promise<void> {
  const done = promise();
  const look = () => void (is() && done.resolve());
  const observer = new window.MutationObserver(look);
  observer.observe(window.document.body, { childList: true, subtree: true, characterData: true });
  look();
  await done.kept;
  observer.disconnect();
}
