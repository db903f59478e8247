import assert from 'node:assert/strict';
import test from 'node:test';

import { clipboardPlugin, pagePlugin, PluginManager, selectionPlugin, type Plugin } from '@toolyard/client';
import { Window } from 'happy-dom';

/** Runs a tool of a plugin as a chat would. */
async function run(plugin: Plugin, tool: string, input: object = {}): Promise<any> {
  const manager = new PluginManager();
  await manager.use(plugin);
  return manager.run({ id: 'c', name: tool, input });
}

function page(html: string, url = 'https://user:word@example.com/shop?code=1#token') {
  const window = new Window({ url });
  window.document.write(`<html lang="de"><head><title>Ein Laden</title></head><body>${html}</body></html>`);
  return window as unknown as globalThis.Window & typeof globalThis;
}

test('a page is described by title, URL, language and headings', async () => {
  const window = page('<h1> Brot\n <b>und</b> Salz </h1><h3>Preise</h3><h2 hidden>x</h2><h2></h2><div aria-hidden="true"><h2>y</h2></div>');
  assert.deepEqual(await run(pagePlugin({ window }), 'get_page_info'), {
    title: 'Ein Laden',
    url: 'https://example.com/shop',
    language: 'de',
    headings: [
      { level: 1, text: 'Brot und Salz' },
      { level: 3, text: 'Preise' },
    ],
    moreHeadings: 0,
  });
});

test('hidden headings are left out', async () => {
  const window = page('<h1>a</h1><h2>b</h2>');
  const [, second] = window.document.querySelectorAll('h1, h2');
  second!.checkVisibility = () => false;
  const { headings } = await run(pagePlugin({ window }), 'get_page_info');
  assert.deepEqual(
    headings.map(({ text }: any) => text),
    ['a'],
  );
});

test('query and fragment of a URL are included only if the program allows it, its password never', async () => {
  const { url } = await run(pagePlugin({ window: page(''), query: true }), 'get_page_info');
  assert.equal(url, 'https://example.com/shop?code=1#token');
});

test('the description of a page is limited', async () => {
  const window = page(`<h1>${'a'.repeat(300)}</h1>`.repeat(60), `https://example.com/${'p'.repeat(3000)}`);
  window.document.title = 't'.repeat(400);
  const whole = await run(pagePlugin({ window }), 'get_page_info');
  assert.deepEqual([whole.headings.length, whole.moreHeadings, whole.headings[0].text.length], [50, 10, 200]);
  assert.deepEqual([whole.title.length, whole.url.length], [300, 2000]);
  const few = await run(pagePlugin({ window }), 'get_page_info', { max_headings: 2 });
  assert.deepEqual([few.headings.length, few.moreHeadings], [2, 58]);
});

test('selected text is read, and an empty selection is empty', async () => {
  const window = page('<p>Brot und Salz</p>');
  const plugin = selectionPlugin({ window });
  assert.deepEqual(await run(plugin, 'get_selection'), { text: '', characters: 0, cut: false });
  window.getSelection()!.selectAllChildren(window.document.querySelector('p')!);
  assert.deepEqual(await run(plugin, 'get_selection'), { text: 'Brot und Salz', characters: 13, cut: false });
});

test('a selection in a field is read, unless it is a password field', async () => {
  const window = page('<textarea>Brot und Salz</textarea><input type="text" value="Butter"><input type="password" value="geheim">');
  const plugin = selectionPlugin({ window });
  const inside = async (selector: string) => {
    const field = window.document.querySelector<HTMLInputElement>(selector)!;
    field.focus();
    field.setSelectionRange(0, 4);
    return (await run(plugin, 'get_selection')).text;
  };
  assert.equal(await inside('textarea'), 'Brot');
  assert.equal(await inside('input[type=text]'), 'Butt');
  assert.equal(await inside('input[type=password]'), '');
});

test('a selection is limited, and no character is cut in half', async () => {
  const window = page(`<p>${'😀'.repeat(20_000)}</p>`);
  window.getSelection()!.selectAllChildren(window.document.querySelector('p')!);
  const plugin = selectionPlugin({ window });
  const usual = await run(plugin, 'get_selection');
  assert.deepEqual([usual.text.length, usual.characters, usual.cut], [4000, 40_000, true]);
  assert.equal((await run(plugin, 'get_selection', { max_chars: 3 })).text, '😀');
  assert.equal((await run(plugin, 'get_selection', { max_chars: 20_000 })).text.length, 20_000);
});

/** A clipboard, and a browser that allows or forbids. */
function clipboard(state: PermissionState | 'unknown', text = 'Brot') {
  const asked: string[] = [];
  const board = { text, writes: 0 };
  const navigator: any = {
    clipboard: {
      readText: async () => board.text,
      writeText: async (to: string) => {
        board.text = to;
        board.writes += 1;
      },
    },
    permissions: {
      query: async ({ name }: { name: string }) => {
        asked.push(name);
        if (state === 'unknown') throw new TypeError('no such permission');
        return { state };
      },
    },
  };
  return { navigator, asked, board };
}

test('the clipboard is read and written if the page has permission', async () => {
  for (const state of ['granted', 'prompt', 'unknown'] as const) {
    const { navigator, asked, board } = clipboard(state);
    const plugin = clipboardPlugin({ navigator });
    assert.deepEqual(await run(plugin, 'read_clipboard'), { text: 'Brot', characters: 4, cut: false });
    assert.deepEqual(await run(plugin, 'copy_to_clipboard', { text: 'Salz' }), { characters: 4 });
    assert.deepEqual([board.text, asked], ['Salz', ['clipboard-read', 'clipboard-write']]);
  }
});

test('a browser without the permissions API is asked by using the clipboard', async () => {
  const { navigator } = clipboard('granted');
  delete navigator.permissions;
  assert.equal((await run(clipboardPlugin({ navigator }), 'read_clipboard')).text, 'Brot');
});

test('a denied clipboard permission is reported', async () => {
  const { navigator, board } = clipboard('denied');
  const plugin = clipboardPlugin({ navigator });
  await assert.rejects(run(plugin, 'read_clipboard'), /this page may not read the clipboard: the user or the browser denied it/);
  await assert.rejects(run(plugin, 'copy_to_clipboard', { text: 'x' }), /may not write the clipboard: the user or/);
  assert.equal(board.writes, 0);
});

test('a denial by the user and a failure of the browser are distinguished', async () => {
  const { navigator } = clipboard('prompt');
  navigator.clipboard.readText = () => Promise.reject(new DOMException('Document is not focused.', 'NotAllowedError'));
  navigator.clipboard.writeText = () => Promise.reject(new DOMException('no memory', 'DataError'));
  const plugin = clipboardPlugin({ navigator });
  const text = /may not read the clipboard: the user denied it, or the page is not focused \(Document is not focused\.\)/;
  await assert.rejects(run(plugin, 'read_clipboard'), text);
  await assert.rejects(run(plugin, 'copy_to_clipboard', { text: 'x' }), /^DataError: no memory$/);
});

test('a page without a clipboard reports the reason', async () => {
  const text = /this page cannot read the clipboard: it needs HTTPS and a browser that supports it/;
  await assert.rejects(run(clipboardPlugin({ navigator: {} }), 'read_clipboard'), text);
});

test('clipboard reads and writes are limited', async () => {
  const { navigator, board } = clipboard('granted', 'x'.repeat(30_000));
  const plugin = clipboardPlugin({ navigator });
  const read = await run(plugin, 'read_clipboard');
  assert.deepEqual([read.text.length, read.characters, read.cut], [4000, 30_000, true]);
  const long = run(plugin, 'copy_to_clipboard', { text: 'x'.repeat(100_001) });
  await assert.rejects(long, /`text`: 100001 characters; at most 100000/);
  assert.equal(board.writes, 0);
});

test('invalid arguments return what is wrong', async () => {
  const { navigator } = clipboard('granted');
  const [page_, selection, board] = [
    pagePlugin({ window: page('') }),
    selectionPlugin({ window: page('') }),
    clipboardPlugin({ navigator }),
  ];
  const count = (most: number) => new RegExp(`expected a whole number from 1 to ${most}`);
  for (const wrong of [0, -1, 1.5, '5', 201]) {
    await assert.rejects(run(page_, 'get_page_info', { max_headings: wrong }), count(200));
  }
  await assert.rejects(run(selection, 'get_selection', { max_chars: 20_001 }), count(20_000));
  await assert.rejects(run(board, 'read_clipboard', { max_chars: 0 }), count(20_000));
  for (const text of [undefined, '', 5]) {
    await assert.rejects(run(board, 'copy_to_clipboard', { text }), /`text`: expected a text that is not empty/);
  }
  for (const [plugin, tool] of [
    [page_, 'get_page_info'],
    [selection, 'get_selection'],
    [board, 'read_clipboard'],
  ] as const) {
    await assert.rejects(run(plugin, tool, { other: 1 }), /there is no argument `other`/);
  }
});

test('outside a browser the tools return an error', async () => {
  const text = /there is no page: this program does not run in a browser/;
  await assert.rejects(run(pagePlugin(), 'get_page_info'), text);
  await assert.rejects(run(selectionPlugin(), 'get_selection'), text);
  await assert.rejects(run(clipboardPlugin(), 'read_clipboard'), text);
});

test('in a browser the tools use the current page', async (t) => {
  Object.assign(globalThis, { window: page('<h1>hier</h1>') });
  t.after(() => Reflect.deleteProperty(globalThis, 'window'));
  assert.equal((await run(pagePlugin(), 'get_page_info')).headings[0].text, 'hier');
  assert.equal((await run(selectionPlugin(), 'get_selection')).text, '');
});

test('all built-in plugins can be used together', async () => {
  const manager = new PluginManager();
  for (const plugin of [pagePlugin(), selectionPlugin(), clipboardPlugin()]) await manager.use(plugin);
  const names = ['get_page_info', 'get_selection', 'read_clipboard', 'copy_to_clipboard'];
  assert.deepEqual(
    manager.clientToolDefinitions().map(({ name }) => name),
    names,
  );
});
