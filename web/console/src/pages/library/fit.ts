/** Whether an app works on the user's glasses, as text. */
import type { Fit } from '../../api/console';
import { hardwareList } from '../../ui/labels';

export interface FitLabel {
  kind: 'good' | 'warn' | 'bad' | 'plain';
  words: string;
}

/** `model` is the user's device, if known. */
export function fitLabel(fit: Fit, model: string | undefined): FitLabel {
  if (!fit.deviceKnown) return { kind: 'plain', words: 'No glasses connected' };
  const yours = model === undefined ? 'your glasses' : `your ${model}`;
  if (!fit.fits) {
    const glasses = fit.missingRequired.filter((type) => type !== 'EXIST');
    if (glasses.length === 0) return { kind: 'bad', words: 'Needs glasses; none are connected' };
    const have =
      glasses.length === 1
        ? glasses[0] === 'WIFI'
          ? 'do not have it'
          : 'have none'
        : glasses.length === 2
          ? 'have neither'
          : 'have none of them';
    return { kind: 'bad', words: `Needs ${hardwareList(glasses)}; your glasses ${have}` };
  }
  if (fit.missingOptional.length > 0)
    return { kind: 'warn', words: `Works on ${yours}; does more with ${hardwareList(fit.missingOptional)}` };
  return { kind: 'good', words: `Fits ${yours}` };
}
