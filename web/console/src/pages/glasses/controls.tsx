/** Buttons, head movement and battery. */
import { useState } from 'react';
import type { Capabilities } from '../../api/console';
import { Button } from '../../ui/button';
import { Check } from '../../ui/form';
import { Card } from '../../ui/page';
import { look, logEvent, send } from './link';
import { battery, gesturesOf } from './wire';

export function Controls({ model, on }: { model: Capabilities; on: boolean }) {
  const gestures = gesturesOf(model);
  function act(name: string, ...messages: readonly object[]) {
    if (send(...messages)) logEvent('you', name);
  }
  return (
    <Card title="Controls">
      <div className="stack">
        <div role="group" aria-label="Button" className="row">
          {gestures.length === 0 && <p className="muted flat">These glasses have no button.</p>}
          {gestures.map((gesture) => (
            <Button
              key={gesture.name}
              disabled={!on}
              onClick={() => act(`${gesture.name.toLowerCase()} on the glasses`, ...gesture.messages)}
            >
              {gesture.name}
            </Button>
          ))}
        </div>
        {model.hasIMU && (
          <div role="group" aria-label="Head" className="row">
            <Button disabled={!on} onClick={() => look('up')}>
              Look up
            </Button>
            <Button disabled={!on} onClick={() => look('down')}>
              Look down
            </Button>
          </div>
        )}
        <Battery on={on} onTell={act} />
      </div>
    </Card>
  );
}

/** The keys that move a slider. */
const MOVES = /^(Arrow|Home$|End$|Page)/;

function Battery({ on, onTell }: { on: boolean; onTell: (name: string, message: object) => void }) {
  const [level, setLevel] = useState(80);
  const [charging, setCharging] = useState(false);
  const tell = (percent: number, charges: boolean) =>
    onTell(`battery at ${percent} %${charges ? ', charging' : ''}`, battery(percent, charges));
  return (
    <div className="battery">
      <label>
        <span>Battery {level} %</span>
        <input
          type="range"
          min={0}
          max={100}
          value={level}
          disabled={!on}
          onChange={(event) => setLevel(Number(event.target.value))}
          onPointerUp={() => tell(level, charging)}
          onKeyUp={(event) => MOVES.test(event.key) && tell(level, charging)}
        />
      </label>
      <Check
        label="Charging"
        checked={charging}
        disabled={!on}
        onChange={(next) => {
          setCharging(next);
          tell(level, next);
        }}
      />
    </div>
  );
}
