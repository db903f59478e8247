/** The names of this browser and its system, for a list in which the user looks for a browser. */

/** Most browsers also name others that they are compatible with, so the order matters. */
const BROWSERS: readonly [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|OPT|OPX)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/(Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/.*\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly [RegExp, string][] = [
  [/\b(iPhone|iPod)\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

type Agent = Pick<Navigator, 'userAgent' | 'maxTouchPoints'>;

function systemName({ userAgent, maxTouchPoints }: Agent): string | undefined {
  const name = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1];
  // An iPad says that it is a Mac, but no Mac has a touch screen.
  return name === 'macOS' && maxTouchPoints > 1 ? 'iPad' : name;
}

/** For example "Chrome on Linux". */
export function browserLabel(agent: Agent): string {
  const browser = BROWSERS.find(([pattern]) => pattern.test(agent.userAgent))?.[1] ?? 'Browser';
  const system = systemName(agent);
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** Its browsers support web push only for pages on the Home Screen. */
export const isAppleTouchDevice = (agent: Agent) => ['iPhone', 'iPad'].includes(systemName(agent) ?? '');
