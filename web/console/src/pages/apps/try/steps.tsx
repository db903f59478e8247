/** The steps of one call as a bar, with their times. */
import { duration } from '../../../ui/time';

const STEPS = [
  { id: 'find', name: 'Find the tool' },
  { id: 'validate', name: 'Check the arguments' },
  { id: 'authorize', name: 'Check permissions' },
  { id: 'ready', name: 'Wake the app' },
  { id: 'invoke', name: 'Run the tool' },
  { id: 'check', name: 'Check the result' },
] as const;

export type StepTimes = Record<(typeof STEPS)[number]['id'], number>;

/** A step without time was either too short to be measured, or not reached. */
function timeOf(steps: StepTimes, place: number): string {
  const id = STEPS[place]?.id ?? 'check';
  if (steps[id] > 0) return duration(steps[id]);
  return STEPS.slice(place + 1).some((later) => steps[later.id] > 0) ? 'under 1 µs' : 'not reached';
}

export function Steps({ steps, totalUs }: { steps: StepTimes; totalUs: number }) {
  return (
    <div className="try-steps">
      <div className="try-steps-bar" aria-hidden>
        {STEPS.map(({ id }, place) =>
          steps[id] > 0 ? <span key={id} className={`hue-${place}`} style={{ flexGrow: Math.max(steps[id], totalUs / 400) }} /> : null,
        )}
      </div>
      <table className="try-steps-table">
        <caption className="hidden">Time of each step</caption>
        <tbody>
          {STEPS.map(({ id, name }, place) => (
            <tr key={id}>
              <th scope="row">
                <span className={`swatch hue-${place}`} aria-hidden />
                {name}
              </th>
              <td className="number">{timeOf(steps, place)}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">Total</th>
            <td className="number">{duration(totalUs)}</td>
          </tr>
        </tbody>
      </table>
    </div>
  );
}
