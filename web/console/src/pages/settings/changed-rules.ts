import { isObject } from '../apps/tools/json';

/** Rules that one preview compares. */
const MAX_RULES = 20;

export interface NumberedRule {
  number: number;
  rule: unknown;
}

/** The rules of a policy that are not among those before, with their numbers. */
export function changedRules(before: readonly unknown[], policy: unknown): NumberedRule[] {
  if (!isObject(policy) || !Array.isArray(policy.rules)) return [];
  const known = new Set(before.map((rule) => JSON.stringify(rule)));
  const numbered = policy.rules.map((rule: unknown, place): NumberedRule => ({ number: place + 1, rule }));
  return numbered.filter(({ rule }) => !known.has(JSON.stringify(rule))).slice(0, MAX_RULES);
}
