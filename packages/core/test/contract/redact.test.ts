// Secrets are redacted by the names of their keys and by their shapes.

import { describe, expect, it } from 'vitest';
import { redacted } from '../../src/contract/redact.js';
import { redactedText } from '../../src/contract/redacted-text.js';
import { isSecretName } from '../../src/contract/secret-names.js';

// Put together here, so that no scanner takes this file for a leak.
const letters = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5';
const SECRETS: Readonly<Record<string, [text: string, secret: string]>> = {
  'a bearer token': [`authorization: Bearer ${letters}`, letters],
  'basic credentials': ['Basic dXNlcjpodW50ZXIyIQ==', 'dXNlcjpodW50ZXIyIQ'],
  'a JWT': [`got eyJhbGciOiJI.${letters}.${letters}`, letters],
  'a GitHub token': [`ghp_${letters}`, letters],
  'a fine-grained GitHub token': [`github_pat_${letters}`, letters],
  'a GitLab token': [`glpat-${letters}`, letters],
  'an OpenAI key': [`key sk-proj-${letters}.`, letters],
  'a Stripe key': [`sk_live_${letters}`, letters],
  'an AWS key': ['AKIA' + 'IOSFODNN7EXAMPLE', 'IOSFODNN7EXAMPLE'],
  'a Google key': [`AIza${letters.slice(0, 35)}`, letters.slice(0, 35)],
  'a Slack token': [`xoxb-${letters}`, letters],
  'an npm token': [`npm_${letters}`, letters],
  'a private key': [`-----BEGIN RSA PRIVATE KEY-----\n${letters}\n-----END RSA PRIVATE KEY-----`, letters],
  'a cut private key': [`-----BEGIN PRIVATE KEY-----\n${letters}`, letters],
  'a password in a URL': ['postgres://me:hunter2!x@db.test/x', 'hunter2!x'],
  'an assignment': ['DB_PASSWORD=hunter2!x rest', 'hunter2!x'],
  'a quoted assignment': ['{"access_token": "hunter2 x"}', 'hunter2 x'],
  'a quoted value with an escaped quote': [String.raw`{"password": "hun\"ter2x", "a": "b"}`, 'ter2x'],
  'JSON within JSON': [JSON.stringify({ body: JSON.stringify({ password: 'hun"ter2x' }) }), 'ter2x'],
  'JSON within JSON within JSON': [
    JSON.stringify(JSON.stringify(JSON.stringify({ password: 'hunter2x' }))),
    'hunter2x',
  ],
  'a header without a scheme': [`Authorization: ${letters}`, letters],
  'a cookie': [`{"set-cookie":"sid=${letters}; HttpOnly"}`, letters],
  'a PGP key': [`-----BEGIN PGP PRIVATE KEY BLOCK-----\n${letters}\n-----END PGP PRIVATE KEY BLOCK-----`, letters],
  'a token as the user of a URL': [`https://${letters}@a.test/x`, letters],
  'a password with @ in a URL': ['postgres://me:hunter@2x!@db.test/x', '2x!'],
  'a password with / in a URL': ['postgres://me:hunter/2x!@db.test/x', '2x!'],
  'a digest': [`Authorization: Digest username="me", response="${letters}"`, letters],
  'an entry of netrc': ['machine a.test login me password hunter2x', 'hunter2x'],
  'a Slack webhook': [`https://hooks.slack.com/services/T0/B0/${letters}`, letters],
  'a signed URL': ['https://a.test/x?sv=1&sig=hunter2xyz%3D&b=c', 'hunter2xyz'],
  'a Groq key': [`gsk_${letters}`, letters],
  'a token after an underscore': [`key_ghp_${letters}`, letters],
  'a key of a storage account': [`AccountName=a;AccountKey=${letters}==`, letters],
  'a password of a connection string': ['Server=a;Pwd=hunter2x;', 'hunter2x'],
  'an element': ['<db:password>hunter2x</db:password>', 'hunter2x'],
  'an entry of a hash': ["'password' => 'hunter2x'", 'hunter2x'],
  'a value with a space after a scheme': ['password="Bearer abcdefgh hunter2x"', 'hunter2x'],
  'a value with a comma': ['password=a,hunter2x', 'hunter2x'],
  'a long value': [`password="${'x'.repeat(5_000)}hunter2x"`, 'hunter2x'],
  'a long name': [`${'A_'.repeat(50)}PASSWORD=hunter2x`, 'hunter2x'],
  'the password of an option for a user': ['curl -u me:hunter2x https://a.test', 'hunter2x'],
  'an option': ['curl --api-key hunter2x https://a.test', 'hunter2x'],
};

describe('redactedText()', () => {
  it.each(Object.entries(SECRETS))('redacts %s', (_, [text, secret]) => {
    expect(redactedText(text)).toContain('[hidden]');
    expect(redactedText(text)).not.toContain(secret);
  });

  it.each([
    'git status --token',
    'the token of a parser',
    'max_tokens: 100',
    'risk-free',
    'https://a.test:8080/@me',
    'a: b',
    'Basic arithmetic',
    'PWD=/home/me',
    'https://a.test:8080/x?to=me@b.test',
    'docker run -u 1000:1000 x',
    '{"password": "", "a": 1}',
    'ssh://git@a.test/x',
  ])('keeps %j', (text) => expect(redactedText(text)).toBe(text));

  it('takes linear time', () => {
    const text = 'aB3-'.repeat(250_000) + 'password'.repeat(50_000) + '-----BEGIN PRIVATE KEY-----'.repeat(5_000);
    expect(redactedText(text)).toContain('[hidden]'); // a slower pattern would time out
    for (const part of ['eyJaaaaaaaa-', 'password="', 'a://', 'ab://a:', '--token', 'Cookie:', 'SG.aaaaaaaaaaaaaaaa'])
      redactedText(part.repeat(50_000));
  });
});

describe('redacted()', () => {
  it('hides the values of named entries and of pairs, and numbers that are passwords', () => {
    const headers = [
      ['Authorization', 'x'],
      ['Accept', 'y'],
    ];
    const value = { headers, list: [{ name: 'X-Api-Key', value: 'x' }], PGPASSWORD: 'x', password: 12345678, names: ['token', 'id'] }; // prettier-ignore
    expect(redacted(value)).toEqual({
      headers: [
        ['Authorization', '[hidden]'],
        ['Accept', 'y'],
      ],
      list: [{ name: 'X-Api-Key', value: '[hidden]' }],
      PGPASSWORD: '[hidden]',
      password: '[hidden]',
      names: ['token', 'id'],
    });
  });

  it('hides values by their names at any depth, and keeps the rest', () => {
    const value = {
      user: 'me',
      password: 'x',
      nested: [{ 'X-Api-Key': 'x', accessToken: { value: 'x' }, max_tokens: 5, tokenizer: 'bpe', token: 7 }],
    };
    expect(redacted(value)).toEqual({
      user: 'me',
      password: '[hidden]',
      nested: [{ 'X-Api-Key': '[hidden]', accessToken: '[hidden]', max_tokens: 5, tokenizer: 'bpe', token: 7 }],
    });
  });

  it('does not change its argument, and copies a key named __proto__', () => {
    const value = JSON.parse('{"__proto__": {"secret": "x"}, "a": 1}') as object;
    const copy = redacted(value);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"secret":"[hidden]"},"a":1}');
    expect(JSON.stringify(value)).toContain('"x"');
  });
});

describe('isSecretName()', () => {
  it.each([
    'password',
    'DB_PASSWORD',
    'accessToken',
    'x-api-key',
    'apiKey',
    'Set-Cookie',
    'client_secret',
    'privateKey',
    'PGPASSWORD',
    'clientsecret',
    'authtoken',
    'OPENAIAPIKEY',
    'password1',
    'AccountKey',
  ])('returns true for %s', (name) => expect(isSecretName(name)).toBe(true));
  it.each(['tokens', 'key', 'author', 'passage', 'keyboard', 'secretary'])('returns false for %s', (name) =>
    expect(isSecretName(name)).toBe(false),
  );
});
