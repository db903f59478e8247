import { createServer } from 'node:net';

/** A loopback port that is free now, for programs that cannot be told to take any. */
export function freePort() {
  return new Promise((done, failed) => {
    const server = createServer().on('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}
