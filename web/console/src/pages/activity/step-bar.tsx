/** The steps of a call as one bar and as a table. */
import { duration } from '../../ui/time';
import { STEPS, STEP_LABELS, type Step } from './labels';

export function StepBar({ steps, total }: { steps: Record<Step, number>; total: number }) {
  const known = STEPS.reduce((sum, step) => sum + steps[step], 0);
  const whole = Math.max(total, known, 1);
  const rest = Math.max(0, whole - known);
  const share = (us: number) => `${(100 * us) / whole}%`;
  return (
    <>
      <div className="step-bar" aria-hidden>
        {STEPS.map(
          (step, place) =>
            steps[step] > 0 && (
              <span
                key={step}
                className={`hue-${place}`}
                style={{ width: share(steps[step]) }}
                title={`${step}: ${duration(steps[step])}`}
              />
            ),
        )}
        {rest > 0 && <span className="rest" style={{ width: share(rest) }} />}
      </div>
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Steps">
        <table className="steps">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col" className="number">
                Time
              </th>
              <th scope="col" className="number">
                Share
              </th>
            </tr>
          </thead>
          <tbody>
            {STEPS.map((step, place) => (
              <tr key={step}>
                <th scope="row">
                  <span className={`swatch hue-${place}`} aria-hidden />
                  {step}
                  <span className="step-words">{STEP_LABELS[step]}</span>
                </th>
                <td className="number">{steps[step] === 0 ? 'not reached, or under 1 µs' : duration(steps[step])}</td>
                <td className="number">{Math.round((100 * steps[step]) / whole)} %</td>
              </tr>
            ))}
            <tr>
              <th scope="row">
                <span className="swatch rest" aria-hidden />
                other
                <span className="step-words">Waiting for a free slot, idempotency keys, and recording</span>
              </th>
              <td className="number">{duration(rest)}</td>
              <td className="number">{Math.round((100 * rest) / whole)} %</td>
            </tr>
          </tbody>
        </table>
      </div>
    </>
  );
}
