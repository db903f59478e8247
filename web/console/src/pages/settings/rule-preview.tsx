/** What new and changed rules would have done to the last calls. */
import { useMutation } from '@tanstack/react-query';
import { previewRule, type CallDecision, type PreviewReport } from '../../api/approvals';
import { errorText } from '../../api/error';
import { previewText } from '../../approvals/labels';
import { Button } from '../../ui/button';
import { changedRules, type NumberedRule } from './changed-rules';

export function RulePreview({ before, policy }: { before: readonly unknown[]; policy: unknown }) {
  const rules = changedRules(before, policy);
  const preview = useMutation({ mutationFn: compare });
  if (rules.length === 0) return null;
  return (
    <div className="below">
      <Button disabled={preview.isPending} onClick={() => preview.mutate(rules)}>
        Preview changed rules
      </Button>
      <p className="hint">Compares each rule by itself with the last 1,000 calls.</p>
      <div role="status" className="below">
        {preview.data?.map(({ number, text }) => (
          <p key={number} className="flat">
            <strong>Rule {number}:</strong> {text}
          </p>
        ))}
      </div>
    </div>
  );
}

/** One after the other: each comparison reads many calls. */
async function compare(rules: readonly NumberedRule[]): Promise<{ number: number; text: string }[]> {
  const results: { number: number; text: string }[] = [];
  for (const { number, rule } of rules) {
    const report: PreviewReport | Error = await previewRule(rule).catch((error: unknown) => new Error(errorText(error)));
    const text = report instanceof Error ? report.message : previewText(report, decisionOf(rule), true);
    results.push({ number, text });
  }
  return results;
}

/** The server has accepted the rule, so it has a decision. */
const decisionOf = (rule: unknown) => (rule as { decision: CallDecision }).decision;
