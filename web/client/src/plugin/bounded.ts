/** Waits for what others wrote: never for ever, and not after the user has left. */

/** Longest time that a timer can count; a longer one would ring at once. */
const LONGEST = 2 ** 31 - 1;

/** The error of somebody who left, as `fetch` has it. */
function leftError(): DOMException {
  return new DOMException('the answer was stopped', 'AbortError');
}

/** Runs it. It cannot be ended from outside; after the time limit, or when `signal` is aborted, nobody waits for it. */
export function bounded<T>(limit: number, run: () => T | PromiseLike<T>, signal?: AbortSignal, who = 'it'): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const settle = (how: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      how();
    };
    const leave = () => settle(() => reject(leftError()));
    const late = () => settle(() => reject(new Error(`${who} took longer than ${limit} ms`)));
    const timer = setTimeout(late, Math.min(limit, LONGEST));
    if (signal?.aborted) return leave();
    signal?.addEventListener('abort', leave);
    // In a promise, so that whoever throws at once fails like whoever fails later.
    new Promise<T>((begin) => begin(run())).then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error as Error)),
    );
  });
}
