// A browser as a program, for clients that open one: `bin/open` starts it with the link. The plan is in the environment. Each link is
// noted in the user's home, so that a test can count them.
import { appendFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { agreeAndReturn } from './consent.mjs';

const link = process.argv[2];
await appendFile(join(homedir(), 'links'), `${link}\n`);
await agreeAndReturn(link, JSON.parse(process.env.BROWSER_PLAN));
