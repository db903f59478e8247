/** Runs third-party code with a timeout and an abort signal. */

/** Longest delay that a timer supports; a longer one would fire at once. */
const LONGEST = 2 ** 31 - 1;

/** The abort error, as `fetch` has it. */
function abortError(): DOMException {
  return new DOMException('the answer was stopped', 'AbortError');
}

/** Runs a function. It cannot be stopped from outside; after the timeout, or when `signal` is aborted, its result is ignored. */
export function withTimeout<T>(limit: number, run: () => T | PromiseLike<T>, signal?: AbortSignal, who = 'it'): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const settle = (how: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      how();
    };
    const leave = () => settle(() => reject(abortError()));
    const late = () => settle(() => reject(new Error(`${who} took longer than ${limit} ms`)));
    const timer = setTimeout(late, Math.min(limit, LONGEST));
    if (signal?.aborted) return leave();
    signal?.addEventListener('abort', leave);
    // Inside a promise, so that a synchronous exception is handled like a rejection.
    new Promise<T>((begin) => begin(run())).then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error as Error)),
    );
  });
}
