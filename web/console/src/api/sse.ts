/** Server-sent events over `fetch`, because EventSource cannot send the credential. */
export interface ServerEvent {
  event: string;
  data: string;
  id?: string;
}

/** Longest event in characters. A longer one is an error. */
export const MAX_EVENT = 4_194_304;

/** Parses chunks of text and returns complete events. */
export class EventReader {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #size = 0;
  #id: string | undefined;

  push(piece: string): ServerEvent[] {
    const lines = (this.#rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > MAX_EVENT) throw new Error('unterminated event');
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): ServerEvent[] {
    if (line === '') return this.#whole();
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'event') this.#event = value;
    else if (name === 'id') this.#id = value;
    else if (name === 'data') {
      this.#data.push(value);
      this.#size += value.length;
      if (this.#size > MAX_EVENT) throw new Error('event too large');
    }
    return [];
  }

  #whole(): ServerEvent[] {
    const [event, data] = [this.#event || 'message', this.#data];
    [this.#event, this.#data, this.#size] = ['', [], 0];
    if (data.length === 0) return [];
    return [{ event, data: data.join('\n'), ...(this.#id !== undefined && { id: this.#id }) }];
  }
}

/** The events of a response, until it ends. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  if (response.body === null) return;
  const reader = new EventReader();
  const text = new TextDecoder();
  const body = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await body.read();
      if (done) return;
      yield* reader.push(text.decode(value, { stream: true }));
    }
  } finally {
    void body.cancel().catch(() => undefined);
  }
}
