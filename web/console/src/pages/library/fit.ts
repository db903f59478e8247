/** Whether an app works on the user's glasses, in words. */
import type { Fit } from '../../api/console';
import { hardwareListed } from '../../ui/words';

export interface FitWords {
  kind: 'good' | 'warn' | 'bad' | 'plain';
  words: string;
}

/** `model` is what the user wears, where that is known. */
export function fitWords(fit: Fit, model: string | undefined): FitWords {
  if (!fit.deviceKnown) return { kind: 'plain', words: 'No glasses connected' };
  const yours = model === undefined ? 'your glasses' : `your ${model}`;
  if (!fit.fits) {
    const glasses = fit.missingRequired.filter((type) => type !== 'EXIST');
    if (glasses.length === 0) return { kind: 'bad', words: 'Needs glasses; there are none' };
    const have =
      glasses.length === 1
        ? glasses[0] === 'WIFI'
          ? 'do not have it'
          : 'have none'
        : glasses.length === 2
          ? 'have neither'
          : 'have none of them';
    return { kind: 'bad', words: `Needs ${hardwareListed(glasses)}; your glasses ${have}` };
  }
  if (fit.missingOptional.length > 0)
    return { kind: 'warn', words: `Works on ${yours}; does more with ${hardwareListed(fit.missingOptional)}` };
  return { kind: 'good', words: `Fits ${yours}` };
}
