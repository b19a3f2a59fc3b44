// Writes a sentence encoder for tests: a BERT of two layers and 64 dimensions with random weights, as ONNX, with the
// tokenizer and the configuration that @huggingface/transformers reads. Its vectors are meaningless; it loads like MiniLM.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const HIDDEN = 64;
const INNER = 128;
const POSITIONS = 128;
const LAYERS = 2;
const WORDS = [
  '[PAD]',
  '[UNK]',
  '[CLS]',
  '[SEP]',
  '[MASK]',
  'deploy',
  'release',
  '##s',
  'main',
  'the',
  'tag',
  'banana',
];

/** Writes the model into an existing directory. */
export async function writeTinyBert(directory: string): Promise<void> {
  await mkdir(join(directory, 'onnx'), { recursive: true });
  await writeFile(join(directory, 'onnx/model.onnx'), bertModel());
  await writeFile(join(directory, 'config.json'), JSON.stringify(CONFIG));
  await writeFile(join(directory, 'tokenizer.json'), JSON.stringify(TOKENIZER));
  await writeFile(join(directory, 'tokenizer_config.json'), JSON.stringify(TOKENIZER_CONFIG));
}

const CONFIG = {
  architectures: ['BertModel'],
  model_type: 'bert',
  hidden_size: HIDDEN,
  intermediate_size: INNER,
  num_hidden_layers: LAYERS,
  num_attention_heads: 1,
  max_position_embeddings: POSITIONS,
  vocab_size: WORDS.length,
};
const TOKENIZER_CONFIG = {
  tokenizer_class: 'BertTokenizer',
  model_max_length: POSITIONS,
  pad_token: '[PAD]',
  unk_token: '[UNK]',
};
const special = (content: string, id: number) => ({ id, content, special: true });
const TOKENIZER = {
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: WORDS.slice(0, 5).map(special),
  normalizer: {
    type: 'BertNormalizer',
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true,
  },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '[SEP]', type_id: 0 } },
    ],
    pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
    special_tokens: {
      '[CLS]': { id: '[CLS]', ids: [2], tokens: ['[CLS]'] },
      '[SEP]': { id: '[SEP]', ids: [3], tokens: ['[SEP]'] },
    },
  },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
  },
};

// Protocol buffers as onnx.proto numbers their fields: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
}
const number = (field: number, value: number): Buffer => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field: number, value: Uint8Array | string): Buffer => {
  const content = Buffer.from(value as Uint8Array);
  return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]);
};
const message = (field: number, ...parts: Buffer[]): Buffer => bytes(field, Buffer.concat(parts));

const FLOAT = 1;
const INT64 = 7;

function tensor(name: string, dims: number[], values: Float32Array | BigInt64Array): Buffer {
  const type = values instanceof Float32Array ? FLOAT : INT64;
  const raw = new Uint8Array(values.buffer);
  return message(5, ...dims.map((dim) => number(1, dim)), number(2, type), bytes(8, name), bytes(9, raw));
}

const input = (field: number, name: string, type: number, dims: (string | number)[]): Buffer => {
  const shape = dims.map((dim) => message(1, typeof dim === 'string' ? bytes(2, dim) : number(1, dim)));
  return message(field, bytes(1, name), message(2, message(1, number(1, type), message(2, ...shape))));
};

function bertModel(): Buffer {
  const nodes: Buffer[] = [];
  const tensors: Buffer[] = [];
  let made = 0;
  let seed = 42;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;

  /** Adds an operation, and returns the name of its output. */
  const node = (operation: string, inputs: string[], ...attributes: Buffer[]): string => {
    const output = `t${++made}`;
    nodes.push(
      message(1, ...inputs.map((name) => bytes(1, name)), bytes(2, output), bytes(4, operation), ...attributes),
    );
    return output;
  };
  const integer = (name: string, value: number) => message(5, bytes(1, name), number(3, value), number(20, 2));
  const integers = (name: string, values: number[]) =>
    message(5, bytes(1, name), ...values.map((value) => number(8, value)), number(20, 7));
  const weights = (...dims: number[]): string => {
    const name = `w${++made}`;
    const size = dims.reduce((product, dim) => product * dim, 1);
    tensors.push(
      tensor(
        name,
        dims,
        Float32Array.from({ length: size }, () => random() / 4),
      ),
    );
    return name;
  };
  const constant = (values: number[], dims: number[] = [values.length]): string => {
    const name = `c${++made}`;
    tensors.push(tensor(name, dims, Float32Array.from(values)));
    return name;
  };
  const whole = (...values: number[]): string => {
    const name = `i${++made}`;
    tensors.push(tensor(name, [values.length], BigInt64Array.from(values.map(BigInt))));
    return name;
  };
  const linear = (x: string, from: number, to: number) =>
    node('Add', [node('MatMul', [x, weights(from, to)]), weights(to)]);
  const normalized = (x: string) =>
    node('LayerNormalization', [x, constant(Array(HIDDEN).fill(1)), constant(Array(HIDDEN).fill(0))]);

  const length = node('Gather', [node('Shape', ['input_ids']), whole(1)], integer('axis', 0));
  const positions = node('Slice', [weights(POSITIONS, HIDDEN), whole(0), length, whole(0)]);
  const embedded = node('Add', [
    node('Gather', [weights(WORDS.length, HIDDEN), 'input_ids']),
    node('Gather', [weights(2, HIDDEN), 'token_type_ids']),
  ]);
  const hidden = node('Unsqueeze', [
    node('Sub', [node('Cast', ['attention_mask'], integer('to', FLOAT)), constant([1])]),
    whole(1),
  ]);
  const mask = node('Mul', [hidden, constant([10_000])]);
  let x = normalized(node('Add', [embedded, positions]));
  for (let layer = 0; layer < LAYERS; layer++) {
    const keys = node('Transpose', [linear(x, HIDDEN, HIDDEN)], integers('perm', [0, 2, 1]));
    const scores = node('Div', [node('MatMul', [linear(x, HIDDEN, HIDDEN), keys]), constant([Math.sqrt(HIDDEN)])]);
    const attention = node('Softmax', [node('Add', [scores, mask])], integer('axis', 2));
    const attended = linear(node('MatMul', [attention, linear(x, HIDDEN, HIDDEN)]), HIDDEN, HIDDEN);
    x = normalized(node('Add', [x, attended]));
    x = normalized(node('Add', [x, linear(node('Relu', [linear(x, HIDDEN, INNER)]), INNER, HIDDEN)]));
  }
  nodes.push(message(1, bytes(1, x), bytes(2, 'last_hidden_state'), bytes(4, 'Identity')));

  const inputs = ['input_ids', 'attention_mask', 'token_type_ids'];
  const graph = message(
    7,
    ...nodes,
    bytes(2, 'tiny-bert'),
    ...tensors,
    ...inputs.map((name) => input(11, name, INT64, ['batch', 'length'])),
    input(12, 'last_hidden_state', FLOAT, ['batch', 'length', HIDDEN]),
  );
  return Buffer.concat([number(1, 8), graph, message(8, number(2, 17))]); // IR version 8, operators of version 17
}
