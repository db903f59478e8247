const MIN_PASSWORD = 12;
export const MAX_PASSWORD = 256;

/** Why the server would refuse a password. It counts characters, not UTF-16 units. */
export function passwordProblem(password: string, user: string): string | undefined {
  const length = [...password].length;
  if (length < MIN_PASSWORD) return `Too short: use at least ${MIN_PASSWORD} characters.`;
  if (length > MAX_PASSWORD) return `Too long: use at most ${MAX_PASSWORD} characters.`;
  if (password.toLowerCase() === user.toLowerCase()) return 'Your password must not be your user ID.';
  return undefined;
}
