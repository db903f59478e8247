/** The available models, and those that were not found. */
import { useQuery } from '@tanstack/react-query';
import { api, responseData } from '../../api/client';
import type { components } from '../../api/schema';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Card } from '../../ui/page';
import { bytes } from '../../ui/time';

type Model = components['schemas']['OverviewModel'];

const CALLING: Record<Model['calling'], string> = {
  native: 'native tool calling',
  prompted: 'tool calling by prompt',
  small: 'small: at most one tool is chosen for it',
};

const MOST = 300;

function origin(model: Model): string {
  const from = model.origin;
  if (from == null) return '';
  switch (from.kind) {
    case 'configured':
      return 'set in chat.model';
    case 'endpoint':
      return `from endpoint ${from.name}`;
    case 'file':
      return `from a file of ${from.name}`;
    case 'key':
      return `${from.name} is set`;
    case 'server':
      return `from server ${from.name}`;
  }
}

export function Models() {
  const models = useQuery({ queryKey: ['models'], queryFn: () => responseData(api.GET('/api/models')) });
  if (models.isPending) return <Loading what="the models" />;
  if (models.data === undefined) return <ErrorBox error={models.error} onRetry={() => void models.refetch()} />;
  const { models: list, missing, files } = models.data;
  const usual = models.data.default;
  return (
    <>
      <Card title="Models">
        {list.length === 0 ? (
          <Empty title="No model">
            <p>Chat and the assistant need a model. The list below shows where the server looked, and how to add one.</p>
          </Empty>
        ) : (
          <ul className="plain-list listing" aria-label="Models">
            {list.slice(0, MOST).map((model) => (
              <li key={model.name}>
                <span className="row">
                  <code>{model.name}</code>
                  {model.name === usual && <Badge kind="accent">default</Badge>}
                </span>
                <span className="muted">{[CALLING[model.calling], origin(model)].filter(Boolean).join('; ')}</span>
              </li>
            ))}
          </ul>
        )}
        {usual != null && !list.some((model) => model.name === usual) && (
          <p className="below flat">
            The default is <code>{usual}</code>.
          </p>
        )}
      </Card>
      {missing != null && missing.length > 0 && (
        <Card title="Not found">
          <ul className="plain-list listing" aria-label="Missing">
            {missing.slice(0, MOST).map((one) => (
              <li key={one.what}>
                <strong>{one.what}</strong>
                <span className="muted">{one.how}</span>
              </li>
            ))}
          </ul>
        </Card>
      )}
      {files != null && files.length > 0 && (
        <Card title="Files in the models folder">
          <ul className="plain-list listing" aria-label="Files">
            {files.slice(0, MOST).map((file) => (
              <li key={file.name}>
                <code>{file.name}</code>
                <span className="muted">{bytes(file.bytes)}</span>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}
