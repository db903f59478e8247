/** What a model gets of the tool, and under which name. */
import type { CheckedTools } from '../../../api/console';
import { Code } from '../../../ui/code';
import { Card } from '../../../ui/page';

interface Props {
  seen: CheckedTools['tools'][number] | undefined;
  state: 'unsent' | 'waiting' | 'checked' | 'failed';
}

const WORDS = {
  unsent: 'It is shown as soon as what is wrong above is mended.',
  waiting: 'Checking …',
  checked: 'The server cannot read this tool yet.',
  failed: 'The server could not be asked.',
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
            <dt>Name for programs</dt>
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
