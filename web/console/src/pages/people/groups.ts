/** Groups in one text field, separated by commas. */
export const parseGroups = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((group) => group.trim())
      .filter(Boolean),
  ),
];
export const formatGroups = (groups: readonly string[]): string => groups.join(', ');
