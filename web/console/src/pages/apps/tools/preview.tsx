/** The tool as a model sees it, and its alias. */
import type { CheckedTools } from '../../../api/console';
import { Code } from '../../../ui/code';
import { Card } from '../../../ui/page';

interface Props {
  seen: CheckedTools['tools'][number] | undefined;
  state: 'unsent' | 'waiting' | 'checked' | 'failed';
}

const WORDS = {
  unsent: 'Fix the errors above to see the preview.',
  waiting: 'Checking …',
  checked: 'The server does not accept this tool yet.',
  failed: 'The server could not be reached.',
};

export function Preview({ seen, state }: Props) {
  return (
    <Card title="What a model sees">
      {seen === undefined ? (
        <p className="muted">{WORDS[state]}</p>
      ) : (
        <>
          <dl className="facts">
            <dt>Name for models (alias)</dt>
            <dd>
              <code>{seen.alias}</code>
            </dd>
            <dt>Canonical name</dt>
            <dd>
              <code>{seen.canonicalName}</code>
            </dd>
          </dl>
          <Code label="what a model sees" value={seen.model} />
        </>
      )}
    </Card>
  );
}
