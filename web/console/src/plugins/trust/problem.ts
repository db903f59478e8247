/** One invalid location in a document. */
export interface Problem {
  path: string;
  message: string;
}

export const formatProblem = ({ path, message }: Problem) => (path === '' ? message : `${path}: ${message}`);

export class ManifestProblem extends Error implements Problem {
  override name = 'ManifestProblem';

  constructor(
    readonly path: string,
    override readonly message: string,
  ) {
    super(message);
  }
}
