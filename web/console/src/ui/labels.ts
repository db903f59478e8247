/** Labels of permissions and hardware, lists and counts, and names from outside. */
export const PERMISSIONS: Readonly<Record<string, { name: string; means: string }>> = {
  MICROPHONE: { name: 'Microphone', means: 'hears what you say while you have it open' },
  LOCATION: { name: 'Location', means: 'knows where you are while you have it open' },
  BACKGROUND_LOCATION: { name: 'Location, always', means: 'knows where you are, also when it is not open' },
  CALENDAR: { name: 'Calendar', means: 'reads your calendar' },
  CAMERA: { name: 'Camera', means: 'takes pictures and video while you have it open' },
  READ_NOTIFICATIONS: { name: 'Notifications, reading', means: 'reads notifications of other apps' },
  POST_NOTIFICATIONS: { name: 'Notifications, sending', means: 'sends you notifications' },
  ALL: { name: 'Everything', means: 'may use all of these: microphone, camera, location, calendar and notifications' },
};

export const HARDWARE: Readonly<Record<string, { name: string; one: string }>> = {
  CAMERA: { name: 'Camera', one: 'a camera' },
  DISPLAY: { name: 'Display', one: 'a display' },
  MICROPHONE: { name: 'Microphone', one: 'a microphone' },
  SPEAKER: { name: 'Speaker', one: 'a speaker' },
  IMU: { name: 'Motion sensor', one: 'a motion sensor' },
  BUTTON: { name: 'Button', one: 'a button' },
  LIGHT: { name: 'Light', one: 'a light' },
  WIFI: { name: 'Wi-Fi', one: 'built-in Wi-Fi' },
  EXIST: { name: 'Glasses', one: 'glasses' },
};

/** "a", "a and b", "a, b and c". */
export function joinList(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? '';
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}

export const hardwareList = (types: readonly string[]) => joinList(types.map((type) => HARDWARE[type]?.one ?? type.toLowerCase()));

export const countLabel = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

const LONGEST_NAME = 60;

/** A name from outside: one line, not too long, without invisible characters that could change how the rest is read. */
export function foreignName(name: string, fallback: string): string {
  const clean = name
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .trim();
  const signs = [...clean];
  if (signs.length === 0) return fallback;
  return signs.length > LONGEST_NAME ? `${signs.slice(0, LONGEST_NAME).join('')}…` : clean;
}
