import { useQuery } from '@tanstack/react-query';
import { useMe } from '../../api/queries';
import { modelsQuery } from './composer';

/** What to do if no model is available. */
export function NoModel() {
  const me = useMe();
  const { data: found } = useQuery(modelsQuery);
  if (found === undefined || found.models.length > 0 || found.default != null) return null;
  return (
    <div className="notice warn" role="status">
      <p>
        <strong>No model is available.</strong>{' '}
        {me.operates
          ? 'Set an API key such as OPENAI_API_KEY and restart the server, start Ollama or llama-server on this machine, or add an endpoint under [models.NAME] to the configuration.'
          : 'Ask the operator of this server to add one.'}
      </p>
    </div>
  );
}
