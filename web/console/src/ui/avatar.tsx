/** Initials on a color. */
export function Avatar({ name, small = false }: { name: string; small?: boolean }) {
  const words = name.split(/[\s._@-]+/).filter(Boolean);
  const initials = words
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? '')
    .join('');
  return (
    <span className={`avatar hue-${hue(name)}${small ? ' small' : ''}`} aria-hidden>
      {initials || '?'}
    </span>
  );
}

/** One of eight colors, always the same for a name. */
function hue(name: string): number {
  let sum = 0;
  for (const sign of name) sum = (sum * 31 + (sign.codePointAt(0) ?? 0)) >>> 0;
  return sum % 8;
}
