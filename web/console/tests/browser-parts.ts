/** As much of a browser as modules of the console need at their start; imported before them. */
class Kept implements Storage {
  #kept = new Map<string, string>();
  [name: string]: unknown;
  get length() {
    return this.#kept.size;
  }
  clear = () => this.#kept.clear();
  getItem = (key: string) => this.#kept.get(key) ?? null;
  key = (place: number) => [...this.#kept.keys()][place] ?? null;
  removeItem = (key: string) => void this.#kept.delete(key);
  setItem = (key: string, value: string) => void this.#kept.set(key, value);
}

const windowEvents = new EventTarget();
const part = (name: string, value: unknown) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
part('localStorage', new Kept());
part('sessionStorage', new Kept());
part('window', {
  location: { origin: 'http://console.test' },
  addEventListener: windowEvents.addEventListener.bind(windowEvents),
  removeEventListener: windowEvents.removeEventListener.bind(windowEvents),
});

/** As another tab would have it told. */
export function toldByOtherTab(): void {
  windowEvents.dispatchEvent(Object.assign(new Event('storage'), { key: 'toolyard.session', storageArea: localStorage }));
}
