// A small HTTP API with an OpenAPI document, for the examples. A real one is elsewhere; only its address is needed.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const pet = {
  type: 'object',
  properties: { id: { type: 'integer' }, name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
  required: ['id', 'name'],
};
const json = (schema: object): object => ({ 'application/json': { schema } });
const responses = { 200: { description: 'The pet.', content: json(pet) } };
const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } };
const document = {
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1.0.0' },
  servers: [{ url: '/v1' }],
  paths: {
    '/pets': {
      post: {
        operationId: 'add_pet',
        summary: 'Add a pet.',
        requestBody: { required: true, content: json({ ...pet, required: ['name'] }) },
        responses,
      },
    },
    '/pets/{id}': {
      parameters: [id],
      get: { operationId: 'get_pet', summary: 'Get a pet.', responses },
      delete: { operationId: 'delete_pet', summary: 'Delete a pet.', responses: { 204: { description: 'Deleted.' } } },
    },
  },
};

/** Starts the API. It wants the token, except for its document. */
export async function servePets(token?: string): Promise<{ address: string } & AsyncDisposable> {
  const pets = new Map<number, object>([[7, { id: 7, name: 'Rex' }]]);
  const server = createServer((request, response) => {
    const send = (status: number, value?: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(value && JSON.stringify(value));
    const { method, url = '', headers } = request;
    if (url === '/openapi.json') return send(200, document);
    if (token !== undefined && headers.authorization !== `Bearer ${token}`)
      return send(401, { message: 'Who are you?' });
    const number = Number(url.slice('/v1/pets/'.length));
    if (method === 'GET')
      return pets.has(number) ? send(200, pets.get(number)) : send(404, { message: 'No such pet.' });
    if (method === 'DELETE') return send(pets.delete(number) ? 204 : 404);
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const added = { ...(JSON.parse(body) as object), id: pets.size + 7 };
      pets.set(added.id, added);
      send(200, added);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
