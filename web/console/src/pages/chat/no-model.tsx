import { useQuery } from '@tanstack/react-query';
import { useMe } from '../../api/queries';
import { modelsQuery } from './composer';

/** What to do where no model can answer. */
export function NoModel() {
  const me = useMe();
  const { data: found } = useQuery(modelsQuery);
  if (found === undefined || found.models.length > 0 || found.default != null) return null;
  return (
    <div className="notice warn" role="status">
      <p>
        <strong>No model can answer yet.</strong>{' '}
        {me.operates
          ? 'Set a key such as OPENAI_API_KEY and start the server again, start Ollama or llama-server on this machine, or add an endpoint under [models.NAME] to the configuration.'
          : 'Ask whoever runs this server to add one.'}
      </p>
    </div>
  );
}
